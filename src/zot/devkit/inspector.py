"""Which frames of a run are shown: all, or those whose type, method, event, name or id a filter names."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from zot.features.recording.frame_trace import TracedFrame

_NAMES = ("type", "method", "event", "name", "kind")
_NAMED = ("id", "parent_id")


class FrameFilter:
    """``words`` are separated by commas; none shows everything. A shown question brings its answer with it."""

    def __init__(self, words: str = "") -> None:
        self._shown: set[str] = set()
        self.set(words)

    def set(self, words: str) -> None:
        self._words = tuple(word.strip().removeprefix("#") for word in words.split(",") if word.strip())
        self._shown.clear()

    @property
    def words(self) -> str:
        return ", ".join(self._words)

    def shows(self, traced: TracedFrame) -> bool:
        if not self._words:
            return True
        fields = _fields(traced)
        if fields is None:
            return True  # a line that is no frame is always worth a look
        id = str(fields.get("id", ""))
        found = any(str(fields.get(key, "")) in self._words for key in (*_NAMES, *_NAMED) if fields.get(key))
        if found and id:
            self._shown.add(id)
        return found or (id in self._shown)


def _fields(traced: TracedFrame) -> dict[str, Any] | None:
    if not bytes(traced.frame):
        return None
    value: Any = msgspec.json.decode(traced.frame)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
