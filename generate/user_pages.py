"""The reference pages of flags, settings and slash commands, from the tables zot itself reads."""

from __future__ import annotations

import msgspec

from zot.agent.settings import SettingsValues
from zot.cli.flags import OLDER_FLAGS
from zot.cli.help import sections
from zot.cli.verb_table import VERBS
from zot.frontends.terminal.commands.registry import ALIASES, COMMANDS, Command

_COMMAND_LINE = """\
# Command line

<!-- Generated from src/zot/cli/flags.py and verb_table.py by `make generate`; do not edit. -->

Flags and words may be mixed; the words become the prompt. A flag with a value takes the next argument
whatever it looks like, or what follows `=`. After `--` everything is prompt. The last occurrence wins.

Exit codes: 0, or 1 when it failed; 2 when something you named (`--ext`, `--tools`, `--theme`, `--stats`) is not there;
130, 143 and 129 after ctrl+c, SIGTERM and SIGHUP; 141 when nobody reads the output any more.
"""

_SETTINGS = """\
# Settings

<!-- Generated from src/zot/agent/settings.py by `make generate`; do not edit. -->

Settings live in `config.json` in zot's home: `$ZOT_HOME`, else `$XDG_STATE_HOME/zot`, else
`~/.local/state/zot` (macOS: `~/Library/Application Support/zot`). A flag beats a setting, a setting beats the
default. Keys zot does not know are kept. A wrong value is reported in one line and ignored; a file that is
not JSON is reported, left alone, and moved to `config.json.bad` by the first save. While it cannot be read, and with a
wrong `permission_mode`, zot asks before it acts.

| key | type | default | meaning |
|---|---|---|---|
{rows}
"""

_SLASH_COMMANDS = """\
# Slash commands

<!-- Generated from src/zot/frontends/terminal/commands/registry.py by `make generate`; do not edit. -->

Type `/` in the editor to see them. Names are case-insensitive, arguments keep their case. Commands of extensions come
after the built-in ones; a built-in hides an extension's command of the same name. What looks like a path
(`/usr/bin`) is no command and goes to the model; an unknown command is reported and stays in the editor.

| command | what it does | while a turn runs |
|---|---|---|
{rows}

`!command` runs a shell command in the working directory without asking the model. Its output is shown, and the model
sees it with the next prompt; esc cancels it. `!!command` does the same, but the model is never told and no session has
it.

## Other names

Names that people know from other agents. A command of an extension with such a name comes first.

| you type | it runs |
|---|---|
{aliases}
"""

_WHEN_BUSY = {
    "apply": "ends it when a choice is applied",
    "cancel": "ends the turn first",
    "queue": "waits its turn",
    "refuse": "has to wait",
    "run": "runs beside it",
}


def command_line() -> str:
    """``docs/reference/command-line.md``: what ``--help`` shows, of zot and of each verb."""
    lines: list[str] = []
    for title, rows in sections():
        lines += ["", f"## {title}", "", "| | |", "|---|---|"]
        lines += [f"| `{label.replace('|', chr(92) + '|')}` | {text} |" for label, text in rows]
    for verb in VERBS:
        lines += ["", f"## zot {verb.path}", "", f"`{verb.usage}`", "", verb.intro]
        examples = [f"{line}  # {comment}" for line, comment in verb.examples]
        lines += ["", "```sh", *examples, "```"] if examples else []
        lines += ["", "| | |", "|---|---|"] if verb.switches else []
        lines += [f"| `{switch.label}` | {switch.about} |" for switch in verb.switches]
        lines += ["", verb.more] if verb.more else []
    lines += ["", "## Other names", "", "Older or longer names, which still work.", "", "| other name | |", "|---|---|"]
    lines += [f"| `{flag.label}` | {flag.help} |" for flag in OLDER_FLAGS]
    lines += [
        f"| `zot {verb.path} {name}` | now {switch.names[-1]} |"
        for verb in VERBS
        for switch in verb.switches
        for name in switch.older
    ]
    return _COMMAND_LINE + "\n".join(lines) + "\n"


def settings() -> str:
    """``docs/reference/settings.md``: every key of ``config.json``."""
    rows = [
        f"| `{field.name}` | {_type(field)} | {_default(field)} | {_description(field)} |"
        for field in msgspec.structs.fields(SettingsValues)
    ]
    return _SETTINGS.format(rows="\n".join(rows))


def _type(field: msgspec.structs.FieldInfo) -> str:
    """The JSON type in words."""
    schema = msgspec.json.schema(field.type)
    words = {"boolean": "true/false", "array": "list", "integer": "number", "number": "number", "object": "object"}
    kinds = [part.get("type", "") for part in schema.get("anyOf", [schema])]
    return " or ".join(dict.fromkeys(words.get(kind, "text") for kind in kinds if kind != "null"))


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else None
    return "–" if value in (None, "", ()) else f"`{msgspec.json.encode(value).decode()}`"


def _description(field: msgspec.structs.FieldInfo) -> str:
    return next(meta.description for meta in field.type.__metadata__ if getattr(meta, "description", None))


def slash_commands() -> str:
    """``docs/reference/slash-commands.md``: every command of the terminal."""
    rows = "\n".join(f"| `/{name}` | `/{target}` |" for name, target in ALIASES.items())
    return _SLASH_COMMANDS.format(rows="\n".join(map(_command_row, COMMANDS)), aliases=rows)


def _command_row(command: Command) -> str:
    usage = f"/{command.name} {command.arguments}".strip().replace("|", "\\|")
    names = ", ".join(f"`{name}`" for name in (usage, *(f"/{alias}" for alias in command.aliases)))
    return f"| {names} | {command.summary} | {_WHEN_BUSY[command.when_busy]} |"
