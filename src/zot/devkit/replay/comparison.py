"""Compares a line with the recorded one and reports the first key that differs.

Times and durations are ignored; generated ids are matched one to one.
"""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from zot.core.tool import DECIDED_BY
from zot.features.recording.reader import RecordedLine
from zot.provider.messages import ENDED, ENDED_WHY

_CLOCK = frozenset({"t", "sum", "latency", "pending"})  # keys of a line
_FLEETING = frozenset({"time", "zot_version"})  # keys at any depth
_IDS = frozenset({"id", "parent_id", "agent_run_id", "compaction_id"})
_MADE_UP = re.compile(r"[0-9a-f]{16}")
_DURATIONS = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|m|min)\b")
_EXCERPT = 60


class Difference(msgspec.Struct, frozen=True):
    """``line`` is the recording's; ``at`` the key that differs; an empty text means no line."""

    line: int
    what: str
    at: str
    recorded: str
    got: str


class Comparison:
    """``here`` maps directories of this run to recorded ones; ``live``: real tools or extensions run."""

    def __init__(self, *, live: bool = False) -> None:
        self.here: dict[str, str] = {}
        self.ids: dict[str, str] = {}  # recorded -> now
        self._taken: dict[str, str] = {}  # now -> recorded
        self._live = live

    def difference(self, line: RecordedLine, got: dict[str, Any]) -> Difference | None:
        """None if equal."""
        if line.type != got["type"] or name_of(line.fields) != name_of(got):
            return Difference(line.number, name_of(line.fields), "", preview(line.fields), preview(got))
        try:
            parted = self._parting(_body(line.fields), _body(got), "", "")
        except RecursionError:
            parted = ("", "…", "…")
        return None if parted is None else Difference(line.number, name_of(line.fields), *parted)

    def now(self, id: Any) -> Any:
        """The id of this run for a recorded id."""
        return self.ids.get(id, id) if isinstance(id, str) else id

    def _parting(self, old: Any, new: Any, at: str, key: str) -> tuple[str, str, str] | None:
        if isinstance(old, dict) and isinstance(new, dict):
            return self._parting_of_fields(cast("dict[str, Any]", old), cast("dict[str, Any]", new), at)
        if isinstance(old, list) and isinstance(new, list):
            olds, news = cast("list[Any]", old), cast("list[Any]", new)
            for place in range(max(len(olds), len(news))):
                if place >= len(olds) or place >= len(news):
                    return f"{at}[{place}]", _item(olds, place), _item(news, place)
                if parted := self._parting(olds[place], news[place], f"{at}[{place}]", key):
                    return parted
            return None
        if old == new and isinstance(old, bool) == isinstance(new, bool):  # to Python, 1 and True are the same
            return None
        if isinstance(old, str) and isinstance(new, str):
            return None if self._same_text(old, new, key) else (at, *excerpts(old, self._as_then(new)))
        return at, _json(old), _json(new)

    def _parting_of_fields(self, old: dict[str, Any], new: dict[str, Any], at: str) -> tuple[str, str, str] | None:
        old, new = _without_only_decider(old), _without_only_decider(new)
        thought = old.get("type") == "thinking_end"
        for key in dict.fromkeys((*old, *new)):
            if key in _FLEETING or (thought and key == "seconds") or (self._live and key == "details"):
                continue
            if key == DECIDED_BY or (key == "by" and old.get("type") == "permission_decided"):
                continue  # names for people; older recordings have none
            if key in (ENDED, ENDED_WHY) and at.endswith(".meta"):
                continue  # likewise: marks for people
            if key not in old or key not in new:
                return f"{at}.{key}", _json(old[key]) if key in old else "", _json(new[key]) if key in new else ""
            if parted := self._parting(old[key], new[key], f"{at}.{key}", key):
                return parted
        return None

    def _same_text(self, old: str, new: str, key: str) -> bool:
        if key in _IDS and _MADE_UP.fullmatch(old) and _MADE_UP.fullmatch(new):
            return self.ids.setdefault(old, new) == new and self._taken.setdefault(new, old) == old
        new = self._as_then(new)
        return old == new or (self._live and _DURATIONS.sub("⏱", old) == _DURATIONS.sub("⏱", new))

    def _as_then(self, text: str) -> str:
        for now, then in self.here.items():
            text = text.replace(now, then)
        return text


def name_of(fields: dict[str, Any]) -> str:
    """A short name of a line: ``request 2``, ``event tool_result``, ``frame out event_intercept``."""
    match fields.get("type"):
        case "event" | "told":
            inner = fields.get("event")
            kind = cast("dict[str, Any]", inner).get("type", "?") if isinstance(inner, dict) else "?"
            return f"{fields['type']} {kind}"
        case "request" | "refusal":
            return f"{fields['type']} {fields.get('n')}"
        case "stream":
            return f"stream {fields.get('n')} {fields.get('kind')}"
        case "input":
            return f"input {fields.get('what')}"
        case "frame":
            frame = fields.get("frame")
            kind = cast("dict[str, Any]", frame).get("type", "?") if isinstance(frame, dict) else "not JSON"
            return f"frame {fields.get('direction')} {fields.get('extension')} {kind}"
        case "tool":
            return f"tool {fields.get('name')} {fields.get('id')}"
        case "progress" | "result" | "nature" | "answer":
            return f"{fields['type']} {fields.get('id')}"
        case "gone" | "exit":
            return f"{fields['type']} {fields.get('extension')}"
        case other:
            return str(other)


def preview(fields: dict[str, Any]) -> str:
    """The beginning of a line as text."""
    rest = {key: value for key, value in _body(fields).items() if key not in ("type", "messages", "model", "tools")}
    return f"{name_of(fields)} {_json(rest)}"


def excerpts(old: str, new: str) -> tuple[str, str]:
    """Both texts around the first difference.

    >>> excerpts("one two", "one too")
    ('"one two"', '"one too"')
    """
    place = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return _excerpt(old, place), _excerpt(new, place)


def _excerpt(text: str, place: int) -> str:
    start, end = max(0, place - _EXCERPT), place + 2 * _EXCERPT
    before, after = "…" if start else "", "…" if end < len(text) else ""
    return f"{before}{_json(text[start:end])}{after}"


def _body(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in _CLOCK}


def _without_only_decider(fields: dict[str, Any]) -> dict[str, Any]:
    """Details that only name who decided count as none."""
    details: Any = fields.get("details")
    if not isinstance(details, dict) or cast("dict[str, Any]", details).keys() != {DECIDED_BY}:
        return fields
    return {**fields, "details": None}


def _item(values: list[Any], place: int) -> str:
    return _json(values[place]) if place < len(values) else ""


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace")
