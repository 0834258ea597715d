"""``zot --help``: made from the flag table, laid out for the width it is read at, coloured on a terminal only."""

from __future__ import annotations

import os

from zot.cli.flags import EXT, FLAGS, MODES
from zot.cli.verb_table import Verb, below, verb_of

TYPE_CHECKING = False  # importing `typing` for it would cost more than the page
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

USAGE = (
    ("zot", "talk to the agent in this terminal"),
    ('zot -p "PROMPT"', "answer once and exit; also: echo PROMPT | zot"),
    ('zot --json "PROMPT"', "the same, every event as a JSON line"),
)

EXTENSIONS = (
    ("zot ext install PATH|URL", "install an extension"),
    ("zot ext new NAME --lang LANG", "create one from a working starter"),
    ("zot ext doctor", "find out why an extension is missing"),
    ("zot --ext PATH", "load an extension for one run"),
)

FIRST_MINUTE = (
    ("zot auth login anthropic", "or openai, or any provider: paste a key here or in the browser"),
    ("export ANTHROPIC_API_KEY=…", "or OPENAI_API_KEY, or the key of any provider in --list-models"),
    ("zot --provider ollama --model M", "a local server; also lmstudio, llama.cpp, vllm"),
    ("zot --provider script", "no model at all: a demonstration, or the answers of --script FILE"),
)


class _Paint:
    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def write_help(stream: TextIO) -> None:
    stream.write(render(*_room(stream)))


def render(width: int, colour: bool) -> str:
    """The whole page for a terminal of ``width`` columns (0: unknown)."""
    paint = _Paint(colour)
    columns = max(40, width or 96)
    lines = [paint("1;36", "zot") + " — a coding agent for the terminal", paint("2", "─" * columns), ""]
    for title, rows in sections():
        lines += [paint("1", title), *_rows(rows, columns, paint), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def sections() -> list[tuple[str, list[tuple[str, str]]]]:
    """Every row by section, as the reference page shows them too."""
    above = {MODES: USAGE, EXT: EXTENSIONS}
    sections: dict[str, list[tuple[str, str]]] = {MODES: list(USAGE), "First minute": list(FIRST_MINUTE)}
    for flag in FLAGS:
        rows = sections.setdefault(flag.section, list(above.get(flag.section, ())))
        rows.append((flag.label, flag.help))
    return [
        *sections.items(),
        ("Verbs, each with a page of its own (zot VERB --help)", [(verb.usage, verb.about) for verb in below("")]),
    ]


def _rows(rows: list[tuple[str, str]], columns: int, paint: _Paint) -> list[str]:
    if columns < 100:
        return [line for label, text in rows for line in (f"  {label}", f"      {paint('2', text)}")]
    room = 46 if columns >= 140 else 40 if columns >= 120 else 34
    return [f"  {label:<{room}} {paint('2', text)}" for label, text in rows]


def _room(stream: TextIO) -> tuple[int, bool]:
    if not stream.isatty():
        return 0, False
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    try:
        return os.get_terminal_size(stream.fileno()).columns, colour
    except (OSError, ValueError):
        return 0, colour


# ``zot VERB --help``: one page per verb, made from the table of verbs.

_ROOM, _WIDTH = 30, 100


def page_asked_for(argv: list[str]) -> str:
    """The page of ``zot ARGV`` when it asks for one, else nothing; that of the whole ``zot ext`` is its door's."""
    before = argv[: argv.index("--")] if "--" in argv else argv
    words = [word for word in before if not word.startswith("-")]
    if words[1:2] == ["help"]:  # zot ext help new
        del words[1]
    elif "-h" not in before and "--help" not in before:
        return ""
    path = " ".join(words[:2]) if verb_of(" ".join(words[:2])) else words[0]
    return "" if path == "ext" else page(path)


def page(path: str) -> str:
    """Usage, what it does, then its commands or its switches."""
    verb = verb_of(path)
    assert verb is not None, f"`zot {path}` has no row in VERBS"
    return "\n".join(_lines(verb)) + "\n"


def _lines(verb: Verb) -> Iterator[str]:
    yield f"Usage: {verb.usage}"
    yield ""
    yield f"{verb.about[0].upper()}{verb.about[1:]}."
    commands = below(verb.path)
    yield from _table([(_short(command), command.about) for command in commands if not command.for_authors])
    if authors := [(_short(command), command.about) for command in commands if command.for_authors]:
        yield from ("", "For authors:", *list(_table(authors))[1:])
    yield from _table([(switch.label, switch.about) for switch in verb.switches])
    if verb.path == "rpc":
        without = {"resume", "list_models", "stats", "theme", "help", "version"}  # they need a screen or a prompt
        yield from _table(
            [(flag.label, flag.help) for flag in FLAGS if flag.section != MODES and flag.dest not in without]
        )
    if verb.aliases:
        yield from ("", f"Also: zot {verb.path.split()[0]} {', '.join(verb.aliases)}")
    if verb.more:
        yield ""
        from textwrap import wrap

        for paragraph in verb.more.split("\n"):
            yield from wrap(paragraph, _WIDTH, break_on_hyphens=False)


def _short(command: Verb) -> str:
    """A command of a group as its page lists it: its words, and the switches it cannot do without."""
    needed = [switch.usage for switch in command.switches if switch.required]
    return " ".join(filter(None, (command.path.split()[-1], command.words, *needed)))


def _table(rows: list[tuple[str, str]]) -> Iterator[str]:
    if rows:
        yield ""
    for label, about in rows:
        yield f"  {label:<{_ROOM}}{about}" if len(label) < _ROOM else f"  {label}\n  {'':{_ROOM}}{about}"
