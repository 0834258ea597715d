"""A worker in a few words: glyph, duration, activity or last answer, and notes about changes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from zot.system.visible_text import escape_invisible
from zot.tui import diff
from zot.tui.highlight import language_of
from zot.tui.sanitize import one_line, sanitize
from zot.tui.widgets import duration, tokens
from zot.tui.width import cut, visible, wrap

if TYPE_CHECKING:
    from zot.swarm.git.worktrees import Diffstat
    from zot.tui.markdown import Painter
    from zot.wire.swarm_frames import WorkerInfo

# each state has its own glyph, since colours alone are not enough
GLYPHS: dict[str, tuple[str, str]] = {
    "queued": ("◌", "muted"),
    "running": ("●", "accent"),
    "waiting": ("?", "warning"),
    "idle": ("✓", "note_success"),
    "done": ("✓", "note_success"),
    "failed": ("✖", "error"),
    "stopped": ("■", "muted"),
    "lost": ("⊘", "warning"),
}
_SIGNS = re.compile(r"(?:^|(?<= ))#{1,6} |\*\*|`+")
_LONGEST = 300  # characters of its text
_NOTED = 50


def last_answer_line(info: WorkerInfo) -> str:
    """The beginning of its last answer without Markdown marks."""
    return _SIGNS.sub("", one_line(info.last))[:_LONGEST].strip()


def current_activity(info: WorkerInfo) -> str:
    """The tool it uses, its last text, or why it ended."""
    last = last_answer_line(info)
    match info.status:
        case "queued" | "running" | "waiting":
            return one_line(info.activity)[:_LONGEST] or info.status
        case "idle" | "done":
            return f"merged into {one_line(info.merged)}" if info.merged else last or info.status
        case _:
            reason = one_line(info.reason)[:_LONGEST]
            return f"{info.status}: {reason}" if reason else info.status


def elapsed(info: WorkerInfo, rested: float = 0.0) -> str:
    """Time from its start to its end; empty before."""
    if not info.started:
        return ""
    return duration((info.ended or rested or time.time()) - info.started)


def cost(info: WorkerInfo) -> str:
    return money(info.usage.cost_usd) if info.usage.cost_usd else ""


def money(usd: float) -> str:
    return f"${usd:.3f}" if usd < 100 else f"${usd:.0f}"


def used(info: WorkerInfo) -> str:
    """Its tokens in and out."""
    usage = info.usage
    count = usage.input + usage.output + usage.cache_read + usage.cache_write
    return tokens(count) if count else ""


def changed(stat: Diffstat | None) -> str:
    """``+12 −3``; empty if unknown or zero."""
    if stat is None or not stat.files:
        return ""
    return f"+{tokens(stat.added)} −{tokens(stat.removed)}"


def facts(info: WorkerInfo, stat: Diffstat | None = None, rested: float = 0.0) -> str:
    """All details in one row."""
    where = f"branch {info.branch}" if info.branch else f"in {info.cwd}"
    count = f"{stat.files} file{'s' * (stat.files != 1)} {changed(stat)}" if stat is not None and stat.files else ""
    spent = f"{used(info)} tokens" if used(info) else ""
    words = (info.status, elapsed(info, rested), spent, cost(info), count, info.model, where)
    return one_line(" · ".join(filter(None, words)))


def status_note(before: WorkerInfo, info: WorkerInfo) -> tuple[str, str] | None:
    """Level and text of the note about a status change; None if it needs none."""
    name, answer = one_line(info.name), cut(last_answer_line(info), _NOTED)
    what = ", ".join(filter(None, (elapsed(info), cost(info))))
    about = f" ({what})" if what else ""
    if info.status == "waiting":
        return "warn", f"{name} waits for an answer: {one_line(info.activity)[:_LONGEST]}"
    if info.status in ("idle", "done") and before.status in ("queued", "running", "waiting"):
        return "success", f"{name} is done{about}{f': {answer}' if answer else ''}"
    if info.status == "failed":
        return "error", f"{name} failed{about}: {one_line(info.reason)[:_LONGEST]}"
    if info.status == "lost":
        return "error", f"{name} is lost: {one_line(info.reason)[:_LONGEST]}; resume it with /swarm resume {name}"
    if info.status == "stopped" and "stopped by the user" not in info.reason:
        return "warn", f"{name} was stopped{about}: {one_line(info.reason)[:_LONGEST]}"
    return None


_HEAD = re.compile(r"^diff --git ", re.MULTILINE)
_NAMED = re.compile(r'^(?:\+\+\+ "?b/|--- "?a/|rename to "?|copy to "?)(.*?)"?\t?$', re.MULTILINE)
_LARGEST = 400_000  # characters that are coloured


def rows_of(text: str, painter: Painter, width: int) -> list[str]:
    rows: list[str] = []
    for name, body in _files(text[:_LARGEST]):
        rows += [*([""] if rows else []), *_file(name, body, painter, width)]
    if len(text) > _LARGEST:
        rows += ["", painter.theme.paint("warning", "… `zot swarm diff` prints the rest")]
    return rows


def _files(text: str) -> Iterator[tuple[str, str]]:
    """Each file's name and its part of git's output."""
    for part in _HEAD.split(text)[1:]:
        head = part.partition("\n@@ ")[0]
        names = _NAMED.findall(head)
        yield (names[-1] if names else head.partition("\n")[0].rpartition(" b/")[2]), part


def _file(name: str, part: str, painter: Painter, width: int) -> list[str]:
    theme = painter.theme
    head, _, body = part.partition("\n@@ ")
    kind = next((word for word in ("new file", "deleted file", "rename", "Binary") if f"\n{word}" in head), "")
    clean = visible(sanitize(f"@@ {body}".rstrip("\n"))) if body else ""
    lines = diff.hunks(clean) if clean else []
    added, removed = diff.counted(lines)
    figure = f" · +{added} −{removed}" if lines else ""
    title = theme.paint("assistant", escape_invisible(name), bold=True)
    title += theme.paint("muted", f"{f' · {kind}' if kind else ''}{figure}")
    shown = diff.render(lines, theme, painter.code, language_of(name), max(width - 2, 1))
    return [*wrap(title, width, "  "), *(f"  {row}" for row in shown)]
