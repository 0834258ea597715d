"""Plain functions as tools, through a real prompt."""

from __future__ import annotations

import asyncio
import enum
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from tests.fakes.model_server import CallTools, FakeModelServer, Say
from tests.unit.system.living import gone_within
from zot.errors import UsageError
from zot.sdk import Options, Runtime, SyncRuntime, ToolContext, ToolError, ToolProgress, ToolResult, tool

Serve = Callable[..., FakeModelServer]
Embed = Callable[..., Runtime]


def forecast(city: str, days: Annotated[int, "how many"] = 1, unit: Literal["c", "f"] = "c") -> str:
    """The weather in a city.

    Not part of the description."""
    return f"{city}: sunny for {days} days in {unit}"


async def results(zot: Runtime) -> list[ToolResult]:
    return [event async for event in zot.prompt("go") if isinstance(event, ToolResult)]


def words(result: ToolResult) -> str:
    return result.content[0].text  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


async def test_a_function_is_a_tool_by_its_annotations_and_docstring(serve: Serve, embed: Embed) -> None:
    server = serve(CallTools([("forecast", {"city": "Oslo", "days": 3})]), Say("ok"))
    async with embed(server, tools=[forecast], allowed_tools=()) as zot:
        (result,) = await results(zot)
    assert words(result) == "Oslo: sunny for 3 days in c"
    (offered,) = server.requests[0].json["tools"]
    assert (offered["name"], offered["description"]) == ("forecast", "The weather in a city.")
    assert offered["input_schema"]["properties"]["days"] == {"type": "integer", "description": "how many", "default": 1}


async def test_custom_tools_are_offered_beside_builtin_tools(serve: Serve, embed: Embed) -> None:
    server = serve(Say("ok"), Say("ok"))
    async with embed(server, tools=[forecast]) as zot:
        await zot.ask("hi")
    async with embed(server, tools=[forecast], allowed_tools=["read"]) as zot:
        await zot.ask("hi")
    offered = [[each["name"] for each in request.json["tools"]] for request in server.requests]
    assert offered == [
        ["bash", "edit", "forecast", "glob", "grep", "more_tools", "read", "write"],
        ["forecast", "read"],
    ]


async def test_arguments_that_do_not_fit_are_an_error_the_model_reads(serve: Serve, embed: Embed) -> None:
    server = serve(CallTools([("forecast", {"days": "many"})]), Say("ok"))
    async with embed(server, tools=[forecast]) as zot:
        (result,) = await results(zot)
    assert result.is_error and words(result) == "bad arguments: missing: city"


async def test_function_exception_is_an_error_result(serve: Serve, embed: Embed) -> None:
    def fail() -> None:
        "Fails."
        raise ValueError("no luck")

    def refuse() -> None:
        "Refuses."
        raise ToolError("not today")

    server = serve(CallTools([("fail", {}), ("refuse", {})]), Say("ok"))
    async with embed(server, tools=[fail, refuse]) as zot:
        failed, refused = await results(zot)
    assert (words(failed), failed.is_error) == ("fail failed: ValueError: no luck", True)
    assert (words(refused), refused.is_error) == ("not today", True)


async def test_coroutine_runs_on_loop_and_function_in_thread(serve: Serve, embed: Embed) -> None:
    threads: dict[str, int] = {}

    async def on_loop() -> None:
        "Async."
        await asyncio.sleep(0)
        threads["loop"] = threading.get_ident()

    def in_thread() -> None:
        "Sync."
        threads["thread"] = threading.get_ident()

    server = serve(CallTools([("on_loop", {}), ("in_thread", {})]), Say("ok"))
    async with embed(server, tools=[on_loop, in_thread]) as zot:
        await zot.ask("go")
    assert threads["loop"] == threading.get_ident() != threads["thread"]


async def test_a_function_may_report_progress(serve: Serve, embed: Embed) -> None:
    async def count(upto: int, context: ToolContext) -> dict[str, int]:
        "Counts."
        for number in range(upto):
            context.progress(f"{number}\n")
        return {"counted": upto}

    server = serve(CallTools([("count", {"upto": 2})]), Say("ok"))
    async with embed(server, tools=[count]) as zot:
        events = [event async for event in zot.prompt("go")]
    assert [event.text for event in events if isinstance(event, ToolProgress)] == ["0\n", "1\n"]
    assert [words(event) for event in events if isinstance(event, ToolResult)] == ['{"counted":2}']


async def test_cancelling_ends_a_running_function(serve: Serve, embed: Embed) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def forever() -> None:
        "Never ends."
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    server = serve(CallTools([("forever", {})]), Say("ok"))
    async with embed(server, tools=[forever]) as zot, asyncio.TaskGroup() as group:
        work = group.create_task(results(zot))
        await started.wait()
        await zot.cancel()
        assert ended.is_set()
        assert (await work)[0].is_error


def test_custom_schema_replaces_the_annotations() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}

    @tool(name="look_up", schema=schema, description="Looks up.", read_only=True)
    def search(**anything: Any) -> str:
        return str(anything)

    assert (search.name, search.schema, search.read_only, search(q="x")) == ("look_up", schema, True, "{'q': 'x'}")


def test_invalid_tool_is_rejected_by_name() -> None:
    def silent(x: int) -> None: ...

    def odd(x: complex) -> None:
        "Odd."

    with pytest.raises(UsageError, match="silent requires a docstring"):
        Runtime(tools=[silent])
    with pytest.raises(UsageError, match="no JSON Schema"):
        Runtime(tools=[odd])
    with pytest.raises(UsageError, match="allowed_tools"):
        Runtime(tools=["read"])  # pyright: ignore[reportArgumentType]  the mistake itself


@pytest.mark.parametrize("sync", [False, True])
async def test_background_command_ends_with_its_own_runtime(
    serve: Serve, options: Callable[..., Options], tmp_path: Path, sync: bool
) -> None:
    left = CallTools([("bash", {"command": "sleep 300 & echo $! > pid"})])
    (tmp_path / "other").mkdir()
    async with Runtime(**options(serve(left, Say("ok")), cwd=tmp_path / "other")) as other:
        await other.ask("go")
        if sync:
            await asyncio.to_thread(ask_sync, options(serve(left, Say("ok"))))
        else:
            async with Runtime(**options(serve(left, Say("ok")))) as zot:
                await zot.ask("go")
        mine, others = (int((tmp_path / name / "pid").read_text()) for name in ("project", "other"))
        assert gone_within(mine, 1) and not gone_within(others, 0)
    assert gone_within(others, 1)


def ask_sync(options: Options) -> None:
    with SyncRuntime(**options) as zot:
        zot.ask("go")


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Point:
    x: int
    y: int = 0
    names: list[str] = field(default_factory=lambda: [])


class Choice(TypedDict):
    size: Size
    note: NotRequired[str]


async def test_nested_arguments_have_the_annotated_types(serve: Serve, embed: Embed) -> None:
    got: list[Any] = []

    def order(size: Size, at: Point, choice: Choice, day: date, file: Path, when: datetime | None = None) -> str:
        "Orders something."
        got.append((size, at, choice, day, file, when))
        return "ordered"

    args = {"size": "l", "at": {"x": 1, "names": ["n"]}, "choice": {"size": "s"}, "day": "2026-11-15", "file": "a/b"}
    wrong = {**args, "size": "xl"}
    server = serve(CallTools([("order", {**args, "when": "2026-11-15T10:00:00Z"}), ("order", wrong)]), Say("ok"))
    async with embed(server, tools=[order], allowed_tools=()) as zot:
        first, second = await results(zot)
    expected = (Size.LARGE, Point(1, 0, ["n"]), {"size": Size.SMALL}, date(2026, 11, 15), Path("a/b"))
    assert got == [(*expected, datetime(2026, 11, 15, 10, tzinfo=UTC))] and words(first) == "ordered"
    assert second.is_error and "size: expected one of 's', 'l'" in words(second)
    properties = server.requests[0].json["tools"][0]["input_schema"]["properties"]
    assert properties["size"] == {"type": "string", "enum": ["s", "l"]}
    assert properties["at"]["required"] == ["x"] and properties["choice"]["required"] == ["size"]
    assert (properties["day"]["format"], properties["file"]["format"]) == ("date", "path")


def read() -> str:
    "Not zot's."
    return ""


@pytest.mark.parametrize(
    ("mine", "told"),
    [
        ([forecast, forecast], '"forecast" is already one of your tools'),
        ([read], '"read" is already a built'),
    ],
)
async def test_no_tool_takes_the_name_of_another(serve: Serve, embed: Embed, mine: list[Any], told: str) -> None:
    server = serve(Say("ok"))
    with pytest.raises(UsageError, match=told):
        async with embed(server, tools=mine):
            raise AssertionError("it began")
    async with embed(server, tools=[forecast, read], allowed_tools=["bash"]) as zot:
        await zot.ask("hi")
