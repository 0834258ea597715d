"""Emphasis, code and links inside one paragraph. Words with underscores stay words; nothing inside code is touched."""

from __future__ import annotations

import re
from typing import NamedTuple

from zot.tui.theme import Theme
from zot.tui.width import LINK_END, RESET

_INLINE = re.compile(
    r"\\(?P<escaped>[\\`*_{}\[\]()#+\-.!|~<>])"
    r"|(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|!?\[(?P<label>[^\[\]]*)\]\((?P<url>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)"
    r"|<(?P<auto>(?:https?://|mailto:)[^\s<>]+)>"
    r"|(?<![\w/])(?P<bare>https?://[^\s<>`\"'*()\[\]]*[^\s<>`\"'*()\[\].,;:!?])"
    r"|\*\*(?P<bold>(?=\S).+?(?<=\S)\*?)\*\*"
    r"|(?<!\w)__(?P<bold2>(?=\S).+?(?<=\S))__(?!\w)"
    r"|\*(?P<italic>(?=[^\s*])[^*]*?(?<=\S))\*"
    r"|(?<!\w)_(?P<italic2>(?=[^\s_]).*?(?<=\S))_(?!\w)"
    r"|~~(?P<strike>(?=\S).+?(?<=\S))~~",
    re.DOTALL,
)
_LONGEST = 20_000  # beyond, styles are not looked for


class Style(NamedTuple):
    role: str = "fg"
    bold: bool = False
    italic: bool = False
    strike: bool = False
    underline: bool = False
    link: str = ""


class Inline:
    """``links``: whether the terminal understands OSC 8; elsewhere the address follows its text."""

    def __init__(self, theme: Theme, *, links: bool = False) -> None:
        self._theme = theme
        self._links = links

    def render(self, text: str, style: Style | None = None) -> str:
        """The text with SGR; one style is closed before the next opens."""
        style = style or Style()
        if len(text) > _LONGEST:
            return self._emit(text, style)
        return "".join(self._spans(text, style))

    def _spans(self, text: str, style: Style) -> list[str]:
        parts: list[str] = []
        position = 0
        for match in _INLINE.finditer(text):
            if match.start() > position:
                parts.append(self._emit(text[position : match.start()], style))
            parts += self._span(match, style)
            position = match.end()
        if position < len(text):
            parts.append(self._emit(text[position:], style))
        return parts

    def _span(self, match: re.Match[str], style: Style) -> list[str]:
        groups = match.groupdict()
        if (code := groups["code"]) is not None:
            return [self._emit(_trimmed(code), style._replace(role="code"))]
        if (escaped := groups["escaped"]) is not None:
            return [self._emit(escaped, style)]
        if (url := groups["url"]) is not None:
            return self._link(groups["label"] or url, url, style)
        if (url := groups["auto"] or groups["bare"]) is not None:
            return self._link(url, url, style)
        if (bold := groups["bold"] or groups["bold2"]) is not None:
            return self._spans(bold, style._replace(bold=True))
        if (italic := groups["italic"] or groups["italic2"]) is not None:
            return self._spans(italic, style._replace(italic=True))
        return self._spans(groups["strike"] or "", style._replace(strike=True))

    def _link(self, label: str, url: str, style: Style) -> list[str]:
        linked = style._replace(role="link", underline=True)
        if self._links:
            return self._spans_of_label(label, linked._replace(link=url))
        shown = [self._emit(label, linked)] if label == url else self._spans_of_label(label, linked)
        return shown if label == url or not url else [*shown, self._emit(f" ({url})", style._replace(role="muted"))]

    def _spans_of_label(self, label: str, style: Style) -> list[str]:
        return [self._emit(label, style)] if "://" in label else self._spans(label, style)

    def _emit(self, text: str, style: Style) -> str:
        flags = ((style.bold, "1"), (style.italic, "3"), (style.underline, "4"), (style.strike, "9"))
        codes = "".join(f"\x1b[{code}m" for flag, code in flags if flag)
        opening = self._theme.sgr(style.role) + codes
        body = f"{opening}{text}{RESET}" if opening else text
        return f"\x1b]8;;{style.link}\x1b\\{body}{LINK_END}" if style.link else body


def _trimmed(code: str) -> str:
    """One space on each side is there for the backticks' sake."""
    return code[1:-1] if len(code) > 2 and code[0] == code[-1] == " " and code.strip() else code
