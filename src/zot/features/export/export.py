"""Exports a session to a new private file, and the Markdown format."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal, cast, get_args

import msgspec

from zot.core.session import fork
from zot.errors import SessionError, UsageError
from zot.features.export.document import Document, DocumentEntry, Redact, read_document
from zot.system.files import user_home

Format = Literal["zotsession", "md", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)
_NAMES: dict[str, Format] = {"zotsession": "zotsession", "md": "md", "markdown": "md", "html": "html", "htm": "html"}


def format_named(text: str) -> Format | None:
    """``md``, ``html``, ``zotsession`` and their aliases."""
    name = text.lower().lstrip(".")
    return _NAMES.get(name)


def format_of(destination: str, default: Format) -> Format:
    return format_named(os.path.splitext(destination.strip("\"' "))[1]) or default


def export(source: Path, destination: Path | str, kind: Format, redaction: Redaction | None = None) -> Path:
    """Writes the export and returns its path; SessionError if it fails."""
    if kind == "zotsession":
        return fork.export_session(source, destination, change=redaction.row if redaction is not None else None)
    redact: Redact = redaction or str
    origin = fork.source_of(source)
    target = fork.target_of(origin, fork.typed_path(destination, "export: expected a destination"), f".{kind}")
    return write_page(read_document(source, redact), target, kind)


def write_page(document: Document, target: Path, kind: Format) -> Path:
    if not document.entries:
        raise SessionError("cannot export: this conversation has no prompts yet")
    if kind == "html":
        from zot.features.export.html_page import html_page

        page = html_page(document)
    else:
        page = markdown_page(document)
    return fork.write_numbered(target, f".{kind}", [page.encode("utf-8", "replace")])


def redaction(home: Path, cwd: str, *, paths_only: bool = False) -> Redaction:
    """Redacts all credentials known to zot: from the environment and from ``/login``."""
    from zot.provider.auth.auth_store import AuthStore
    from zot.provider.providers import credential_variables
    from zot.system.secret_variables import looks_like_secret

    places = [(cwd, "<cwd>"), (str(user_home()), "~")]
    if paths_only:
        return Redaction(places=places, shapes=False)
    known = credential_variables()
    secrets = [value for name, value in os.environ.items() if name in known or looks_like_secret(name)]
    return Redaction([*secrets, *AuthStore(home).secrets()], places)


def checked_format(text: str) -> Format:
    kind = format_named(text)
    if kind is None:
        raise UsageError(f'unknown format "{text}": expected one of {", ".join(FORMATS)}')
    return kind


# A document as Markdown; calls are folded where the renderer can.

_LABELS = {"prompt": "You", "answer": "Assistant", "command": "You ran", "summary": "Summary of earlier messages"}
_TICKS = re.compile(r"`{3,}")


def markdown_page(document: Document) -> str:
    facts = [f"- {name}: {_escaped(value)}" for name, value in document.facts]
    return "\n".join([f"# {_escaped(document.title)}", "", *facts, *_body(document.entries)]) + "\n"


def _body(entries: tuple[DocumentEntry, ...]) -> Iterator[str]:
    speaker = ""
    for entry in entries:
        if entry.kind == "call":
            yield from ("", *_call(entry))
            speaker = "Assistant"
            continue
        label = _LABELS[entry.kind]
        if label != speaker or entry.kind != "answer":
            yield from ("", f"## {label}" + (f" · {entry.time}" if entry.time else ""))
        speaker = label
        yield from ("", *([fenced(entry.text)] if entry.kind == "command" else [entry.text.strip("\n")]))
        yield from _images(entry)


def _call(entry: DocumentEntry) -> Iterator[str]:
    mark = "✖" if entry.failed else "●"
    head = entry.head.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield f"<details><summary>{mark} <code>{head}</code></summary>"
    yield ""
    yield fenced(entry.text, "diff" if entry.diff else "")
    yield from _images(entry)
    yield ""
    yield "</details>"


def _images(entry: DocumentEntry) -> Iterator[str]:
    for image in entry.images:
        yield from ("", f"*(an image: {image.mime_type}, {len(image.data):,} bytes)*")


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", text)


# Redaction before export: known or recognised credentials, e-mail addresses and local paths. It finds patterns; it
# cannot find every secret.

HIDDEN = "[redacted]"
_SHORTEST = 8  # shorter ones are placeholders or ordinary words

_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)[^-]*+(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(r"\b(?:sk|pk|rk|gh[opsur]|glpat|xox[abeprs]|hf|npm|pypi|dop_v1|shpat)[-_][A-Za-z0-9_-]{16,}+"),
        HIDDEN,
    ),
    (re.compile(r"\bgithub_pat_[A-Za-z0-9_]{20,}+"), HIDDEN),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}+"), HIDDEN),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,4000}+\.[A-Za-z0-9_-]{8,4000}+\.[A-Za-z0-9_-]*+"), HIDDEN),
    (re.compile(r"(?i)\b(bearer|basic)\s{1,3}[A-Za-z0-9._~+/=-]{12,}+"), rf"\1 {HIDDEN}"),
    (re.compile(r"(://[^\s/:@]{0,100}:)[^\s/@]{1,200}@"), rf"\1{HIDDEN}@"),
    (
        re.compile(
            r"(?i)((?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
            r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?)(?!\[redacted\])[^\s\"',;&]{6,}+"
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}\b"), "[address]"),
)
_KEPT_KEYS = frozenset({"type", "id", "call_id", "time", "role", "mime_type", "data", "encrypted_content"})


class Redaction:
    """``secrets`` are exact texts, ``places`` paths with replacements, longest first.
    ``shapes`` also redacts texts that look like a secret."""

    def __init__(
        self, secrets: Collection[str] = (), places: Collection[tuple[str, str]] = (), *, shapes: bool = True
    ) -> None:
        self._shapes = _SHAPES if shapes else ()
        known = sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None
        # A path ends at the end of a name: /home/me is not in /home/melissa.
        self._places = [(re.compile(re.escape(path) + r"(?![\w.-])"), name) for path, name in places if len(path) > 1]

    def __call__(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        for pattern, instead in self._shapes:
            text = pattern.sub(instead, text)
        for pattern, name in self._places:
            text = pattern.sub(name, text)
        return text

    def row(self, line: bytes) -> bytes:
        """A session row with all its texts redacted."""
        return msgspec.json.encode(self._value(msgspec.json.decode(line))) + b"\n"

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self._value(item) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            pairs = cast("dict[str, Any]", value)
            return {key: item if key in _KEPT_KEYS else self._value(item) for key, item in pairs.items()}
        return value
