"""Results of handlers: Response, ToolResult, decisions, or a plain value converted to one.
A decision without arguments allows and changes nothing; an unusable value is a TypeError."""

from __future__ import annotations

from zot.ext import frames
from zot.ext.frames import Content as ToolContent
from zot.ext.frames import Panel
from zot.ext.record import Record, dumps, loads

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from zot.ext.context import Context


class Response:
    """The answer to a slash command; created by one of the methods below."""

    def __init__(self, **keys: Any) -> None:
        self.keys = keys

    @classmethod
    def prompt(cls, text: str) -> Response:
        """Submit the text as a user message and run the agent."""
        return cls(action="prompt", prompt=text)

    @classmethod
    def insert(cls, text: str) -> Response:
        """Put the text into the editor, at the cursor."""
        return cls(action="insert", insert=text)

    @classmethod
    def display(cls, text: str) -> Response:
        """Show the text once; the model does not see it."""
        return cls(action="display", display=text)

    @classmethod
    def open_panel(cls, id: str, title: str = "", lines: Sequence[str] = (), footer: str = "", **more: Any) -> Response:
        """Open a panel; its keys are sent to the handler of ``Extension.on_panel_key``. ``rows``, ``place``, ``cursor``
        and ``keys`` are of the second edition."""
        return cls(action="open_panel", open_panel=Panel(id=id, title=title, lines=lines, footer=footer, **more))

    @classmethod
    def tool_prompt(cls, prompt: str, tool: str, args: Mapping[str, Any]) -> Response:
        """Run a tool, then a turn that sees its result."""
        return cls(action="tool_prompt", prompt=prompt, tool_name=tool, tool_args=dict(args))

    @classmethod
    def noop(cls) -> Response:
        """Nothing more to do."""
        return cls(action="noop")

    @classmethod
    def error(cls, text: str) -> Response:
        """Show an error."""
        return cls(action="noop", error=text)


class ToolResult(Record):
    """The answer to a tool call: ``content`` for the model, ``structured_content`` for programs."""

    content: Sequence[ToolContent] = ()
    is_error: bool = False
    activate_tools: Sequence[str] = ()
    structured_content: Any = None
    view: Mapping[str, Any] | None = None
    details: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    end_turn: bool = False


def text(words: str) -> ToolContent:
    """A block of text."""
    return ToolContent(type="text", text=words)


def image(mime_type: str, data: str) -> ToolContent:
    """A block with an image; the data is already base64."""
    return ToolContent(type="image", mime_type=mime_type, data=data)


def image_bytes(mime_type: str, data: bytes) -> ToolContent:
    """A block with an image."""
    from binascii import b2a_base64  # few extensions send images

    return image(mime_type, b2a_base64(data, newline=False).decode())


def text_result(words: str) -> ToolResult:
    """A result of one block of text."""
    return ToolResult(content=[text(words)])


def error_result(words: str) -> ToolResult:
    """A failure; the model reads the text."""
    return ToolResult(content=[text(words)], is_error=True)


def markdown_result(words: str) -> ToolResult:
    """A result of one block that screens render as Markdown."""
    return ToolResult(content=[ToolContent(type="text", text=words, format="markdown")])


class ToolCallDecision(Record):
    """May this tool run, and with which arguments?"""

    block: bool = False
    reason: str = ""
    modified_args: Mapping[str, Any] | None = None


class TurnStartDecision(Record):
    """May the model be called?"""

    block: bool = False
    reason: str = ""


class AssistantMessageDecision(Record):
    """May the user see this message, and with which text?"""

    block: bool = False
    reason: str = ""
    replace_text: str = ""


# Converts return values of handlers.


def settle(value: Any) -> Any:
    """The result of an ``async def`` handler, or the value itself."""
    if hasattr(value, "__await__"):
        import asyncio

        async def wait() -> Any:
            return await value

        return asyncio.run(wait())
    return value


def response_of(value: Any) -> Response:
    match value:
        case Response():
            return value
        case None:
            return Response.noop()
        case str():
            return Response.display(value)
        case _:
            raise TypeError(f"a command returns a Response, a string or None, not {type(value).__name__}")


def result_of(value: Any) -> ToolResult:
    match value:
        case ToolResult():
            return value
        case None:
            return ToolResult()
        case str():
            return text_result(value)
        case ToolContent():
            return ToolResult(content=[value])
        case [ToolContent(), *_]:
            return ToolResult(content=value)
        case _:
            return ToolResult(content=[text(dumps(value))], structured_content=value)


def tool_frame(id: str, result: ToolResult) -> Record:
    return frames.ToolResult(id=id, **vars(result))


def reconciled(value: Any) -> ToolResult:
    return value if isinstance(value, ToolResult) else ToolResult(structured_content={"state": str(value)})


def tool_call_decision(value: Any) -> Record:
    if isinstance(value, tuple):
        allowed, reason = value  # pyright: ignore[reportUnknownVariableType]  (allowed, reason), as documented
        return ToolCallDecision(block=not allowed, reason=str(reason))  # pyright: ignore[reportUnknownArgumentType]
    return decision_of(value, ToolCallDecision)


def decision_of(value: Any, kind: type[Record]) -> Record:
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise TypeError(f"expected a {kind.__name__} or None, got {type(value).__name__}")
    return value


def system_prompt_of(value: Any) -> Record:
    if not isinstance(value, str | None):
        raise TypeError(f"expected a string or None, got {type(value).__name__}")
    return frames.EventInterceptResponse(id="", system_prompt=value)


REWRITES = {"modified_args": "tool_args", "replace_text": "text", "system_prompt": "system_prompt"}


def answer_of(
    asked: frames.EventIntercept,
    context: Context,
    handlers: Sequence[Callable[[frames.EventIntercept, Context], Record]],
) -> frames.EventInterceptResponse:
    """Call the handlers in order: each sees the rewrites of the previous ones, and the first denial wins."""
    answer: dict[str, Any] = {"id": asked.id}
    for ask in handlers:
        copy = frames.EventIntercept.read(loads(asked.encode()))  # handlers must not see each other's changes
        fields = {key: value for key, value in vars(ask(copy, context)).items() if value is not None}
        # an empty text changes nothing, except for the system prompt, which it removes
        given: dict[str, Any] = {key: value for key, value in fields.items() if value != "" or key == "system_prompt"}
        if given.get("block"):
            return frames.EventInterceptResponse(id=asked.id, block=True, reason=given.get("reason", ""))
        rewritten: dict[str, Any] = {REWRITES[key]: value for key, value in given.items() if key in REWRITES}
        if "value" in given:
            from zot.ext.interceptions import joined, seen_next  # only events of the second edition have one

            value: Any = given["value"]
            rewritten["data"] = seen_next(asked.data, value)
            given["value"] = joined(answer.get("value"), value)
        answer.update(given)
        if given.get("handled"):
            break
        asked = frames.EventIntercept.read({**vars(asked), **rewritten})
    return frames.EventInterceptResponse.read(answer)
