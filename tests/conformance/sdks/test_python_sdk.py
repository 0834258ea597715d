"""The Python SDK against the suite, and Python-only features: typed arguments, ``async def``, a quick start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import msgspec
import pytest

import zot.ext
from generate.extension.shapes import child_frames
from tests.conformance.sdks.pipe_host import PipeHost
from tests.conformance.sdks.second_suite import SecondSuite
from tests.conformance.sdks.suite import SdkSuite
from zot.ext import Extension, ToolContext, record
from zot.ext import frames as ext_frames
from zot.ext.typed_tools import BadArguments, Parameters, description_of
from zot.wire import extension_codec, extension_frames

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
GOLDEN = (ROOT / "docs/schema/golden-frames.jsonl").read_text(encoding="utf-8").split("\n")[:-1]


class TestPythonSdk(SdkSuite):
    second_edition = ("edition2",)

    @pytest.fixture
    def everything(self) -> tuple[list[str], Path]:
        return [sys.executable, str(HERE / "everything.py")], HERE

    @pytest.fixture
    def starter(self) -> tuple[list[str], Path]:
        return [sys.executable, "weather.py"], ROOT / "sdks/python/example"


class TestSecondEdition(SecondSuite):
    @pytest.fixture
    def second(self) -> tuple[list[str], Path]:
        return [sys.executable, str(HERE / "second.py")], HERE


def golden(to: str) -> list[bytes]:
    start = f'{{"to":"{to}","frame":'
    return [line.removeprefix(start)[:-1].encode() for line in GOLDEN if line.startswith(start)]


@pytest.mark.parametrize("line", golden("host"))
def test_golden_frames_to_the_host_are_written_byte_for_byte(line: bytes) -> None:
    names = {shape.type: shape.name for shape in child_frames()}
    fields = msgspec.json.decode(line)
    kind: type[Any] = getattr(ext_frames, names[fields["type"]])
    untidy = dict(reversed([*dict.fromkeys(kind.wire_keys).items(), *fields.items()]))
    assert kind.read(untidy | fields).encode() == line + b"\n"


@pytest.mark.parametrize("line", golden("child"))
def test_golden_frames_from_the_host_are_read_whole(line: bytes) -> None:
    fields = msgspec.json.decode(line)
    read = ext_frames.FROM_HOST[fields["type"]].read(fields)
    assert {"type": read.frame_type} | {key: _plain(getattr(read, key)) for key in fields if key != "type"} == fields


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {k: _plain(v) for k, v in vars(value).items()} if hasattr(value, "frame_type") else value


def test_quick_json_equals_standard_json() -> None:
    """The SDK uses only the C half of ``json``; encoding, decoding and errors must be equal."""
    (dumps, loads), (all_dumps, all_loads) = record._c_half(), record._whole()
    assert record.dumps.__qualname__ == dumps.__qualname__
    text = 'ü\u2028\ud800"\\\n\0'
    for value in (text, 1, -1.5, 1e300, 2**70, True, None, [], {}, ({"a": [{"b": (1,)}]},), {1: 2, None: 3}):
        assert dumps(value) == all_dumps(value)
    ring: list[Any] = []
    ring.append(ring)
    for value in (float("nan"), float("inf"), {1, 2}, {"a": b"x"}, {(1, 2): 3}, ring):
        assert refusal(dumps, value) == refusal(all_dumps, value) is not None
    for line in (b' {"a":[1,2.5,"\xc3\xbc\\ud83d\\ude00",null,true]}\r\n', b"NaN", b"-Infinity", b"\xef\xbb\xbf[1e5]"):
        assert repr(loads(line)) == repr(all_loads(line))
    for line in (b"", b"\n", b"x", b"{", b'{"a":}', b"{} {}", b'"\x01"', b'"\xff"', b"[1,]"):
        assert issubclass(refusal(loads, line) or int, ValueError) and issubclass(
            refusal(all_loads, line) or int, ValueError
        )


def refusal(call: Callable[[Any], Any], value: Any) -> type[Exception] | None:
    try:
        call(value)
    except Exception as error:
        return type(error)
    return None


def test_a_start_loads_neither_json_nor_re_nor_typing() -> None:
    """Each of them takes longer than the whole SDK, and every extension of a run pays for it."""
    script = "import sys; sys.path.insert(0, sys.argv[1]); import zot.ext; print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", script, str(ROOT / "src")]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & {"json", "re", "enum", "typing", "collections", "functools", "threading", "inspect"}


def test_the_names_an_author_meets_are_exported() -> None:
    """ext-146: the SDK exports every type an author meets under its specified name; default decisions
    change nothing.
    """
    for name in (
        *("ToolCallDecision", "TurnStartDecision", "AssistantMessageDecision", "ToolCallHandler", "TurnStartHandler"),
        *("AssistantMessageHandler", "InterceptHandler", "ToolHandler", "EventHandler"),
        *("Response", "ToolResult", "ToolContent"),
    ):
        assert name in zot.ext.__all__
        assert getattr(zot.ext, name)
    for decision in (zot.ext.ToolCallDecision(), zot.ext.TurnStartDecision(), zot.ext.AssistantMessageDecision()):
        assert decision.fields() == {}


def forecast(
    city: str,
    days: int = 1,
    unit: Literal["C", "F"] = "C",
    tags: list[str] | None = None,
    wind: Annotated[bool, "whether to tell the wind"] = False,
    factor: float = 1.0,
    extra: Optional[dict] = None,  # noqa: UP045  the older spelling is understood, too
    anything: Any = None,
    *,
    context: ToolContext,
) -> str:
    """The weather
    of tomorrow.

    Not part of the description.
    """
    return city


def test_a_schema_is_read_off_the_annotations() -> None:
    assert Parameters(forecast).schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "default": 1},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "wind": {"type": "boolean", "description": "whether to tell the wind", "default": False},
            "factor": {"type": "number", "default": 1.0},
            "extra": {"type": "object"},
            "anything": {},
        },
        "required": ["city"],
    }
    assert description_of(forecast) == "The weather of tomorrow."


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ({}, "missing: city"),
        ({"city": 3}, "city: expected string, got integer"),
        ({"city": "B", "days": "2"}, "days: expected integer, got string"),
        ({"city": "B", "days": True}, "days: expected integer, got boolean"),
        ({"city": "B", "days": None}, "days: expected integer, got null"),
        ({"city": "B", "unit": "K"}, "unit: expected one of 'C', 'F'"),
        ({"city": "B", "tags": ["a", 1]}, r"tags\[1\]: expected string, got integer"),
    ],
)
def test_arguments_that_do_not_fit_are_named(args: dict[str, Any], reason: str) -> None:
    context = _context()
    with pytest.raises(BadArguments, match=reason):
        Parameters(forecast).bind(args, context)


def test_arguments_that_fit_are_bound_and_unknown_ones_dropped() -> None:
    context = _context()
    bound = Parameters(forecast).bind({"city": "B", "days": 2.0, "tags": None, "factor": 2, "nobody": 1}, context)
    assert bound == {"city": "B", "days": 2, "tags": None, "factor": 2.0, "context": context}


def _context() -> ToolContext:
    return ToolContext("1", "x", "tool", None)  # type: ignore[arg-type]


def test_a_function_without_a_schema_is_refused_at_registration() -> None:
    def unknown(value: bytes) -> str:
        return ""

    def variadic(*values: str) -> str:
        return ""

    for function in (unknown, variadic):
        with pytest.raises(TypeError, match="give the tool a schema="):
            Extension("x").tool()(function)


def test_sdk_call_before_run_raises_a_clear_error() -> None:
    with pytest.raises(RuntimeError, match="not running yet"):
        Extension("x").notify("info", "y")


ODD = """
import asyncio, os, subprocess, sys
from zot.ext import Extension
print("printed before the run")
ext = Extension("odd")

@ext.tool()
async def patient(seconds: float = 0.0) -> str:
    await asyncio.sleep(seconds)
    return "waited"

@ext.tool()
def data() -> dict:
    return {"n": 1}

@ext.tool()
def unsayable() -> dict:
    return {"n": object()}

@ext.tool()
def leave() -> str:
    sys.exit(3)

@ext.tool()
def noisy() -> str:
    os.write(1, b"through the descriptor\\n")
    subprocess.run(["echo", "from a child process"])
    return subprocess.run(["cat"], capture_output=True, text=True).stdout + "."

@ext.on("turn_start")
def impatient(event) -> None:
    ext.call_tool("bash", {})

@ext.intercept_tool_call
def yes(tool, args):
    return {"allow": 1}.get(tool, "no such decision")
ext.run()
"""


@pytest.fixture
def odd(tmp_path: Path) -> Any:
    (tmp_path / "odd.py").write_text(ODD)
    with PipeHost([sys.executable, "odd.py"], tmp_path) as host:
        host.greet()
        yield host


@pytest.mark.parametrize(
    ("tool", "result"),
    [
        ("patient", b'"content":[{"type":"text","text":"waited"}]'),
        ("data", b'"content":[{"type":"text","text":"{\\"n\\":1}"}],"structured_content":{"n":1}'),
        ("unsayable", b'"is_error":true'),
        ("leave", b'"content":[{"type":"text","text":"odd/leave crashed: 3"}],"is_error":true'),
        ("noisy", b'"content":[{"type":"text","text":"."}]'),
    ],
)
def test_tool_call_gets_exactly_one_answer(odd: PipeHost, tool: str, result: bytes) -> None:
    """Also when it is async, returns data, cannot be encoded, exits, or writes to the descriptors of the wire."""
    odd.send(extension_frames.ToolCall(id="1", name=tool, args={}), extension_frames.Shutdown())
    answer, ack = odd.rest()
    assert answer.startswith(b'{"type":"tool_result","id":"1",')
    assert result in answer
    assert ack == extension_codec.encode(extension_frames.ShutdownAck())


def test_invalid_decision_blocks(odd: PipeHost) -> None:
    """ext-147: a wrong return value is a crash, and a crash is a no."""
    odd.send(extension_frames.EventIntercept(id="1", event="tool_call", tool_name="x"))
    assert odd.frame().block is True


def test_call_tool_in_event_handler_does_not_deadlock(odd: PipeHost) -> None:
    odd.send(extension_frames.Event(event="turn_start", step=1))
    assert odd.frame() == extension_frames.CallTool(id="call-1", name="bash", args={})
    odd.send(extension_frames.Shutdown())
    assert odd.rest() == [extension_codec.encode(extension_frames.ShutdownAck())]
    odd.exit_status()
    assert b"printed before the run" in odd.log


HEAVY = ("asyncio", "inspect", "typing", "dataclasses", "threading", "msgspec", "logging", "socket", "traceback")


def test_the_start_loads_nothing_heavy_and_stays_in_its_budget(tmp_path: Path) -> None:
    """A minimal extension up to the end of its run, against ``python -c pass``: at most three times as long."""
    script = tmp_path / "minimal.py"
    script.write_text(
        "from zot.ext import Extension\next = Extension('m')\next.command('m', 'does')(lambda args: None)\n"
        f"ext.run()\nimport sys\nsys.stderr.write(' '.join(m for m in {HEAVY!r} if m in sys.modules))\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path)  # with bytecode, as an installed zot has it
    ran = _run(environment, str(script))
    assert ran.stderr == b""
    ratios: list[float] = []
    while len(ratios) < 20 and (not ratios or min(ratios) > 3):
        started = time.perf_counter()
        _run(environment, str(script))
        between = time.perf_counter()
        _run(environment, "-c", "pass")
        ratios.append((between - started) / (time.perf_counter() - between))
    assert min(ratios) <= 3


def _run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, env=environment)


def test_a_name_is_given_once_and_the_error_names_both_places() -> None:
    """Commands that differ in case are one; a tool may have the name of a command."""
    ext = Extension("x")

    def first(args: str) -> None: ...

    def second(args: str) -> None: ...

    ext.command("same")(first)
    ext.tool("same")(first)
    ext.reconciler("same")(lambda args, context: "unknown")
    ext.on_panel_key("same")(lambda key, text: None)
    both = r"registered twice, by first \(test_python_sdk\.py:\d+\) and by second \(test_python_sdk\.py:\d+\)"
    for kind, again in (("command", ext.command("SAME")), ("tool", ext.tool("same"))):
        with pytest.raises(ValueError, match=rf'{kind} "same" is {both}'.replace('command "same"', 'command "SAME"')):
            again(second)
    with pytest.raises(ValueError, match='reconciler "same" is registered twice'):
        ext.reconciler("same")(lambda args, context: "unknown")
    with pytest.raises(ValueError, match='panel "same" are registered twice'):
        ext.on_panel_key("same")


REWRITERS = """
from zot.ext import AssistantMessageDecision, Extension, TurnStartDecision
ext = Extension("chain")
for word in ("a", "b"):
    ext.intercept_assistant_message(lambda text, word=word: AssistantMessageDecision(replace_text=text + word))
    ext.intercept_before_agent_start(lambda asked, word=word: asked.system_prompt + word)
    ext.intercept_turn_start(lambda step: TurnStartDecision(block=step > 1, reason="first of two"))
ext.intercept_assistant_message(lambda text: AssistantMessageDecision())
ext.intercept_before_agent_start(lambda asked: None)
ext.intercept_turn_start(lambda step: TurnStartDecision(block=True, reason="second"))
ext.run()
"""


def test_rewrites_of_every_event_go_from_one_handler_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(REWRITERS)
    with PipeHost([sys.executable, "main.py"], tmp_path) as host:
        host.greet()
        host.send(extension_frames.EventIntercept(id="1", event="assistant_message", text="hi "))
        assert host.frame() == extension_frames.EventInterceptResponse(id="1", replace_text="hi ab")
        host.send(extension_frames.EventIntercept(id="2", event="before_agent_start", system_prompt=""))
        assert host.frame() == extension_frames.EventInterceptResponse(id="2", system_prompt="ab")
        for step, reason in ((2, "first of two"), (1, "second")):
            host.send(extension_frames.EventIntercept(id="3", event="turn_start", step=step))
            assert host.frame() == extension_frames.EventInterceptResponse(id="3", block=True, reason=reason)
