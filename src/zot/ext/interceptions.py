"""Interceptions by name: ``@ext.intercept("input")``. The handler gets what is about to happen and may change it,
block it or do it itself."""

from __future__ import annotations

from zot.ext import frames
from zot.ext.record import Record

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from zot.ext.context import Context

# What ``replace(x)`` changes, by event.
_MAIN = {
    "input": "text",
    "user_shell": "command",
    "prompt_start": "system_append",
    "provider_payload": "payload",
    "tool_result": "content",
    "session_before": "carry",
    "compaction": "summary",
    "prompt_end": "continue",
}
_CLASSIC = {"tool_call": "modified_args", "assistant_message": "replace_text", "before_agent_start": "system_prompt"}
_LISTS = ("drop", "edit", "insert", "messages")


class Verdict(Record):
    """What should happen; made by the methods of ``Interception``. Without keys it allows and changes nothing."""

    block: bool = False
    reason: str = ""
    modified_args: Any = None
    replace_text: str = ""
    system_prompt: str | None = None
    value: Any = None
    handled: bool = False
    ask: bool = False


class Interception:
    """What is about to happen: the keys of ``data`` and of the frame are attributes (``event.text``)."""

    def __init__(self, asked: frames.EventIntercept, context: Context) -> None:
        self.ctx = context
        self.name = asked.event
        self.frame = asked
        self.data: dict[str, Any] = asked.data or {}

    def __getattr__(self, key: str) -> Any:
        if key in self.data:
            return self.data[key]
        if key == "args":
            return self.frame.tool_args or {}
        if key in frames.EventIntercept.wire_keys:
            return getattr(self.frame, key)
        raise AttributeError(f"{self.name} has no {key!r}")

    def get(self, key: str, default: Any = None) -> Any:
        """A key that may be absent."""
        return getattr(self, key, default)

    def block(self, reason: str = "") -> Verdict:
        """It does not happen."""
        return Verdict(block=True, reason=reason)

    def replace(self, main: Any = None, **value: Any) -> Verdict:
        """Use this instead: the main thing of the event (its text, arguments, content), or keys of the protocol."""
        if main is not None and self.name in _CLASSIC:
            return Verdict(**{_CLASSIC[self.name]: main})
        if main is not None:
            value = {_MAIN[self.name]: main, **value}
        return Verdict(value=_as_sent(value))

    def handled(self, main: Any = None, **value: Any) -> Verdict:
        """This extension did it: the thing itself does not happen. For ``user_shell`` the output, for ``tool_call``
        the content."""
        if main is not None:
            value = {"output" if self.name == "user_shell" else "content": main, **value}
        return Verdict(handled=True, value=_as_sent(value) if value else None)

    def ask(self, reason: str = "") -> Verdict:
        """A user must agree to this tool call, whatever the permission mode."""
        return Verdict(ask=True, reason=reason)


def verdict_of(value: Any, event: Interception) -> Record:
    """What a handler returned; a text or other main value replaces."""
    match value:
        case None | True:
            return Verdict()
        case False:
            return event.block()
        case Record():
            return value
        case str() | list() | dict():
            return event.replace(value)
        case _:
            raise TypeError(f"{event.name}: expected a verdict, a replacement or None, got {type(value).__name__}")


def joined(before: Mapping[str, Any] | None, value: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of two handlers."""
    made = {**(before or {}), **value}
    for key in _LISTS:
        if before and key in before and key in value:
            made[key] = [*before[key], *value[key]]
    return made


def seen_next(data: Mapping[str, Any] | None, value: Mapping[str, Any]) -> dict[str, Any]:
    """The ``data`` that the next handler sees."""
    known = data or {}
    return {**known, **{key: given for key, given in value.items() if key in known and key not in _LISTS}}


def _as_sent(value: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: given for key, given in value.items() if given is not None}
    if isinstance(content := made.get("content"), str):
        made["content"] = [{"type": "text", "text": content}]
    return made
