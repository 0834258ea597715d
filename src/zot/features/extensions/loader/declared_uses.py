"""Words of ``uses`` in a manifest: what an extension may do to zot, in the words that the user reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from zot.errors import ExtensionError, closest_match

if TYPE_CHECKING:
    from zot.features.extensions.loader.manifest import Manifest

WORDS: dict[str, str] = {
    "ui": "shows status items, widgets, header, footer and title; changes the theme for a run",
    "dialogs": "asks you questions (never zot's own)",
    "editor": "completes, decorates and puts text into the prompt you write",
    "keys": "takes keys",
    "render": "draws other tools' results in its own way",
    "terminal": "runs programs in your terminal when you tell it to",
    "input": "reads, changes or answers what you type and your ! commands",
    "context": "reads and changes what the model is sent, and its summaries",
    "payload": "reads and changes raw requests to the provider",
    "results": "changes what tools answer, or answers in their place",
    "deltas": "reads the model's text while it is written",
    "session.read": "reads the conversation",
    "session.write": "labels and renames the conversation",
    "session.hold": "may hold back a new session, switch, fork or rewind",
    "session.control": "starts, switches, forks and rewinds sessions when you ask; compacts; leaves zot",
    "chat": "speaks into the conversation",
    "model.call": "spends your money on model calls",
    "model.set": "changes the model",
    "agents": "starts sub-agents, which spend your money",
    "tools": "switches tools on and off",
    "tools.override": "takes the place of a built-in tool",
    "exec": "runs programs through zot's checks",
    "provider": "brings a model provider; your prompts may go through it",
    "flags": "adds command-line flags",
    "bus": "talks to other extensions",
    "resources": "brings skills, templates and themes while it runs",
}
_SECRET = re.compile(r"secrets\.([A-Za-z0-9_-]{1,64})")
# A guard judges what happens and does not act itself.
NOT_FOR_GUARDS = frozenset(
    ("tools.override", "provider", "chat", "session.control", "model.set", "tools", "exec", "terminal", "agents")
)
_READING = frozenset(("context", "deltas", "session.read", "input", "results", "payload", "provider"))
_GROUPS = {
    "screen": ("ui", "dialogs", "editor", "keys", "render", "terminal"),
    "what is said": ("input", "context", "payload", "results", "deltas", "chat"),
    "sessions": ("session.read", "session.write", "session.hold", "session.control"),
    "models and money": ("model.call", "model.set", "agents", "provider"),
    "tools and programs": ("tools", "tools.override", "exec"),
}
_MOST_LINES = 12
_COLUMNS = 76
_MOST = 64
_ALL = "*"


def read_uses(words: Iterable[str], guard: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The known words, and a remark for each other one; ExtensionError for a word that no guard may have."""
    known: list[str] = []
    remarks: list[str] = []
    for word in list(dict.fromkeys(words))[:_MOST]:
        if is_word(word):
            known.append(word)
            continue
        near = closest_match(word.lower(), (*WORDS, "secrets.ID"))
        remarks.append(f'"{word[:40]}" is no word of "uses"' + (f'; did you mean "{near}"?' if near else ""))
    check_guard(known if guard else ())
    return tuple(known), tuple(remarks)


def check_guard(words: Iterable[str]) -> None:
    """ExtensionError if a guard declares a word that lets it act."""
    if wrong := sorted(NOT_FOR_GUARDS.intersection(words)):
        raise ExtensionError(
            f'extension.json: "uses": a guard may not have {", ".join(wrong)}: who guards does not act'
        )


def is_word(word: str) -> bool:
    return word in WORDS or _SECRET.fullmatch(word) is not None


def describe_uses(words: Iterable[str], host: str = "") -> list[str]:
    """One line for each word, for the user; many words are grouped, so that they fit on a screen. ``host``: where an
    extension at a URL sends what it reads."""
    texts = {word: _described(word) + (f" (sent to {host})" if host and word in _READING else "") for word in words}
    lines = list(texts.values()) if len(texts) <= _MOST_LINES else _grouped(texts)
    return [f"runs at {host}: all that it observes is sent to {host}", *lines] if host else lines


def _grouped(texts: Mapping[str, str]) -> list[str]:
    import textwrap  # few extensions have so many words

    lines: list[str] = []
    other = [text for word, text in texts.items() if not any(word in words for words in _GROUPS.values())]
    found = {label: [texts[word] for word in words if word in texts] for label, words in _GROUPS.items()}
    for label, group in {**found, "other": other}.items():
        if group:
            lines += textwrap.wrap(f"{label}: {'; '.join(group)}", _COLUMNS, subsequent_indent="  ")
    return lines


def _described(word: str) -> str:
    if found := _SECRET.fullmatch(word):
        return f"gets your key for {found[1]}"
    return WORDS[word]


def added_uses(old: Collection[str] | None, new: Iterable[str]) -> list[str]:
    """Descriptions of the words that ``new`` has and ``old`` has not; None is all."""
    return [] if old is None else describe_uses(word for word in new if word not in old)


def granted_words(manifest: Manifest, scope: str, denied: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """The words that hold in a run; ``denied`` are those the user took away, by extension. No extension of a project
    gets a key of the user."""
    taken = {*denied.get(manifest.name, ()), *denied.get(_ALL, ())}
    if _ALL in taken:
        return ()
    return tuple(
        word for word in manifest.uses if word not in taken and not (scope == "project" and _SECRET.fullmatch(word))
    )
