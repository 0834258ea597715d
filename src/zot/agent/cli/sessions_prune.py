"""The dialogue of ``zot sessions prune``: show groups, let the user choose, ask once more, delete.

Nothing is deleted that was not shown, chosen and confirmed; ``--all`` chooses, ``--yes`` confirms.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from zot.agent.cli.sessions_rows import plain, size
from zot.core.session.prune import Found, Group, delete, survey
from zot.errors import UsageError

Ask = Callable[[str], str]
Say = Callable[[str], None]


def prune(
    root: Path,
    *,
    older_than_s: float | None,
    cwd: str | None,
    dry_run: bool,
    everything: bool,
    yes: bool,
    ask: Ask,
    say: Say,
) -> int:
    """Exit status: 1 when a chosen session could not be deleted."""
    if yes and not everything:
        raise UsageError("--yes needs --all: without it there is nobody to choose")
    found = survey(root, older_than_s=older_than_s, cwd=cwd)
    for kept in found.kept:
        say(f"kept {plain(kept.path)}: {kept.reason}")
    if not found.groups:
        say("nothing to prune")
        return 0
    _show(found.groups, say)
    if dry_run:
        return 0
    return _delete_chosen(found.groups if everything else _choose(found.groups, ask), yes, ask, say)


def _show(groups: tuple[Group, ...], say: Say) -> None:
    for number, group in enumerate(groups, 1):
        where = plain(group.cwd) or "(no directory recorded)"
        say(f"{number:>3}  {len(group.sessions):>4} sessions  {size(group.size):>9}  {where}")


def _choose(groups: tuple[Group, ...], ask: Ask) -> tuple[Group, ...]:
    answer = ask("which ones (numbers, or all)? ").replace(",", " ").split()
    if answer == ["all"]:
        return groups
    if not all(word.isdecimal() and 1 <= int(word) <= len(groups) for word in answer):
        raise UsageError(f"choose numbers from 1 to {len(groups)}; nothing was deleted")
    return tuple(groups[number - 1] for number in sorted({int(word) for word in answer}))


def _delete_chosen(groups: tuple[Group, ...], yes: bool, ask: Ask, say: Say) -> int:
    sessions = [found for group in groups for found in group.sessions]
    if not sessions:
        say("nothing chosen, nothing deleted")
        return 0
    if not yes and ask(f"delete {len(sessions)} sessions for good (y/N)? ").lower() not in ("y", "yes"):
        say("nothing deleted")
        return 0
    kept = sum(_kept(found, say) for found in sessions)
    say(f"deleted {len(sessions) - kept} sessions" + (f", kept {kept}" if kept else ""))
    return 1 if kept else 0


def _kept(found: Found, say: Say) -> bool:
    if (reason := delete(found)) is None:
        return False
    say(f"kept {plain(found.summary.path)}: {reason}")
    return True
