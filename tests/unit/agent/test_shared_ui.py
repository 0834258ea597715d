"""Screens of extensions where a conversation has several front ends."""

from __future__ import annotations

from typing import Any

from zot.agent.extension_ui import EditorText, ExtensionUI, UiInfo
from zot.agent.shared_ui import SharedUI
from zot.wire.extension_frames import Panel


class FakeScreen(ExtensionUI):
    def __init__(self, info: UiInfo | None = None, editor: str | None = None) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self._info, self._editor = info or UiInfo(), editor

    def notify(self, extension: str, level: str, message: str) -> None:
        self.seen.append(("note", message))

    def open_panel(self, extension: str, panel: Panel) -> None:
        self.seen.append(("panel", panel.id, panel.title, panel.lines))

    def render_panel(self, extension: str, panel: Panel) -> None:
        self.seen.append(("render", panel.id, panel.lines))

    def contribute(self, extension: str, kind: str, name: str, value: Any, *, stale: bool = False) -> str:
        self.seen.append((kind, name, value))
        return ""

    def ui_info(self) -> UiInfo:
        return self._info

    def read_editor(self) -> EditorText | None:
        return None if self._editor is None else EditorText(self._editor, 0)


def test_every_screen_shows_what_extensions_draw() -> None:
    one, two = FakeScreen(), FakeScreen()
    shared = SharedUI(one)
    leave = shared.join(two)
    shared.notify("x", "info", "hello")
    assert one.seen == two.seen == [("note", "hello")]
    leave()
    shared.notify("x", "info", "again")
    assert len(one.seen) == 2 and len(two.seen) == 1


def test_a_screen_that_joins_gets_what_is_there() -> None:
    shared, late = SharedUI(FakeScreen()), FakeScreen()
    shared.open_panel("x", Panel(id="p", title="Board", lines=("a",)))
    shared.render_panel("x", Panel(id="p", lines=("b",)))
    shared.open_panel("x", Panel(id="gone"))
    shared.close_panel("x", "gone")
    shared.contribute("x", "status", "s", "busy")
    shared.join(late)
    assert late.seen == [("panel", "p", "Board", ("b",)), ("status", "s", "busy")]


def test_questions_go_to_the_first_that_can_answer() -> None:
    shared = SharedUI(FakeScreen())
    assert shared.read_editor() is None
    shared.join(FakeScreen(UiInfo(panels=True, width=80), "draft"))
    text = shared.read_editor()
    assert text is not None and text.text == "draft"
    assert shared.ui_info() == UiInfo(panels=True, width=80)


def test_sizes_of_guests_are_not_reported() -> None:
    one, two = FakeScreen(), FakeScreen()
    heard: list[str] = []
    one.on_change = lambda event, data: heard.append(event)
    shared = SharedUI(one)
    shared.on_change = lambda event, data: heard.append(event)
    shared.join(two)
    two.on_change("resize", {})
    one.on_change("resize", {})
    two.on_change("ui_changed", {})
    assert heard == ["resize", "ui_changed"]
