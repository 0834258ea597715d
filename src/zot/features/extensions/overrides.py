"""Tools of extensions that take the place of built-in ones. When such an extension is gone, the built-in does not come
back by itself: calls fail until the user reloads the extensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zot.features.extensions.tools import ExtensionTool

if TYPE_CHECKING:
    from zot.core.tool import Tool
    from zot.features.extensions.child import ExtensionChild
    from zot.features.extensions.host import ExtensionHost
    from zot.wire.extension_frames import RegisterTool

WORD = "tools.override"


class ToolOverrides:
    def __init__(self, host: ExtensionHost) -> None:
        self._host = host
        self._replaced: dict[str, ExtensionTool] = {}  # by name, until the next reload

    def replace(self, tools: list[Tool], wanted: Iterable[tuple[ExtensionChild, RegisterTool]]) -> list[Tool]:
        """The built-in ``tools``, some of them replaced. ``wanted`` are registrations with ``override``."""
        originals = {tool.name: tool for tool in tools}
        for child, frame in wanted:
            original = originals.get(frame.name)
            if original is not None and self._may(child, frame.name):
                if frame.name not in self._replaced:
                    self._host.inform(f"extension {child.name} takes the place of the built-in tool {frame.name}")
                self._replaced[frame.name] = ExtensionTool(child, frame, self._host, original)
        return [self._replaced.get(tool.name, tool) for tool in tools]

    def withdrawn(self, child: ExtensionChild, name: str) -> None:
        tool = self._replaced.get(name)
        if tool is not None and tool.extension == child.name:
            del self._replaced[name]
            self._host.inform(f"the built-in tool {name} is back: extension {child.name} gave it up")

    def is_replaced(self, name: str) -> bool:
        return name in self._replaced

    def original(self, child: ExtensionChild, name: str) -> Tool | None:
        """The built-in whose place this extension's tool takes."""
        tool = self._replaced.get(name)
        return tool.original if tool is not None and tool.extension == child.name else None

    def lines(self) -> list[str]:
        """For ``/doctor``."""
        return [
            f"extension {tool.extension} takes the place of the built-in tool {name}"
            for name, tool in self._replaced.items()
        ]

    def forget(self, extension: str) -> None:
        """The extension is reloaded: it may take their place again."""
        self._replaced = {name: tool for name, tool in self._replaced.items() if tool.extension != extension}

    def clear(self) -> None:
        self._replaced.clear()

    def _may(self, child: ExtensionChild, name: str) -> bool:
        from zot.features.extensions.requests import RequestError

        try:
            self._host.require_word(child, WORD, f"tool {name}: override")
        except RequestError:
            return False
        return True
