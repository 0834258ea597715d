"""``zot VERB --help``: one page per verb, made from the table of verbs."""

from __future__ import annotations

from zot.cli.verb_table import Verb, below, verb_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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
        yield from _table(_rpc_flags())
    if verb.aliases:
        yield from ("", f"Also: zot {verb.path.split()[0]} {', '.join(verb.aliases)}")
    if verb.more:
        yield ""
        yield from _wrapped(verb.more)


def _rpc_flags() -> list[tuple[str, str]]:
    """The flags of a run that mean something without a screen and without a prompt."""
    from zot.cli.flags import FLAGS, MODES

    without = {"resume", "list_models", "stats", "theme", "help", "version"}
    return [(flag.label, flag.help) for flag in FLAGS if flag.section != MODES and flag.dest not in without]


def _wrapped(text: str) -> Iterator[str]:
    from textwrap import wrap

    for paragraph in text.split("\n"):
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
