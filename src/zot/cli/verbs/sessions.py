"""``zot sessions …``: list, search, export, fork and delete sessions."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from zot import __version__
from zot.cli.arguments import ParsedArguments, parse
from zot.cli.output import print_escaped, print_notice, print_result, read_answer, show_path
from zot.cli.verb_table import options
from zot.core.session.store import SessionStore, find_session
from zot.errors import SessionError, UsageError, ZotError
from zot.frontends.session_picker import plain, row
from zot.system.files import zot_home

if TYPE_CHECKING:
    from zot.core.session.prune import Group


def run(argv: list[str]) -> int:
    """Run ``zot sessions ARGV`` and return its exit status."""
    verb, rest = (argv[0], argv[1:]) if argv and not argv[0].startswith("-") else ("list", argv)
    try:
        if verb not in _VERBS:
            raise UsageError(f'unknown command "{verb}": one of {", ".join(_VERBS)}')
        command, most = _VERBS[verb]
        arguments = parse(rest, options(f"sessions {verb}"), most=most)
        cwd = Path(os.path.expanduser(arguments.values.get("--cwd", os.getcwd())))
        return command(SessionStore(zot_home(), cwd, __version__), arguments)
    except UsageError as error:
        known = f" {verb}" if verb in _VERBS else ""
        print_notice(f"zot: {error}; see `zot sessions{known} --help`")
    except ZotError as error:
        print_notice(f"zot: {error}")
    return 1


def _list(store: SessionStore, arguments: ParsedArguments) -> int:
    summaries = store.summaries(everywhere=arguments.has("--all"))
    if not summaries:
        print_notice("no sessions yet" if arguments.has("--all") else f"no sessions in {store.cwd}")
    folded = set[str]() if arguments.has("--all") else {summary.path for summary in summaries if summary.is_failed_run}
    for number, summary in enumerate(summaries, 1):
        where = f"  ({summary.cwd})" if arguments.has("--all") else ""
        if len(folded) < 2 or summary.path not in folded:  # numbers count folded rows, as in `--session NUMBER`
            print_result(row(number, summary) + where)
    if len(folded) > 1:
        print_result(f"     {len(folded)} runs without an answer; --all shows them")
    return 0


def _search(store: SessionStore, arguments: ParsedArguments) -> int:
    from zot.cli.verbs.sessions_search import search_sessions

    return search_sessions(store, arguments)


def _path(store: SessionStore, arguments: ParsedArguments) -> int:
    show_path(_session(store, arguments.word(0)))
    return 0


def _rename(store: SessionStore, arguments: ParsedArguments) -> int:
    if len(arguments.words) < 2:
        raise UsageError("rename needs a session and a title")
    session = store.open(_session(store, arguments.words[0]))
    try:
        session.rename(" ".join(arguments.words[1:]))
    finally:
        session.close()
    return 0


def _tree(store: SessionStore, arguments: ParsedArguments) -> int:
    from zot.core.session.summary import branches, tree_lines

    for line in tree_lines(branches(store.summaries()), os.environ.get("ZOT_SESSION_ID", "")):
        print_escaped(plain(line))
    return 0


def _fork(store: SessionStore, arguments: ParsedArguments) -> int:
    from zot.core.session.fork import fork_at

    at = arguments.values.get("--at")
    if at is not None and not at.isdecimal():
        raise UsageError(f'--at "{at}": expected a number of messages')
    show_path(fork_at(store, _session(store, arguments.word(0)), None if at is None else int(at)))
    return 0


def _rewind(store: SessionStore, arguments: ParsedArguments) -> int:
    from zot.cli.verbs.sessions_rewind import rewind

    return rewind(store, _session(store, arguments.word(0)), arguments)


def _export(store: SessionStore, arguments: ParsedArguments) -> int:
    from zot.core.session.fork import default_destination, export_session
    from zot.features.export.export import checked_format, export, format_of
    from zot.features.export.redaction import redaction

    scrub, hide = arguments.has("--scrub"), arguments.has("--redact")
    source, destination = _session(store, arguments.word(0)), arguments.word(1) or default_destination()
    named = arguments.values.get("--format")
    kind = checked_format(named) if named else format_of(str(destination), "zotsession")
    if kind == "zotsession" and not hide:
        show_path(export_session(source, destination, scrub=scrub))
    else:
        hidden = redaction(zot_home(), str(store.cwd), paths_only=not hide) if hide or scrub else None
        show_path(export(source, destination, kind, hidden))
    left = "" if scrub or hide else "paths (--scrub replaces them) and "
    known = "secrets that zot does not recognize" if hide else f"{left}secrets"
    print_notice(f"note: prompts and tool output may still contain {known}; review the file before you share it")
    return 0


def _import(store: SessionStore, arguments: ParsedArguments) -> int:
    from zot.core.session.fork import import_session

    show_path(import_session(store, arguments.word(0) or ""))
    return 0


def _prune(store: SessionStore, arguments: ParsedArguments) -> int:
    """Delete only sessions that were listed, selected and confirmed; ``--all`` selects, ``--yes`` confirms."""
    from zot.core.session.prune import age_seconds, delete, plan_prune

    age = arguments.values.get("--older-than")
    older_than_s = None if age is None else age_seconds(age)
    everything, sure = arguments.has("--all"), arguments.has("--yes")
    if sure and not everything:
        raise UsageError("--yes requires --all: sessions cannot be selected without a question")
    found = plan_prune(store.root, older_than_s=older_than_s, cwd=store.cwd if arguments.has("--cwd") else None)
    for spared in found.kept:
        print_result(f"kept {spared.path}: {spared.reason}")
    if not found.groups:
        print_result("nothing to prune")
        return 0
    for number, group in enumerate(found.groups, 1):
        where = group.cwd or "(unknown directory)"
        print_result(f"{number:>3}  {len(group.sessions):>4} sessions  {_size(group.size):>9}  {where}")
    if arguments.has("--dry-run"):
        return 0
    chosen = found.groups if everything else _chosen(found.groups)
    sessions = [session for group in chosen for session in group.sessions]
    if not sessions:
        print_result("nothing selected, nothing deleted")
        return 0
    count = f"{len(sessions)} session{'s' * (len(sessions) != 1)}"
    if not sure and read_answer(f"delete {count} permanently (y/N)?").lower() not in ("y", "yes"):
        print_result("nothing deleted")
        return 0
    kept = 0
    for session in sessions:
        if (reason := delete(session)) is not None:
            print_result(f"kept {session.summary.path}: {reason}")
            kept += 1
    print_result(f"deleted {len(sessions) - kept} of {count}" if kept else f"deleted {count}")
    return 1 if kept else 0


def _chosen(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    answer = read_answer("select numbers, or all:").replace(",", " ").split()
    if answer == ["all"]:
        return groups
    if not all(word.isdecimal() and 1 <= int(word) <= len(groups) for word in answer):
        raise UsageError(f"expected numbers from 1 to {len(groups)}; nothing deleted")
    return tuple(groups[number - 1] for number in sorted({int(word) for word in answer}))


# --- session lookup


def _session(store: SessionStore, text: str | None) -> Path:
    """The file of the named session."""
    if text is None:
        if (newest := store.newest()) is None:
            raise SessionError(f"no sessions in {store.cwd}")
        return newest
    return find_session(store, text)


# --- formatting


def _size(count: int) -> str:
    for unit, limit in (("B", 1 << 10), ("KiB", 1 << 20), ("MiB", 1 << 30)):
        if count < limit:
            return f"{count * 1024 // limit} {unit}"
    return f"{count / (1 << 30):.1f} GiB"


_Verb = Callable[[SessionStore, ParsedArguments], int]
_VERBS: dict[str, tuple[_Verb, int | None]] = {  # function, number of words
    "list": (_list, 0),
    "search": (_search, None),
    "path": (_path, 1),
    "rename": (_rename, None),
    "tree": (_tree, 0),
    "fork": (_fork, 1),
    "rewind": (_rewind, 1),
    "export": (_export, 2),
    "import": (_import, 1),
    "prune": (_prune, 0),
}
