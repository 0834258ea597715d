"""``zot mcp serve``: zot as an MCP server. It takes the flags of a run, and its own."""

from __future__ import annotations

from zot.cli import flags
from zot.cli.verb_table import verb_of
from zot.errors import UsageError

_OWN = "mcp serve"  # in place of an extension's name


class _Switch:
    """A switch of this command, for the parser of the flags of a run."""

    extension = _OWN

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self.value_name = value
        self.takes_value = bool(value)

    def read(self, text: str) -> object:
        return text


def own_switches(path: str = _OWN) -> dict[str, _Switch]:
    """The switches of a verb that also takes the flags of a run."""
    verb = verb_of(path)
    assert verb is not None
    return {name: _Switch(name, switch.value) for switch in verb.switches for name in switch.names}


def run(argv: list[str]) -> int:
    """Serve until the client has gone, or a signal; returns the exit status."""
    given = flags.parse(argv, own_switches())
    if given.mode or given.prompt:
        raise UsageError(f"unexpected {(given.prompt or given.mode).split()[0]!r}: clients send the prompts")
    if given.session or given.session_file or given.continue_ or given.resume:
        raise UsageError("a session cannot be chosen at the start: clients name one with each call")
    if given.output_schema:
        raise UsageError("--output-schema works with -p, --json and --stream")
    typed = given.extension_flags.get(_OWN, {})
    from zot.frontends.mcp_server.runner import run_server

    if not (http := str(typed.get("--http", "0"))):
        raise UsageError("--http needs a value: --http [HOST:]PORT")
    http = http if "--http" in typed else ""
    return run_server(given.config(extension_flags={}), http, token="--token" in typed)
