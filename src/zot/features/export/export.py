"""A session, a format and a destination become a file: never in the place of another, and for its owner's eyes only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, get_args

from zot.core.session import fork
from zot.errors import SessionError, UsageError
from zot.features.export.document import Document, Redact, read_document
from zot.features.export.redaction import Redaction
from zot.system.files import user_home

Format = Literal["zotsession", "md", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)
_NAMES: dict[str, Format] = {"zotsession": "zotsession", "md": "md", "markdown": "md", "html": "html", "htm": "html"}


def format_named(text: str) -> Format | None:
    """``md``, ``html``, ``zotsession``, and what else people call them."""
    name = text.lower().lstrip(".")
    return _NAMES.get(name)


def format_of(destination: str, default: Format) -> Format:
    """By the ending of a name."""
    return format_named(os.path.splitext(destination.strip("\"' "))[1]) or default


def export(source: Path, destination: Path | str, kind: Format, redaction: Redaction | None = None) -> Path:
    """The file it wrote; SessionError when it cannot."""
    if kind == "zotsession":
        return fork.export_session(source, destination, change=redaction.row if redaction is not None else None)
    redact: Redact = redaction or str
    origin = fork.source_of(source)
    target = fork.target_of(origin, fork.typed_path(destination, "export needs a destination"), f".{kind}")
    return write_page(read_document(source, redact), target, kind)


def write_page(document: Document, target: Path, kind: Format) -> Path:
    if not document.entries:
        raise SessionError("nothing has been said yet, so there is nothing to export")
    if kind == "html":
        from zot.features.export.html_page import html_page as page
    else:
        from zot.features.export.markdown_page import markdown_page as page

    return fork.write_numbered(target, f".{kind}", [page(document).encode("utf-8", "replace")])


def redaction(home: Path, cwd: str, *, paths_only: bool = False) -> Redaction:
    """With every credential of this machine that zot knows: from the environment, and stored by ``/login``."""
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
        raise UsageError(f'unknown format "{text}": one of {", ".join(FORMATS)}')
    return kind
