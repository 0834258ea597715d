"""What extensions show, in an editor: panels and widgets as tool calls that change in place, the rest as text."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from zot.agent.extension_ui import ExtensionUI, UiInfo
from zot.frontends.acp.content import Json, text_block
from zot.frontends.acp.updates import Updates
from zot.frontends.json_rpc import as_object
from zot.system.visible_text import spelled_start

if TYPE_CHECKING:
    from zot.wire.extension_frames import Panel

INTERVAL_S = 0.25  # between two states of a panel or widget
_LONGEST_TITLE = 120
_BLOCKS = ("widget", "header", "footer")
_LINES = ("status", "title")

_Key = tuple[str, str, str]  # extension, kind, name


class EditorSurface(ExtensionUI):
    """``flush`` sends the newest state of everything at once. Looks (border, spinner, decoration) are not shown."""

    def __init__(self, updates: Updates) -> None:
        self._updates = updates
        self._titles: dict[_Key, str] = {}
        self._newest: dict[_Key, tuple[str, str]] = {}  # title and text
        self._sent: dict[_Key, tuple[str, str]] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def interactive(self) -> bool:
        return True

    def ui_info(self) -> UiInfo:
        return UiInfo(dialogs=True, surfaces=True)

    # --- text

    def notify(self, extension: str, level: str, message: str) -> None:
        self._updates.note(f"{extension}: {message}", {"warn": "warning"}.get(level, level))

    def display(self, extension: str, text: str) -> None:
        """Two spaces keep the end of a line in Markdown."""
        lines = "  \n".join(text.split("\n"))
        self._updates.send({"sessionUpdate": "agent_message_chunk", "content": text_block(f"{lines}\n")})

    def submit(self, extension: str, text: str) -> None:
        self._updates.note(f"{extension} wants to send: {text}")

    # --- panels and widgets

    def open_panel(self, extension: str, panel: Panel) -> None:
        self._titles[extension, "panel", panel.id] = panel.title
        self.render_panel(extension, panel)

    def render_panel(self, extension: str, panel: Panel) -> None:
        """An empty title keeps the old one."""
        key = (extension, "panel", panel.id)
        title = self._titles[key] = panel.title or self._titles.get(key, "")
        rows = _text(panel.rows if panel.rows is not None else list(panel.lines))
        self._show(key, title, "\n".join(filter(None, [f"```\n{rows}\n```", panel.footer])))

    def close_panel(self, extension: str, panel_id: str) -> None:
        self._forget((extension, "panel", panel_id))

    def contribute(self, extension: str, kind: str, name: str, value: Any, *, stale: bool = False) -> str:
        key, fields = (extension, kind, name), as_object(value)
        text = _text(next((fields[part] for part in ("lines", "line", "text") if part in fields), value))
        if kind in _BLOCKS:
            self._show(key, kind, f"```\n{text}\n```")
        elif kind in _LINES and self._sent.get(key) != (kind, text):
            self._sent[key] = kind, text
            self._updates.note(f"{extension}: {text}")
        return ""

    def withdraw(self, extension: str, kind: str, name: str) -> None:
        self._forget((extension, kind, name))

    def _forget(self, key: _Key) -> None:
        self.flush()
        self._titles.pop(key, None)
        self._sent.pop(key, None)

    def _show(self, key: _Key, title: str, text: str) -> None:
        self._newest[key] = spelled_start(f"{key[0]}: {title}" if title else key[0], _LONGEST_TITLE), text
        if self._timer is None:
            self.flush()
            self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._timed)

    def _timed(self) -> None:
        self._timer = None
        self.flush()

    def flush(self) -> None:
        newest, self._newest = self._newest, {}
        for key, state in newest.items():
            if self._sent.get(key) == state:
                continue
            update: Json = {"toolCallId": f"extension:{':'.join(key)}", "title": state[0], "status": "completed"}
            kind = "tool_call_update" if key in self._sent else "tool_call"
            self._sent[key] = state
            content = [{"type": "content", "content": text_block(state[1])}]
            self._updates.send({"sessionUpdate": kind, **update, "kind": "other", "content": content})


def _text(value: Any) -> str:
    from zot.wire.lines import plain_text, to_lines

    # spans of one line, or lines
    is_line = isinstance(value, list) and any(isinstance(part, dict) for part in cast("list[Any]", value))
    return "\n".join(plain_text(line) for line in to_lines([value] if is_line else value))
