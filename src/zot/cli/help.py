"""``zot --help``: the everyday flags in at most 60 lines; ``--help-all`` lists every flag and verb.
Both are made from the tables of flags and verbs; coloured, wrapped and paged on a terminal only."""

from __future__ import annotations

import os
import sys

from zot.cli.flags import EXT, FLAGS, MODES
from zot.cli.verb_table import Verb, subcommands, verb_of

TYPE_CHECKING = False  # importing `typing` would take longer than printing the page
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

USAGE = (
    ("zot", "chat in this terminal"),
    ('zot -p "PROMPT"', "answer once and exit; piped input comes before the prompt"),
    ('zot --json "PROMPT"', "the same, with every event as a JSON line"),
)

EXTENSIONS = (
    ("zot ext install PATH|URL", "install an extension"),
    ("zot ext new NAME --lang LANG", "create one from a working starter"),
    ("zot ext doctor", "find out why an extension is missing"),
    ("zot --ext PATH", "load an extension for one run"),
)

FIRST_MINUTE = (
    ("zot auth login anthropic", "log in (any provider), or set ANTHROPIC_API_KEY, …"),
    ("zot --provider ollama --model M", "use a local server (also lmstudio, llama.cpp, vllm)"),
    ("zot --provider script", "a scripted tour: no key, no network"),
)

# The sections of the short page: flags by name, and rows that are not flags.
EVERYDAY: tuple[tuple[str, tuple[str | tuple[str, str], ...]], ...] = (
    ("Start", (*USAGE[:2], *FIRST_MINUTE)),
    ("Output", ("--print", "--stream", "--json")),
    (
        "Model",
        (
            *("--provider", "--model", "--reasoning", "--fallback-model"),
            *("--max-cost", "--api-key", "--base-url", "--list-models"),
        ),
    ),
    ("Session", ("--continue", "--resume", "--session", "--no-session", "--append-system-prompt")),
    (
        "Tools and permissions",
        ("--cwd", "--permission-mode", "--jail", "--ask-outside", "--tools", "--no-tools", "--max-steps"),
    ),
    ("Extensions", (EXTENSIONS[0], "--ext", "--mcp-config", "--trust-project")),
)
COMMANDS = {
    "auth": "log in to providers",
    "sessions": "list, export, fork, rewind, prune",
    "mcp": "manage MCP servers",
    "hooks": "review and trust hooks",
    "permissions": "list, check, change permissions",
    "ext": "install and write extensions",
    "plugin": "install plugins",
    "swarm": "run agents in the background",
    "local": "run a model on this machine",
    "jail": "run any command confined",
    "models": "list, search and price models",
    "cost": "show what was spent",
    "rpc": "drive zot from a program",
    "acp": "use zot inside an editor",
    "serve": "share conversations",
    "attach": "join a shared one",
    "docs": "read the manual offline",
    "replay": "replay a recorded run",
    "report": "pack a session for a bug report",
    "doctor": "check the installation",
    "update": "check for a newer version",
    "completions": "complete words in your shell",
}


_TWO_COLUMNS = 94  # width of the table of commands
_NARROW = 24  # minimum width of a column of text


class _Paint:
    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def write_help(stream: TextIO, *, all: bool = False) -> None:
    width, colour = _room(stream)
    write_page(render_all(width, colour) if all else render(width, colour), stream)


def write_page(text: str, stream: TextIO) -> None:
    """Write a page to a stream; a terminal shows it in the pager if it is long."""
    if not is_capable(stream):
        stream.write(text)
        return
    from zot.cli.pager import show

    show(text, stream)


def is_capable(stream: TextIO) -> bool:
    """True if stdout and the stream are terminals that can move the cursor."""
    return stream.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def render(width: int, colour: bool) -> str:
    """The short page for a terminal of ``width`` columns; 0 (unknown): one line per row."""
    paint = _Paint(colour)
    flags = {name: (flag.label, flag.help) for flag in FLAGS for name in flag.names}
    lines = [paint("1;36", "zot") + ": a coding agent for the terminal", ""]
    lines += ["Usage: zot [FLAGS] [PROMPT]        zot COMMAND [ARGUMENTS]", ""]
    for title, rows in EVERYDAY:
        pairs = (flags[row] if isinstance(row, str) else row for row in rows)
        lines += [paint("1", title), *(line for pair in pairs for line in _row(*pair, 32, width, paint))]
    if more := extension_rows():
        lines += [paint("1", "Flags of extensions"), *(line for pair in more for line in _row(*pair, 32, width, paint))]
    lines += ["", paint("1", "Commands") + " (zot COMMAND --help)"]
    cells = [f"{name:<12}{about:<34}" for name, about in COMMANDS.items()]
    step = 1 if 0 < width < _TWO_COLUMNS else 2
    lines += [f"  {''.join(cells[i : i + step])}".rstrip() for i in range(0, len(cells), step)]
    lines += ["", "All flags: zot --help-all, or zot docs command-line", "  -h, --help    -v, --version"]
    return "\n".join(lines) + "\n"


def render_all(width: int, colour: bool) -> str:
    """Every flag and verb, for a terminal of ``width`` columns (0: unknown)."""
    paint = _Paint(colour)
    columns = max(40, width or 96)
    lines = [paint("1;36", "zot") + ": a coding agent for the terminal", paint("2", "─" * columns), ""]
    more = [("Flags of extensions", rows)] if (rows := extension_rows()) else []
    for title, rows in (*sections(), *more):
        lines += [paint("1", title), *_rows(rows, columns, width, paint), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def extension_rows() -> list[tuple[str, str]]:
    """The flags that installed extensions declare."""
    from zot.cli.extension_flags import help_rows
    from zot.errors import ZotError

    try:
        return help_rows()
    except ZotError:  # a home or project that cannot be read; a run reports it
        return []


def sections() -> list[tuple[str, list[tuple[str, str]]]]:
    """Every row by section, also for the reference page."""
    above = {MODES: USAGE, EXT: EXTENSIONS}
    sections: dict[str, list[tuple[str, str]]] = {MODES: list(USAGE), "First minute": list(FIRST_MINUTE)}
    for flag in FLAGS:
        rows = sections.setdefault(flag.section, list(above.get(flag.section, ())))
        rows.append((flag.label, flag.help))
    return [
        *sections.items(),
        ("Commands (zot COMMAND --help)", [(verb.usage, verb.about) for verb in subcommands("")]),
    ]


def _rows(rows: list[tuple[str, str]], columns: int, width: int, paint: _Paint) -> list[str]:
    room = 0 if columns < 100 else 46 if columns >= 140 else 40 if columns >= 120 else 34
    return [line for label, text in rows for line in _row(label, text, room, width, paint)]


def _row(label: str, about: str, room: int, width: int, paint: _Paint) -> list[str]:
    """Label and text; ``room`` 0: the text is below the label. The text is wrapped in its column if the width is known,
    or below the label if that column is narrow."""
    head = f"  {label:<{room}} "
    if room and (not width or len(head) + len(about) <= width):
        return [head + paint("2", about)]
    indent = room + 3 if room and len(label) <= room and width - room >= _NARROW else 6
    texts = _wrapped(about, max(width - indent, _NARROW)) if width else [about]
    rows = [" " * indent + paint("2", text) for text in texts]
    return [head + rows[0].lstrip(), *rows[1:]] if indent == room + 3 else [f"  {label}", *rows]


def _room(stream: TextIO) -> tuple[int, bool]:
    if not stream.isatty():
        return 0, False
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    try:
        return os.get_terminal_size(stream.fileno()).columns, colour
    except (OSError, ValueError):
        return 0, colour


# ``zot VERB --help``: one page per verb, from the table of verbs.

_ROOM, _WIDTH = 30, 100
_NOT_FOR_RPC = {"--list-models", "--resume"}  # they need a terminal


def write_page_asked_for(argv: list[str], stream: TextIO) -> bool:
    """Write the help page that ``zot ARGV`` requests; False if none. ``ext.dispatch`` prints that of ``zot ext``."""
    before = argv[: argv.index("--")] if "--" in argv else argv
    words = [word for word in before if not word.startswith("-")]
    if words[1:2] == ["help"]:  # zot ext help new
        del words[1]
    elif "-h" not in before and "--help" not in before:
        return False
    path = " ".join(words[:2]) if verb_of(" ".join(words[:2])) else words[0]
    if path != "ext":
        write_verb_page(path, stream)
    return path != "ext"


def write_verb_page(path: str, stream: TextIO) -> None:
    write_page(page(path, _room(stream)[0]), stream)


def page(path: str, width: int = 0) -> str:
    """Usage, one sentence, examples, commands or switches, notes, for a terminal of ``width`` columns (0: unknown)."""
    verb = verb_of(path)
    assert verb is not None, f"`zot {path}` has no row in VERBS"
    return "\n".join(_lines(verb, width)) + "\n"


def _lines(verb: Verb, width: int) -> Iterator[str]:
    columns = min(width or _WIDTH, _WIDTH)
    yield from (f"Usage: {verb.usage}", "", *_wrapped(verb.intro, columns))
    yield from _examples(verb, width)
    commands = subcommands(verb.path)
    yield from _table(
        "Commands", [(_short(command), command.about) for command in commands if not command.for_authors], width
    )
    yield from _table(
        "For authors", [(_short(command), command.about) for command in commands if command.for_authors], width
    )
    flags = _rpc_flags() if verb.path == "rpc" else [(switch.label, switch.about) for switch in verb.switches]
    yield from _table("Flags", flags, width)
    if notes := [*_notes(verb, bool(commands), columns)]:
        yield from ("", *notes)


def _examples(verb: Verb, width: int) -> Iterator[str]:
    if verb.examples:
        yield from ("", "Examples:")
    room = max((len(line) for line, _ in verb.examples), default=0)
    for line, comment in verb.examples:
        fits = not width or room + len(comment) + 6 <= width
        yield f"  {line:<{room}}  # {comment}" if fits else f"  # {comment}\n  {line}"


def _rpc_flags() -> list[tuple[str, str]]:
    """The everyday flags of a run without a terminal."""
    names = {row for title, rows in EVERYDAY if title not in ("Start", "Output") for row in rows} - _NOT_FOR_RPC
    return [(flag.label, flag.help) for flag in FLAGS if names & {*flag.names}]


def _notes(verb: Verb, is_group: bool, columns: int) -> Iterator[str]:
    if verb.aliases:
        yield f"Also: zot {verb.path.split()[0]} {', '.join(verb.aliases)}"
    for paragraph in filter(None, verb.more.split("\n")):
        yield from _wrapped(paragraph, columns)
    if verb.path == "rpc":
        yield "All flags: zot --help-all"
    if is_group:
        yield f"Flags of a command: zot {verb.path} COMMAND --help"


def _wrapped(text: str, width: int) -> list[str]:
    from textwrap import wrap

    return wrap(text, width, break_on_hyphens=False)


def _short(command: Verb) -> str:
    """A command of a group in its page: its words and required switches."""
    needed = [switch.usage for switch in command.switches if switch.required]
    return " ".join(filter(None, (command.path.split()[-1], command.words, *needed)))


def _table(title: str, rows: list[tuple[str, str]], width: int) -> Iterator[str]:
    if rows:
        yield from ("", f"{title}:")
    room = max((len(label) for label, _ in rows if len(label) < _ROOM), default=0) + 2
    for label, about in rows:
        texts = _wrapped(about, max(width - room - 2, _NARROW)) if width else [about]
        head = f"  {label:<{room}}" if len(label) < room else f"  {label}\n  {'':{room}}"
        yield head + f"\n  {'':{room}}".join(texts)
