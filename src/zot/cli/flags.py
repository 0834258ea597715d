"""The table of flags, for the parser, ``--help`` and the reference page.

A value flag takes the next argument whatever it is, and the last occurrence wins (docs/decisions/001-flag-parser.md).
It imports no mode, provider or msgspec, so ``--version`` and ``--help`` start fast.
"""

from __future__ import annotations

import sys

from zot.errors import UsageError

# importing `typing` and `collections` would be a third of the time of `zot --help`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from zot.agent.config import RunConfig

    class ExtensionFlagReader(Protocol):
        """A flag of an extension; ``value_name`` is shown if its value is missing."""

        extension: str
        name: str
        takes_value: bool
        value_name: str

        def read(self, text: str) -> object: ...


REASONING_ALIASES = {"minimal": "minimum", "maximum": "max"}
TOOL_NAMES = ("read", "write", "edit", "bash", "skill", "glob", "grep")
JAIL_LEVELS = ("full", "reduced")
APPROVALS = ("outside",)
PRICE_UNKNOWN = ("refuse", "allow")
REASONING = ("off", "minimum", "low", "medium", "high", "xhigh", "max")
PERMISSION_MODES = ("plan", "ask", "accept-edits", "everything")
NO_SCHEMA = "--output-schema works with -p, --json and --stream"
ASK_EACH = "ask each"  # `--no-yolo` without a user to ask: reading requires approval also


class Flags:
    """Parsed flags, read-only; attributes are the ``dest`` names, with their defaults."""

    mode: str = ""  # "print", "json", "stream", "rpc"; empty means interactive, or print with piped stdin
    help: bool = False
    help_all: bool = False
    version: bool = False
    list_models: bool = False
    continue_: bool = False
    resume: bool = False
    session: str = ""
    session_file: str = ""
    no_session: bool = False
    provider: str = ""
    model: str = ""
    fallback_model: str = ""
    retries: int | None = None
    api_key: str = ""
    api_key_fd: int = -1
    base_url: str = ""
    system_prompt: str | None = None
    append_system_prompt: tuple[str, ...] = ()
    reasoning: str = ""
    temperature: float | None = None
    output_schema: str = ""
    insecure: bool = False
    stats: str = ""
    no_context_files: bool = False
    cwd: str = ""
    no_tools: bool = False
    tools: tuple[str, ...] | None = None
    max_steps: int = 0
    ext: tuple[str, ...] = ()
    no_ext: bool = False
    mcp_config: tuple[str, ...] = ()
    no_mcp: bool = False
    trust_project: bool = False
    ext_trace: str = ""
    record: str = ""
    no_skills: bool = False
    permission_mode: str = ""
    permission_limit: str = ""
    jail: str = ""  # "on", "net"
    no_jail: bool = False
    jail_read: tuple[str, ...] = ()
    jail_write: tuple[str, ...] = ()
    jail_level: str = ""
    approve: str = ""  # "outside"
    all_workers: bool = False
    script: str = ""
    max_cost: float = 0.0
    price_unknown: str = ""  # "allow"
    theme: str = ""
    words: tuple[str, ...] = ()
    extension_flags: dict[str, dict[str, Any]] = {}  # noqa: RUF012  by extension; replaced, never changed

    def __init__(self, typed: dict[str, Any]) -> None:
        self.__dict__.update(typed)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"flags are read-only after parsing: cannot set {name}")

    @property
    def prompt(self) -> str:
        return " ".join(self.words)

    def config(self, **otherwise: Any) -> RunConfig:
        """The run configuration of these flags; ``otherwise`` overrides fields for the mode."""
        from zot.agent.config import RunConfig  # `--version` and `--help` do not need it

        fields: dict[str, Any] = {
            "provider": self.provider,
            "model": self.model,
            "api_key": _key_from(self.api_key_fd) if self.api_key_fd >= 0 else self.api_key,
            "base_url": self.base_url,
            "insecure": self.insecure,
            "script": self.script,
            "reasoning": self.reasoning,
            "temperature": self.temperature,
            "output_schema": self.output_schema,
            "fallback_model": self.fallback_model,
            "retries": self.retries,
            "max_steps": self.max_steps,
            "max_cost": self.max_cost,
            "price_unknown": self.price_unknown,
            "cwd": self.cwd,
            "system_prompt": self.system_prompt,
            "append_system_prompt": self.append_system_prompt,
            "context_files": not self.no_context_files,
            "skills": not self.no_skills,
            "tools": () if self.no_tools else self.tools,
            "permission_mode": "ask" if self.permission_mode == ASK_EACH else self.permission_mode,
            "permission_limit": self.permission_limit,
            "ask_each": self.permission_mode == ASK_EACH,
            "jail": self.jail,
            "no_jail": self.no_jail,
            "jail_read": self.jail_read,
            "jail_write": self.jail_write,
            "jail_level": self.jail_level,
            "approve": self.approve,
            "all_workers": self.all_workers,
            "ext": self.ext,
            "extension_flags": self.extension_flags,
            "installed_extensions": not self.no_ext,
            "mcp_config": self.mcp_config,
            "mcp": not self.no_mcp,
            "trust_project": self.trust_project,
            "ext_trace": self.ext_trace,
            "record": self.record,
            "argv": tuple(sys.argv[1:]) if self.record else (),
            "keep_session": not self.no_session,
            "session": self.session,
            "session_file": self.session_file,
            "continue_session": self.continue_,
        }
        return RunConfig(**(fields | otherwise))


def _key_from(fd: int) -> str:
    """Read the key from a pipe, which no other process can read."""
    import os  # rarely used

    pieces: list[bytes] = []
    try:
        while piece := os.read(fd, 65536):
            pieces.append(piece)
        os.close(fd)
    except OSError as error:
        raise UsageError(f"--api-key-fd {fd}: cannot read: {error.strerror}") from error
    return b"".join(pieces).decode("utf-8", "replace").strip()


class Flag:
    """One row. ``read`` converts the value; None means the flag takes no value."""

    def __init__(
        self,
        names: tuple[str, ...],
        dest: str,
        section: str,
        help: str,
        value: str = "",
        read: Callable[[str, str], Any] | None = None,
        store: Any = True,
        repeat: bool = False,
        inline: str = "",
        kind: str | tuple[str, ...] = "text",
    ) -> None:
        self.names = names
        self.dest = dest
        self.section = section
        self.help = help
        self.value = value
        self.read = read
        self.store = store
        self.repeat = repeat
        self.inline = inline  # the one optional value, only as --flag=value
        self.kind = kind  # candidates for the value: a kind of `verb_table`, or choices

    @property
    def label(self) -> str:
        return ", ".join(self.names) + (f" {self.value}" if self.value else f"[={self.inline}]" * bool(self.inline))


def _text(_: str, value: str) -> str:
    return value


def _reasoning(flag: str, value: str) -> str:
    level = REASONING_ALIASES.get(value.lower(), value.lower())
    if level and level not in REASONING:
        raise UsageError(f'{flag} "{value}": expected one of {", ".join(REASONING)}')
    return level


def _mode(flag: str, value: str) -> str:
    mode = {"yolo": "everything", "bypass": "everything"}.get(value.lower(), value.lower())
    if mode not in PERMISSION_MODES:
        raise UsageError(f'{flag} "{value}": expected one of {", ".join(PERMISSION_MODES)}')
    return mode


def _level(flag: str, value: str) -> str:
    if value not in JAIL_LEVELS:
        raise UsageError(f'{flag} "{value}": expected {" or ".join(JAIL_LEVELS)}')
    return value


def _approve(flag: str, value: str) -> str:
    if value not in APPROVALS:
        raise UsageError(f'{flag} "{value}": expected {" or ".join(APPROVALS)}')
    return value


def _price_unknown(flag: str, value: str) -> str:
    if value not in PRICE_UNKNOWN:
        raise UsageError(f'{flag} "{value}": expected {" or ".join(PRICE_UNKNOWN)}')
    return "" if value == "refuse" else value


def _positive(flag: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > 9 or int(value) == 0:
        raise UsageError(f'{flag} "{value}": expected a whole number above 0')
    return int(value)


def _count(flag: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > 4:
        raise UsageError(f'{flag} "{value}": expected a whole number, 0 for none')
    return int(value)


def _number(low: float, high: float) -> Callable[[str, str], float]:
    def read(flag: str, value: str) -> float:
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not low <= number <= high:
            wanted = f"a number from {low:g} to {high:g}" if high < 1e9 else "an amount in USD"
            raise UsageError(f'{flag} "{value}": expected {wanted}')
        return number

    return read


def _names(_: str, value: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in value.split(",")) if name)


MODES, MODEL, PROMPT, WORK, EXT, MISC = (
    "Modes",
    "Provider and model",
    "Prompt and session",
    "Workspace, tools and skills",
    "Extensions",
    "Other",
)

FLAGS: tuple[Flag, ...] = (
    Flag(("-p", "--print"), "mode", MODES, "print the final answer", store="print"),
    Flag(("--json",), "mode", MODES, "print every event as a JSON line", store="json"),
    Flag(("--stream",), "mode", MODES, "print text as it arrives; tool activity on stderr", store="stream"),
    Flag(("--rpc",), "mode", MODES, "let a program drive zot over stdin and stdout", store="rpc"),
    Flag(("--provider",), "provider", MODEL, "provider to use (see --list-models)", "ID", _text, kind="provider"),
    Flag(("--model",), "model", MODEL, "model to use (see --list-models)", "ID", _text, kind="model"),
    Flag(("--api-key",), "api_key", MODEL, "key for this run (overrides environment and auth.json)", "KEY", _text),
    Flag(
        ("--api-key-fd",),
        "api_key_fd",
        MODEL,
        "read the key from this open file descriptor",
        "FD",
        _count,
    ),
    Flag(("--base-url",), "base_url", MODEL, "API address, such as that of a local server", "URL", _text),
    Flag(
        ("--reasoning",),
        "reasoning",
        MODEL,
        "off, minimum, low, medium, high, xhigh, max",
        "LEVEL",
        _reasoning,
        kind=REASONING,
    ),
    Flag(("--temperature",), "temperature", MODEL, "sampling temperature, 0 to 2", "N", _number(0, 2)),
    Flag(
        ("--output-schema", "--json-schema"),
        "output_schema",
        MODEL,
        "with -p, --json: answer in JSON that matches this JSON Schema",
        "FILE",
        _text,
        kind="file",
    ),
    Flag(
        ("--fallback-model",),
        "fallback_model",
        MODEL,
        "switch to this model after three failed attempts",
        "ID",
        _text,
        kind="model",
    ),
    Flag(
        ("--retries",),
        "retries",
        MODEL,
        "retries of a failed model call (default: 9, about three minutes)",
        "N",
        _count,
    ),
    Flag(
        ("--max-cost",),
        "max_cost",
        MODEL,
        "stop before the next request once this is spent",
        "USD",
        _number(0, 1e9),
    ),
    Flag(
        ("--price-unknown",),
        "price_unknown",
        MODEL,
        "with a spending limit, a model without a price: refuse or allow",
        "WHAT",
        _price_unknown,
        kind=PRICE_UNKNOWN,
    ),
    Flag(("--insecure",), "insecure", MODEL, "skip TLS checks, only for --base-url and your own endpoints"),
    Flag(
        ("--script",),
        "script",
        MODEL,
        "answers for --provider script instead of the tour",
        "FILE",
        _text,
        kind="file",
    ),
    Flag(("--list-models",), "list_models", MODEL, "list known models and exit"),
    Flag(("-c", "--continue"), "continue_", PROMPT, "continue the latest session of this directory"),
    Flag(("-r", "--resume"), "resume", PROMPT, "pick a session to continue"),
    Flag(
        ("--session",),
        "session",
        PROMPT,
        "continue this session: number, id prefix or file",
        "SESSION",
        _text,
        kind="session",
    ),
    Flag(
        ("--session-file",),
        "session_file",
        PROMPT,
        "keep the session in this file",
        "FILE",
        _text,
        kind="file",
    ),
    Flag(("--no-session",), "no_session", PROMPT, "do not load or save a session"),
    Flag(
        ("--system-prompt",),
        "system_prompt",
        PROMPT,
        "replace the built-in identity (overrides SYSTEM.md)",
        "TEXT",
        _text,
    ),
    Flag(
        ("--append-system-prompt",),
        "append_system_prompt",
        PROMPT,
        "add to the system prompt (repeatable)",
        "TEXT",
        _text,
        repeat=True,
    ),
    Flag(("-nc", "--no-context-files"), "no_context_files", PROMPT, "ignore AGENTS.md and CLAUDE.md"),
    Flag(("--cwd",), "cwd", WORK, "work in this directory", "DIR", _text, kind="dir"),
    Flag(("--tools",), "tools", WORK, f"only these tools: {','.join(TOOL_NAMES)}", "LIST", _names, kind="tools"),
    Flag(("--no-tools",), "no_tools", WORK, "use no tools"),
    Flag(
        ("--permission-mode",),
        "permission_mode",
        WORK,
        "what runs without asking: plan, ask, accept-edits, everything",
        "MODE",
        _mode,
        kind=PERMISSION_MODES,
    ),
    Flag(
        ("--no-yolo",), "permission_mode", WORK, "same as --permission-mode ask; denied without a user", store=ASK_EACH
    ),
    Flag(
        ("--permission-limit",),
        "permission_limit",
        WORK,
        "the widest mode that can be chosen while zot runs",
        "MODE",
        _mode,
        kind=PERMISSION_MODES,
    ),
    Flag(
        ("--jail",),
        "jail",
        WORK,
        "confine tools to this directory; =net keeps the network",
        store="on",
        inline="net",
    ),
    Flag(("--no-jail",), "no_jail", WORK, "no jail, also for a session that was jailed"),
    Flag(
        ("--jail-read",),
        "jail_read",
        WORK,
        "with --jail: also allow reading this directory (repeatable)",
        "DIR",
        _text,
        repeat=True,
        kind="dir",
    ),
    Flag(
        ("--jail-write",),
        "jail_write",
        WORK,
        "with --jail: also allow changing this directory (repeatable)",
        "DIR",
        _text,
        repeat=True,
        kind="dir",
    ),
    Flag(
        ("--require-jail",),
        "jail_level",
        WORK,
        "refuse to start below this jail level: full, reduced",
        "LEVEL",
        _level,
        kind=JAIL_LEVELS,
    ),
    Flag(("--ask-outside",), "approve", WORK, "run jailed; ask before a call reaches outside", store="outside"),
    Flag(
        ("--max-steps",), "max_steps", WORK, "stop after N model calls per prompt (no limit by default)", "N", _positive
    ),
    Flag(("--all-workers",), "all_workers", WORK, "with rpc: control every swarm worker, not only one's own"),
    Flag(("--no-skill", "--no-skills"), "no_skills", WORK, "load no skills"),
    Flag(
        ("-e", "--ext"),
        "ext",
        EXT,
        "load an extension for this run (repeatable)",
        "PATH",
        _text,
        repeat=True,
        kind="dir",
    ),
    Flag(("--no-ext", "--no-extensions"), "no_ext", EXT, "skip installed extensions"),
    Flag(
        ("--ext-trace",),
        "ext_trace",
        EXT,
        "write every frame to and from extensions to this file",
        "FILE",
        _text,
        kind="file",
    ),
    Flag(
        ("--mcp-config",),
        "mcp_config",
        EXT,
        "load MCP servers from this file (repeatable)",
        "FILE",
        _text,
        repeat=True,
        kind="file",
    ),
    Flag(("--no-mcp",), "no_mcp", EXT, "skip configured MCP servers, except those of --mcp-config"),
    Flag(
        ("--trust-project",), "trust_project", EXT, "trust this project's extensions, MCP servers and hooks this time"
    ),
    Flag(("--stats",), "stats", MISC, "with -p: write token counts and time to this file", "FILE", _text, kind="file"),
    Flag(
        ("--theme",),
        "theme",
        MISC,
        "theme of the terminal: auto, dark, light, or a name (or ZOT_THEME)",
        "NAME",
        _text,
        kind="theme",
    ),
    Flag(("--record",), "record", MISC, "record this run to a file for zot replay", "FILE", _text, kind="file"),
    Flag(("-h", "--help"), "help", MISC, "show help; --help-all lists every flag"),
    Flag(("--help-all",), "help_all", MISC, "list every flag and command"),
    Flag(("-v", "--version"), "version", MISC, "show the version"),
)

# Former names: accepted, listed only in the reference page.
OLDER_FLAGS: tuple[Flag, ...] = (
    Flag(("--jail-level",), "jail_level", WORK, "now --require-jail LEVEL", "LEVEL", _level, kind=JAIL_LEVELS),
    Flag(("--approve",), "approve", WORK, "now --ask-outside", "outside", _approve, kind=APPROVALS),
)

# Accepted for users of the reference; they change nothing.
IGNORED = frozenset({"--with-skills", "--with-skill", "--experimental-oauth"})

_BY_NAME = {name: flag for flag in (*FLAGS, *OLDER_FLAGS) for name in flag.names}
OWN_NAMES = frozenset((*_BY_NAME, *IGNORED))


class UnknownFlag(UsageError):
    """It may belong to an extension."""


def parse(argv: Sequence[str], more: Mapping[str, ExtensionFlagReader] = {}) -> Flags:
    """Parse a command line; UsageError names the wrong flag. ``more`` are flags of extensions."""
    typed: dict[str, Any] = {}
    words: list[str] = []
    rest = iter(argv)
    for argument in rest:
        if argument == "--":
            words.extend(rest)
        elif argument == "-" or not argument.startswith("-"):
            words.append(argument)
        elif argument not in IGNORED:
            name, equals, inline = argument.partition("=") if argument.startswith("--") else (argument, "", "")
            flag = _BY_NAME.get(name)
            if flag is None:
                _read_other(name, inline if equals else None, rest, more, typed)
            elif flag.read is None:
                if equals and inline != flag.inline:
                    raise UsageError(
                        f"{name}={inline}: only {name}={flag.inline}" if flag.inline else f"{name} takes no value"
                    )
                typed[flag.dest] = inline if equals else flag.store
            else:
                value = inline if equals else next(rest, None)
                if value is None:
                    raise UsageError(f"{name} needs a value: {name} {flag.value}")
                parsed = flag.read(name, value)
                typed[flag.dest] = (*typed.get(flag.dest, ()), parsed) if flag.repeat else parsed
    if typed.get("stats") and typed.get("mode") != "print":
        raise UsageError("--stats works with -p only")
    if typed.get("output_schema") and typed.get("mode") == "rpc":
        raise UsageError(NO_SCHEMA)
    return Flags({**typed, "words": tuple(words)})


def _read_other(
    name: str, inline: str | None, rest: Iterator[str], more: Mapping[str, ExtensionFlagReader], typed: dict[str, Any]
) -> None:
    """A flag of an extension: its value goes into ``extension_flags``."""
    known = more.get(name)
    if known is None:
        from zot.errors import closest_match  # needed only for errors

        close = closest_match(name, (*_BY_NAME, *more)) if name.startswith("--") else ""
        raise UnknownFlag(f'unknown flag "{name}"' + (f"; did you mean {close}?" if close else ""))
    value = inline if inline is not None else next(rest, None) if known.takes_value else "true"
    if value is None:
        raise UsageError(f"{name} needs a value: {name} {known.value_name}")
    own = typed.setdefault("extension_flags", {}).setdefault(known.extension, {})
    own[known.name] = known.read(value)
