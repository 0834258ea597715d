"""The reference pages of flags, settings and slash commands, from zot's own tables."""

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

Every command and flag of zot. Use it to look up a flag; `zot --help` and `zot COMMAND --help` print the same.

```sh
zot [FLAGS] [PROMPT]
zot COMMAND [ARGUMENTS]
```

Flags and words can be mixed; the words are the prompt. A flag with a value takes the next argument, whatever it looks
like, or the text after `=`. Everything after `--` is prompt. The last occurrence of a flag wins.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed |
| 2 | something you named (`--ext`, `--tools`, `--theme`, `--stats`) does not exist |
| 130, 143, 129 | ended by Ctrl+C, SIGTERM, SIGHUP |
| 141 | the reader of stdout closed it |
"""

_SETTINGS = """\
# Settings

<!-- Generated from src/zot/agent/settings.py by `make generate`; do not edit. -->

Every key of `config.json`. Use it to set defaults for all runs; `/settings` in the terminal changes the common ones.

```json
{{"provider": "anthropic", "permission_mode": "ask"}}
```

The file is in zot's home: `$ZOT_HOME`, else `$XDG_STATE_HOME/zot`, else `~/.local/state/zot` (macOS:
`~/Library/Application Support/zot`). Flags override settings. zot preserves unknown keys. It reports an invalid value
in one line and uses the default. It reports a file that is not JSON, uses the defaults, and moves it to
`config.json.bad` at the first save. While the file cannot be read, or `permission_mode` is invalid, zot asks before it
acts.

| key | type | default | meaning |
|---|---|---|---|
{rows}
"""

_SLASH_COMMANDS = """\
# Slash commands

<!-- Generated from src/zot/frontends/terminal/commands/registry.py by `make generate`; do not edit. -->

Every slash command of the terminal, and what it does during a turn. Type `/` in the editor to list them.

```
/help             keys and commands
/model            choose a model
/exit             quit
```

Names are case-insensitive. A built-in command hides an extension's command with the same name. Text that looks like a
path (`/usr/bin`) goes to the model; zot reports an unknown command and leaves it in the editor.

[Extensions](../extensions.md), [templates](../guides/templates.md) and [MCP servers](../guides/mcp.md) add commands;
`/skill:NAME [text]` loads a [skill](../guides/skills.md). These also work outside the terminal
([other modes](#other-modes)).

| command | what it does | while a turn runs |
|---|---|---|
{rows}

`!command` runs a shell command in the working directory; the model sees its output with the next prompt, and esc
cancels it. `!!command` does the same, but neither the model nor the session gets the output.

## Other modes

`-p`, `--json`, `--stream`, the SDK and `prompt` of a `zot rpc` client with the capability `commands` run the commands
of extensions, templates, MCP servers and skills:

```sh
zot -p "/fix 42 only on macOS"
```

An unknown command, or one of the table above, is an error: exit code 1, an `error` event, or a response with
`success:false`. It suggests a similar name, or the flag or RPC command to use instead. Begin with `\\/` to send such
a text to the model: `zot -p '\\/fixed is a word'`. Outside the terminal a template may have the name of a command of
the table.

## Other names

Names from other agents. An extension's command with such a name comes first.

| you type | it runs |
|---|---|
{aliases}
"""

_WHEN_BUSY = {
    "apply": "cancels the turn when a choice is applied",
    "cancel": "cancels the turn first",
    "queue": "is queued",
    "refuse": "is not available",
    "run": "runs at once",
}


def command_line() -> str:
    """``docs/reference/command-line.md``: the help of zot and of each verb."""
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
    lines += ["", "## Other names", "", "Older or longer names that still work.", "", "| other name | |", "|---|---|"]
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
    kinds = ["object" if "$ref" in part else part.get("type", "") for part in schema.get("anyOf", [schema])]
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
