"""Text of an HTML page with the standard library alone: headings, lists, links and code keep a simple mark.
Used without the extra ``zot-agent[web]``, and for pages that its library gives up on."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urljoin

_SKIPPED = frozenset({"script", "style", "template", "title", "svg", "iframe", "object", "canvas", "math"})
_BLOCKS = frozenset(
    (
        *("p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "ul", "ol", "table", "form"),
        *("blockquote", "dl", "dt", "dd", "figure", "figcaption", "fieldset", "address", "details", "summary"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "pre", "hr"),
    )
)
_SPACE = re.compile(r"[ \t\r\f\v\xa0]+")
_BLANK = re.compile(r"\n{3,}")
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,1000})", re.IGNORECASE)


def title_of(html: str) -> str:
    found = _TITLE.search(html[:200_000])
    return " ".join(unescape(found[1]).split()) if found else ""


def plain_text(html: str, base: str) -> str:
    parser = _TextParser(base)
    parser.feed(_without_open_ends(html))
    parser.close()
    return parser.text()


def _without_open_ends(html: str) -> str:
    """Without comments, and without markup that never ends, for which the parser searches the rest again and again."""
    pieces: list[str] = []
    at = 0
    while (start := html.find("<!--", at)) >= 0:
        pieces.append(html[at:start])
        end = html.find("-->", start + 4)
        at = len(html) if end < 0 else end + 3
    text = "".join((*pieces, html[at:])).replace("<![", "&lt;![")
    last = text.rfind(">") + 1
    return text[:last] + text[last:].replace("<", "&lt;")


class _TextParser(HTMLParser):
    """Keeps no tree, so depth costs nothing."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._pieces: list[str] = []
        self._skipping = ""
        self._depth = 0
        self._pre = 0
        self._link = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipping:
            self._depth += tag == self._skipping
            return
        if tag in _SKIPPED:
            self._skipping, self._depth = tag, 1
        elif tag == "a":
            self._link = dict(attrs).get("href") or ""
        elif tag in ("br", "tr"):
            self._pieces.append("\n")
        elif tag == "li":
            self._pieces.append("\n- ")
        elif tag in ("td", "th"):
            self._pieces.append(" | ")
        elif tag in _BLOCKS:
            self._pieces.append("\n\n")
            self._open(tag)

    def _open(self, tag: str) -> None:
        if tag == "pre":
            self._pre += 1
            self._pieces.append("```\n")
        elif len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self._pieces.append("#" * int(tag[1]) + " ")

    def handle_endtag(self, tag: str) -> None:
        if self._skipping:
            self._depth -= tag == self._skipping
            if not self._depth or tag == "html":
                self._skipping = ""
            return
        if tag == "a" and self._link:
            self._pieces.append(self._target())
            self._link = ""
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._pieces.append("\n```\n" if not self._ends_line() else "```\n")
        elif tag in _BLOCKS:
            self._pieces.append("\n\n")

    def _target(self) -> str:
        if self._link.startswith(("#", "javascript:", "data:")):
            return ""
        try:
            return f" ({urljoin(self._base, self._link)})"
        except ValueError:
            return ""

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self._pieces.append(data if self._pre else _SPACE.sub(" ", data.replace("\n", " ")))

    def _ends_line(self) -> bool:
        return bool(self._pieces) and self._pieces[-1].endswith("\n")

    def text(self) -> str:
        lines = (line.rstrip() for line in "".join(self._pieces).split("\n"))
        return _BLANK.sub("\n\n", "\n".join(lines)).strip()
