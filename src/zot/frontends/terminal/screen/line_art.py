"""Draws lines and views of extensions (``wire/lines.py``) in the user's theme.
A line is cut to one row, or wrapped; ``fill`` repeats its text to fill the row. A link to a file must be inside the
project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from zot.tui import markdown
from zot.tui.colour import parse
from zot.tui.sanitize import sanitize
from zot.tui.width import LINK_END, RESET, cells, cut, visible, wrap
from zot.wire.lines import Line, Span, View, plain_text

if TYPE_CHECKING:
    from zot.tui.markdown import Painter
    from zot.tui.theme import Theme

_ATTRIBUTES = {"bold": "1", "dim": "2", "italic": "3", "underline": "4", "reverse": "7", "strike": "9"}
_ROLES = {"success": "tool", "selection": "selection_fg"}  # names of the theme, where they differ
_GROUNDS = {"selection": "selection_bg", "user": "user_bubble_bg"}
_LONGEST_LINK = 2_083
_MARK = "…"


class LineArt:
    """Made for one frame or block. ``dimmed`` draws everything faint, for values whose process ended."""

    def __init__(self, painter: Painter, *, dimmed: bool = False) -> None:
        self._painter = painter
        self._theme: Theme = painter.theme
        self._dimmed = dimmed

    def row(self, line: Line, width: int) -> str:
        """One row of at most ``width`` cells."""
        return cut(self._filled(line, width), width)

    def rows(self, line: Line, width: int, indent: str = "") -> list[str]:
        """The whole line, wrapped."""
        if any(span.fill for span in line) and cells(plain_text(line)) <= width:
            return [self.row(line, width)]
        return wrap("".join(map(self.span, line)), width, indent)

    def all_rows(self, lines: Sequence[Line], width: int) -> list[str]:
        return [row for line in lines for row in (self.rows(line, width) if line else [""])]

    def view(self, view: View, width: int, *, expanded: bool = False) -> list[str]:
        """Folded or expanded, with its title."""
        lines = (view.expanded or view.lines) if expanded else (view.lines or view.expanded)
        title = self.rows(view.title, width) if view.title else []
        if view.markdown:
            text = visible(sanitize("\n".join(map(plain_text, lines))))
            return [*title, *markdown.render(text, self._painter, width)]
        return [*title, *self.all_rows(lines, width)]

    def span(self, span: Span) -> str:
        """Its text with colours and link."""
        text = sanitize(span.text) if "\x1b" in span.text else span.text
        opening = self.opening(span)
        painted = f"{opening}{text}{RESET}" if opening else text
        link = self._link(span.link)
        return f"\x1b]8;;{link}\x1b\\{painted}{LINK_END}" if link else painted

    def _filled(self, line: Line, width: int) -> str:
        """The line with its ``fill`` stretched to the width."""
        filler = next((span for span in line if span.fill and span.text), None)
        if filler is None:
            return "".join(map(self.span, line))
        others = sum(cells(plain_text((span,))) for span in line if span is not filler)
        room = max(width - others, 0)
        size = max(cells(plain_text((filler,))), 1)
        text = filler.text * (room // size)
        text += cut(visible(filler.text), room - cells(text), "")
        stretched = Span(text, filler.style, filler.fg, filler.bg, filler.link)
        return "".join(self.span(stretched if span is filler else span) for span in line)

    def opening(self, span: Span) -> str:
        """The codes of its style."""
        theme = self._theme
        plain = theme.depth == "none"
        found: list[str] = ["\x1b[2m"] if self._dimmed else []
        for word in span.style.split():
            if (code := _ATTRIBUTES.get(word)) is not None:
                found.append(f"\x1b[{code}m")
            elif plain:
                found.append({"muted": "\x1b[2m", "selection": "\x1b[7m"}.get(word, ""))
            else:
                found += [theme.sgr(_GROUNDS[word])] if word == "selection" else []
                found.append(theme.sgr(_ROLES.get(word, word)))
        if not plain:
            found += [self._colour(span.fg, background=False)] if span.fg else []
            found += [self._colour(span.bg, background=True)] if span.bg else []
        return "".join(found)

    def _colour(self, name: str, *, background: bool) -> str:
        theme = self._theme
        if background and name in _GROUNDS:
            return theme.sgr(_GROUNDS[name])
        if background and name in ("diff_add", "diff_remove"):
            return theme.tint(name)
        colour = parse(name) if name.startswith("#") else theme.colour_of(_ROLES.get(name, name))
        code = colour.sgr(theme.depth, background=background) if colour is not None else ""
        return f"\x1b[{code}m" if code else ""

    def _link(self, address: str) -> str:
        """The address if the terminal draws links and it may be opened."""
        if not address or not self._painter.inline.links or len(address) > _LONGEST_LINK:
            return ""
        if not address.lower().startswith("file:"):
            return address
        project = self._painter.project
        return address if project is not None and _is_inside(address, project) else ""


def _is_inside(address: str, project: Path) -> bool:
    try:
        parts = urlsplit(address)
        path = Path(unquote(parts.path))
        return parts.netloc in ("", "localhost") and path.resolve().is_relative_to(project.resolve())
    except (OSError, ValueError):
        return False
