"""Inline Markdown: emphasis, code and links. Words with underscores stay words.
The time is linear in the text's length: ends of marks are looked up once, and nesting is limited."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from zot.tui.theme import Theme
from zot.tui.width import LINK_END, RESET

# Possible starts of marks. Each branch begins with a different character, so that plain text is skipped at the
# speed of a search.
_MARK = re.compile(r"\\|`|\*|_|~~|\[|!\[|<|http")
_ESCAPED = frozenset("\\`*_{}[]()#+-.!|~<>")
_TICKS = re.compile("`+")
_LINK = re.compile(r"!?\[(?P<label>[^\[\]]*+)\]\((?P<url>[^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+)(?:\s++\"[^\"]*+\")?+\)")
_AUTO = re.compile(r"<((?:https?://|mailto:)[^\s<>]++)>")
_BARE = re.compile(r"(?<![\w/])https?://[^\s<>`\"'*()\[\]]*[^\s<>`\"'*()\[\].,;:!?]")
# Possible ends of a mark, without a space before it.
_ENDS = {
    "**": re.compile(r"\*(?=\*)"),
    "__": re.compile(r"_(?=_(?!\w))"),
    "_": re.compile(r"_(?!\w)"),
    "~~": re.compile(r"~(?=~)"),
}
_LONGEST = 20_000  # characters; styles after it are ignored
_DEEPEST = 8  # styles inside styles
_LONGEST_LINK = 2_083  # a longer one is written out; terminals would ignore it


class Style(NamedTuple):
    role: str = "fg"
    bold: bool = False
    italic: bool = False
    strike: bool = False
    underline: bool = False


class InlineSpan(NamedTuple):
    """A mark: how its text is shown, and where the text continues."""

    kind: str
    text: str
    end: int
    url: str = ""


def spans(text: str) -> Iterator[InlineSpan]:
    """The text in pieces, for other renderers: plain ones have the kind ``text``, inner ones are not parsed."""
    scan = _Scan(text)
    done = position = 0
    while len(text) <= _LONGEST and (mark := _MARK.search(text, position)) is not None:
        found = scan.at(mark.start())
        if isinstance(found, int):
            position = found
            continue
        if mark.start() > done:
            yield InlineSpan("text", text[done : mark.start()], mark.start())
        yield found._replace(text=_trimmed(found.text)) if found.kind == "code" else found
        done = position = found.end
    if done < len(text):
        yield InlineSpan("text", text[done:], len(text))


class Inline:
    """``links``: the terminal supports OSC 8; otherwise the address follows its text."""

    def __init__(self, theme: Theme, *, links: bool = False) -> None:
        self._theme = theme
        self.links = links
        self._openings: dict[Style, str] = {}

    def render(self, text: str, style: Style | None = None) -> str:
        """The text with SGR; one style is closed before the next opens."""
        style = style or Style()
        if len(text) > _LONGEST:
            return self._emit(text, style)
        return self._spans(text, style, _DEEPEST)

    def _spans(self, text: str, style: Style, depth: int) -> str:
        scan = _Scan(text)
        parts: list[str] = []
        done = position = 0
        while depth and (mark := _MARK.search(text, position)) is not None:
            found = scan.at(mark.start())
            if isinstance(found, int):
                position = found
                continue
            if mark.start() > done:
                parts.append(self._emit(text[done : mark.start()], style))
            parts.append(self._span(found, style, depth - 1))
            done = position = found.end
        if done < len(text):
            parts.append(self._emit(text[done:], style))
        return "".join(parts)

    def _span(self, span: InlineSpan, style: Style, depth: int) -> str:
        match span.kind:
            case "text":
                return self._emit(span.text, style)
            case "code":
                return self._emit(_trimmed(span.text), style._replace(role="code"))
            case "link":
                return self._link(span.text or span.url, span.url, style, depth)
            case "bold":
                return self._spans(span.text, style._replace(bold=True), depth)
            case "italic":
                return self._spans(span.text, style._replace(italic=True), depth)
            case _:
                return self._spans(span.text, style._replace(strike=True), depth)

    def _link(self, label: str, url: str, style: Style, depth: int) -> str:
        linked = style._replace(role="link", underline=True)
        is_address = label == url or "://" in label
        shown = self._emit(label, linked) if is_address else self._spans(label, linked, depth)
        if self.links and url and len(url) <= _LONGEST_LINK:
            return f"\x1b]8;;{url}\x1b\\{shown}{LINK_END}"
        return shown if label == url or not url else shown + self._emit(f" ({url})", style._replace(role="muted"))

    def _emit(self, text: str, style: Style) -> str:
        opening = self._openings.get(style)
        if opening is None:
            flags = ((style.bold, "1"), (style.italic, "3"), (style.underline, "4"), (style.strike, "9"))
            codes = "".join(f"\x1b[{code}m" for flag, code in flags if flag)
            opening = self._openings[style] = self._theme.sgr(style.role) + codes
        return f"{opening}{text}{RESET}" if opening else text


class _Scan:
    """One text, and where the marks in it may end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[str, list[int]] = {}
        self._runs: dict[int, list[int]] | None = None  # positions of backtick runs by length

    def at(self, i: int) -> InlineSpan | int:
        """The mark at ``i``; a number means no mark, and where to continue."""
        text = self._text
        match text[i]:
            case "\\":
                escaped = text[i + 1 : i + 2]
                return InlineSpan("text", escaped, i + 2) if escaped in _ESCAPED else i + 1
            case "`":
                return self._code(i)
            case "*":
                return self._stars(i)
            case "_":
                if i and (text[i - 1] == "_" or text[i - 1].isalnum()):
                    return i + 1
                return self._between(i, "__", "bold") if text.startswith("__", i) else self._between(i, "_", "italic")
            case "~":
                return self._between(i, "~~", "strike")
            case "<":
                auto = _AUTO.match(text, i)
                return InlineSpan("link", auto[1], auto.end(), auto[1]) if auto else i + 1
            case "h":
                bare = _BARE.match(text, i)
                return InlineSpan("link", bare[0], bare.end(), bare[0]) if bare else i + 4
            case _:
                link = _LINK.match(text, i)
                return InlineSpan("link", link["label"], link.end(), link["url"]) if link else i + 1

    def _code(self, i: int) -> InlineSpan | int:
        """A run of backticks ends at the next run of the same length, or of the next shorter one."""
        text = self._text
        if self._runs is None:
            self._runs = {}
            for run in _TICKS.finditer(text):
                self._runs.setdefault(len(run[0]), []).append(run.start())
        opening = _TICKS.match(text, i)
        assert opening is not None
        for size in range(len(opening[0]), 0, -1):
            if (end := _first(self._runs.get(size, ()), opening.end())) >= 0:
                return InlineSpan("code", text[i + size : end], end + size)
        return opening.end()

    def _stars(self, i: int) -> InlineSpan | int:
        text = self._text
        if text.startswith("**", i):
            found = self._between(i, "**", "bold")
            if not isinstance(found, int) and text.startswith("*", found.end):  # `**bold *both***`
                return found._replace(text=found.text + "*", end=found.end + 1)
            return found
        if text[i + 1 : i + 2].isspace() or (end := text.find("*", i + 2)) < 0 or text[end - 1].isspace():
            return i + 1
        return InlineSpan("italic", text[i + 1 : end], end + 1)

    def _between(self, i: int, mark: str, kind: str) -> InlineSpan | int:
        """The text from the mark at ``i`` to its end; it neither begins nor ends with a space."""
        text = self._text
        start = i + len(mark)
        if start >= len(text) or text[start].isspace():
            return i + 1
        if mark not in self._ends:
            places = (found.start() for found in _ENDS[mark].finditer(text))
            self._ends[mark] = [place for place in places if place and not text[place - 1].isspace()]
        end = _first(self._ends[mark], start + 1)
        return InlineSpan(kind, text[start:end], end + len(mark)) if end >= 0 else i + 1


def _first(places: list[int] | tuple[()], after: int) -> int:
    """The first position that is not before ``after``; -1 if there is none."""
    index = bisect_left(places, after)
    return places[index] if index < len(places) else -1


def _trimmed(code: str) -> str:
    """Remove one space on each side, which separates the backticks."""
    return code[1:-1] if len(code) > 2 and code[0] == code[-1] == " " and code.strip() else code
