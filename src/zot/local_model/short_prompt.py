"""The system prompt of a small local model, below 600 tokens with six tools.

It lists the directory, since such a model guesses names, and the beginning of the nearest context file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from zot.agent.context_files import ContextFile
from zot.agent.system_prompt import SystemPrompt
from zot.local_model.coaching.file_knowledge import LISTED, OPENING, RULES
from zot.system.visible_text import pluralize

CONTEXT_CHARACTERS = 1200
_MOST_NAMES = 30
_NAMES_CHARACTERS = 500
_LOOKED_AT = 400  # entries of directories
_UNWANTED = frozenset({"__pycache__", "node_modules", "venv", "target", "dist", "build"})

_BRIEF = OPENING + " You work step by step in the directory {cwd}."
_RULES = RULES + " After a change, check it. Use final only when the task is really done."


class SmallModelPrompt:
    """The ``ShortPrompt`` of a model that a grammar constrains."""

    def __init__(self, prompt: SystemPrompt, is_active: Callable[[], bool]) -> None:
        self._prompt = prompt
        self.is_active = is_active
        self._text = ""

    def text(self) -> str:
        """Built once: the directory's files are those of the start."""
        prompt = self._prompt
        self._text = self._text or build_short_prompt(prompt.cwd, prompt.custom, prompt.appends, prompt.context)
        return self._text

    def sections(self) -> list[tuple[str, str, str]]:
        context, file = self._prompt.context, nearest_context_file(self._prompt.context)
        named = str(context[-1].path) if file else ""
        return [("prompt", "", self.text().replace(file, "", 1)), ("file", named, file)]

    def truncation_notice(self) -> str:
        return truncation_notice(self._prompt.context)


def build_short_prompt(
    cwd: Path | None, custom: str | None, appends: Sequence[str], context: Sequence[ContextFile]
) -> str:
    """The dialect inserts the tools after the first paragraph."""
    first = _BRIEF.format(cwd=cwd or ".") if custom is None else custom.strip()
    names = ", ".join(_names(cwd)) if cwd is not None else ""
    parts = [
        first,
        _RULES if custom is None else "",
        *appends,
        nearest_context_file(context),
        f"{LISTED}{names}" if names else "",
    ]
    return "\n\n".join(part for part in parts if part)


def truncation_notice(context: Sequence[ContextFile]) -> str:
    """A line about omitted project instructions; empty if complete."""
    if not context:
        return ""
    file, kept = context[-1], len(nearest_context_file(context))
    cut = f"{kept:,} of the {len(file.text):,} characters of {file.path}" if kept < len(file.text) else ""
    others = len(context) - 1
    if not cut and not others:
        return ""
    named = f"nothing of {pluralize(others, 'other context file')}" if others else ""
    parts = " and ".join(filter(None, (cut or f"all of {file.path}", named)))
    return f"the prompt of a small model is short: it contains {parts}"


def nearest_context_file(context: Sequence[ContextFile]) -> str:
    """The nearest file, truncated to the limit."""
    if not context:
        return ""
    text = context[-1].text
    if len(text) <= CONTEXT_CHARACTERS:
        return text
    kept = text[:CONTEXT_CHARACTERS]
    return kept[: kept.rfind("\n")].rstrip() or kept


def _names(root: Path) -> list[str]:
    """Files of the directory and of those in it, as paths; a directory that does not fit is only named."""
    top = list(_entries(root, ""))
    below = [found for name in top if name.endswith("/") for found in (list(_entries(root, name)) or [name])]
    names = [name for name in top if not name.endswith("/")] + below
    if len(names) > _MOST_NAMES:
        names = top
    kept: list[str] = []
    for name in names[:_MOST_NAMES]:
        if sum(map(len, kept)) + len(name) > _NAMES_CHARACTERS:
            break
        kept.append(name)
    return [*kept, "…"] if len(kept) < len(names) else kept


def _entries(root: Path, below: str) -> Iterator[str]:
    try:
        with os.scandir(root / below) as found:
            entries = sorted((entry for entry, _ in zip(found, range(_LOOKED_AT), strict=False)), key=lambda e: e.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _UNWANTED or not entry.name.isprintable():
            continue
        yield f"{below}{entry.name}{'/' if entry.is_dir(follow_symlinks=False) else ''}"
