"""Program of the child process that turns a page into text: HTML to Markdown, PDF to text.
A page may crash, stall or bloat a converter; here that costs one process. Reads the page on stdin, writes one line of
JSON (title, notes) and the text."""

from __future__ import annotations

import io
import json
import resource
import sys
from contextlib import suppress

from zot.features.web.plain_html import plain_text, title_of

_CPU_S = 10
_MEMORY = 3 * 1024**3
_FALLBACK_CHARACTERS = 2_000_000  # the plain parser is slower
_MOST_TEXT = 4_000_000
_MOST_PDF_PAGES = 500

NO_MARKDOWN = "Install zot-agent[web] for Markdown with tables and formatting."
NO_PDF = "reading PDF needs pypdf: install zot-agent[web]"


def main(kind: str, address: str) -> None:
    _limit()
    data = sys.stdin.buffer.read()
    try:
        title, notes, text = _html(data.decode(), address) if kind == "html" else _pdf(data)
        answer = {"title": title[:300], "notes": notes}
    except _Unusable as error:
        answer, text = {"error": str(error)}, ""
    out = sys.stdout.buffer
    out.write(json.dumps(answer).encode() + b"\n" + text[:_MOST_TEXT].encode("utf-8", "replace"))
    out.flush()


class _Unusable(Exception):
    """The page cannot be read; the text is for the model."""


def _limit() -> None:
    for what, most in ((resource.RLIMIT_CPU, _CPU_S), (resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_CORE, 0)):
        with suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))


def _html(html: str, address: str) -> tuple[str, list[str], str]:
    title, notes = title_of(html), list[str]()
    try:
        text = _markdown(html, address)
    except ImportError:
        text, notes = "", [NO_MARKDOWN]
    if not text.strip():
        cut = html[:_FALLBACK_CHARACTERS]
        if len(cut) < len(html):
            notes.append(f"Only the first {_FALLBACK_CHARACTERS:,} characters of the page were read.")
        text = plain_text(cut, address)
    return title, notes, text


def _markdown(html: str, address: str) -> str:
    """Empty for a page that the library gives up on, such as one with thousands of nested elements."""
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(extract_metadata=False, base_url=address, skip_images=True)
    try:
        made = convert(html, options)
    except Exception:
        return ""
    is_short = any("depth" in str(warning.kind) for warning in made.warnings)
    return "" if is_short else made.content or ""


def _pdf(data: bytes) -> tuple[str, list[str], str]:
    try:
        from pypdf import PdfReader
    except ImportError:
        raise _Unusable(NO_PDF) from None
    import logging

    logging.disable(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise _Unusable("the PDF is encrypted")
        pages = reader.pages
        texts = [
            f"[page {number + 1}]\n{pages[number].extract_text()}" for number in range(min(len(pages), _MOST_PDF_PAGES))
        ]
    except (_Unusable, MemoryError):
        raise
    except Exception as error:
        raise _Unusable(f"the PDF cannot be read: {type(error).__name__}: {str(error)[:200]}") from error
    left = len(pages) - len(texts)
    notes = [f"{left} more pages of the PDF were not read."] if left > 0 else []
    title = str(getattr(reader.metadata, "title", "") or "")
    if not any(text.partition("\n")[2].strip() for text in texts):
        notes.append("The PDF has no text; it may consist of scanned images.")
    return " ".join(title.split()), notes, "\n\n".join(texts)
