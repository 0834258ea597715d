"""What an extension adds to zot while it runs: status items, widgets and the rest of the screen.
The newest value counts; zot draws it, and forgets it with the extension."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal

    from zot.ext.lines import Line


class Surfaces:
    """Thin names for ``contribute``. A zot that draws nothing keeps them and shows them nowhere."""

    def contribute(self, kind: str, name: str, value: Mapping[str, Any], *, wait: bool = False) -> Any:
        raise NotImplementedError

    def status(
        self, name: str, line: Line, *, side: Literal["left", "right"] | None = None, order: int | None = None
    ) -> None:
        """An item of the status row."""
        self.contribute("status", name, {"line": line, "side": side, "order": order})

    def widget(
        self,
        name: str,
        lines: Sequence[Line],
        *,
        place: Literal["above", "below"] | None = None,
        order: int | None = None,
    ) -> None:
        """A block of at most 12 lines above or below the prompt."""
        self.contribute("widget", name, {"lines": list(lines), "place": place, "order": order})

    def header(self, lines: Sequence[Line], *, name: str = "header") -> None:
        """Lines above the conversation."""
        self.contribute("header", name, {"lines": list(lines)})

    def footer(self, lines: Sequence[Line], *, replace: bool | None = None, name: str = "footer") -> None:
        """At most 3 lines at the bottom, with ``replace`` instead of the status row."""
        self.contribute("footer", name, {"lines": list(lines), "replace": replace})

    def title(self, text: str, *, name: str = "title") -> None:
        """The title of the terminal."""
        self.contribute("title", name, {"text": text})

    def working(
        self,
        text: str | None = None,
        *,
        frames: Sequence[str] | None = None,
        every_ms: int | None = None,
        visible: bool | None = None,
        name: str = "working",
    ) -> None:
        """The row that shows work: its words and its frames."""
        value = {"text": text, "frames": frames, "every_ms": every_ms, "visible": visible}
        self.contribute("working", name, value)

    def thinking(self, label: str, *, name: str = "thinking") -> None:
        """The label of the model's reasoning."""
        self.contribute("thinking", name, {"label": label})

    def border(
        self,
        *,
        top_left: Line | None = None,
        top_right: Line | None = None,
        bottom_left: Line | None = None,
        bottom_right: Line | None = None,
        name: str = "border",
    ) -> None:
        """Lines on the border of the prompt."""
        value = {"top_left": top_left, "top_right": top_right, "bottom_left": bottom_left}
        self.contribute("border", name, {**value, "bottom_right": bottom_right})

    def decorate(
        self,
        name: str,
        styles: Sequence[Mapping[str, str]],
        *,
        match: str | None = None,
        pattern: str | None = None,
        ignore_case: bool | None = None,
        frames: Sequence[Sequence[Mapping[str, str]]] | None = None,
        every_ms: int | None = None,
    ) -> None:
        """Style a text, or what a pattern matches, in the prompt; zot animates the ``frames``."""
        value = {"match": match, "pattern": pattern, "ignore_case": ignore_case, "styles": list(styles)}
        self.contribute("decoration", name, {**value, "frames": frames, "every_ms": every_ms})

    def keymap(self, name: str, modes: Mapping[str, Any], *, start: str) -> None:
        """A modal keymap of the prompt, run by zot."""
        self.contribute("keymap", name, {"start": start, "modes": dict(modes)})

    def resources(
        self,
        name: str,
        *,
        skills: Sequence[str] | None = None,
        templates: Sequence[str] | None = None,
        themes: Sequence[str] | None = None,
    ) -> None:
        """Skills, templates and themes that are there while the extension runs."""
        self.contribute("resource", name, {"skills": skills, "templates": templates, "themes": themes})
