"""The built-in skill about extensions: it is complete, and its examples run unchanged."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.unit.features.skills.example_files import blocks, example_files, skill_text, write_examples
from zot.errors import BadFrame
from zot.wire import limits
from zot.wire.extension_codec import decode_child, decode_host, encode
from zot.wire.extension_frames import Frame

NAME = "write-zot-extension"
TEXT = " ".join(skill_text(NAME).split())

# Every point of the skill's specification, each with words that cannot be there by accident.
FRAMES_AT_START = ("hello", "hello_ack", "register_command", "register_tool", "subscribe", "ready")
FRAMES_IN_USE = (
    "command_invoked command_response tool_call tool_result tool_cancel event event_intercept "
    "event_intercept_response notify clear_notes panel_key panel_render panel_close open_panel submit call_tool "
    "shutdown shutdown_ack"
)
VERBS = ("new", "check", "trace", "install", "list", "enable", "disable", "remove", "trust")
POINTS: dict[str, list[str]] = {
    "1 what it is and when": [
        "Use this when the user wants",
        "one external process",
        "in any language",
        "isolated",
    ],
    "2 three powers": ["three powers", "**Slash commands**", "**Tools**", "**Hooks**", "*observe*", "*intercept*"],
    "3 layout and manifest": [
        "`$ZOT_HOME/extensions/<dir>/`",
        "`<project>/.zot/extensions/<dir>/`",
        "**trusted**",
        *[f"| `{field}` |" for field in ("name", "exec", "args", "enabled", "guard", "skills")],
        "`version`, `language`, `description`",
        "an absolute path is used as it is",
        "lie beside the manifest",
        "is searched in `PATH`, and never in the extension's directory",
    ],
    "4 handshake and registration": [
        *[f'{{"type":"{kind}"' for kind in FRAMES_AT_START],
        "**Without `ready`**",
        "about 250 ms",
        "never waits longer than 3 s",
        "a built-in tool that is active in this run",
    ],
    "5 frames both ways": [*[f'{{"type":"{kind}"' for kind in FRAMES_IN_USE.split()], "Notes live **once**"],
    "6 command actions": [
        *[f"| `{action}`" for action in ("prompt", "insert", "display", "open_panel", "noop")],
        "A non-empty `error`",
    ],
    "7 content blocks": [
        '{"type":"text","text":"…"}',
        '{"type":"image","mime_type":"image/png"',
        '"is_error":true',
    ],
    "8 timeouts": [
        "**60 seconds** (`extension_tool_timeout_s`",
        "**30 seconds**",
        "**5 seconds**",
        "the action is **allowed**",
        "the action is **blocked**",
    ],
    "9 rules": [
        "**stdout is for frames only.**",
        "Logs go to stderr",
        "**One JSON object per line**",
        "**Flush after each frame.**",
        "**An extension has the user's rights.**",
        "**Credentials are not inherited**",
        "env_passthrough",
        "8 MiB",
    ],
    "10 examples": ["### Python (the default)", "### TypeScript", "### Go", "### Shell"],
    "11 working on one": [
        "`zot --ext PATH`",
        "`/reload-ext`",
        *[f"`zot ext {verb}" for verb in VERBS],
        "`zot ext logs NAME`, with `-f`",
    ],
    "12 debugging by hand": ["## Debugging by hand", "through a pipe"],
    "13 the process": [
        "Ask in one sentence",
        "Pick the power",
        "Pick the language",
        "Write the manifest and the source",
        "make it executable",
        "try it with `zot --ext PATH`",
        "When they are content, install it",
    ],
    "14 no framework": ["Do not build an SDK, a class hierarchy or a framework over the protocol unless the user"],
}

COMMANDS = {
    "hello-python": ["python3", "main.py"],
    "hello-shell": ["sh", "main.sh"],
    "hello-typescript": ["node", "index.ts"],
    "hello-go": ["go", "run", "."],
}


class Host:
    """The host's side of the pipe: frames as zot writes them, one line each."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self._in, self._out = process, process.stdin, process.stdout

    def send(self, **frame: Any) -> None:
        self._in.write(msgspec.json.encode(frame) + b"\n")
        self._in.flush()

    def receive(self) -> dict[str, Any]:
        return msgspec.json.decode(self._out.readline(), type=dict[str, Any])

    def until(self, kind: str) -> list[dict[str, Any]]:
        frames = [self.receive()]
        while frames[-1]["type"] != kind:
            frames.append(self.receive())
        return frames

    def shake_hands(self) -> list[dict[str, Any]]:
        frames = [self.receive()]
        self.send(
            type="hello_ack",
            protocol_version=1,
            zot_version="0.0.0",
            provider="none",
            model="none",
            cwd="/",
            extension_dir="/",
            data_dir="/",
        )
        return frames + self.until("ready")

    def shut_down(self) -> int:
        self.send(type="shutdown")
        assert self.receive() == {"type": "shutdown_ack"}
        return self.process.wait(10)


@contextmanager
def running(directory: Path) -> Generator[Host]:
    """Starts the example with its manifest's command."""
    manifest = msgspec.json.decode((directory / "extension.json").read_bytes(), type=dict[str, Any])
    command: list[str] = [manifest["exec"], *manifest["args"]]
    if not any(os.access(f"{place}/{command[0]}", os.X_OK) for place in os.environ["PATH"].split(os.pathsep)):
        pytest.skip(f"{command[0]} is not installed")
    with subprocess.Popen(command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Host(process)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("examples")
    write_examples(NAME, path)
    return path


@pytest.mark.parametrize("point", POINTS)
def test_skill_covers_the_point(point: str) -> None:
    """iface-313: the skill's text covers each required point."""
    assert [words for words in POINTS[point] if words not in TEXT] == []


def test_numbers_equal_protocol() -> None:
    """iface-313: the limits it quotes are the constants of the code."""
    mib = 1024 * 1024
    restarts = [f"{delay:g}" for delay in limits.RESTART_DELAYS]
    for words in (
        f"{', '.join(restarts[:-1])} and {restarts[-1]} seconds",
        f"{limits.RESTART_RESET:g} seconds of life",
        f"about {limits.IDLE_READY * 1000:g} ms",
        f"| {limits.READY_GRACE:g} s; {limits.READY_GRACE_EXPLICIT:g} s for one given with `--ext`",
        f"| `hello` after the start | {limits.HELLO_DEADLINE:g} s |",
        f"| command | {limits.COMMAND_REPLY:g} s |",
        f"| tool | {limits.TOOL_REPLY:g} s,",
        f"| interception | {limits.INTERCEPT_REPLY:g} s for each extension",
        f"| `system_prompt` of an answer | {limits.MAX_SYSTEM_PROMPT // mib} MiB |",
        f"| `call_tool` | {limits.CALL_TOOL_REPLY:g} s, a result of {limits.CALL_TOOL_RESULT // 1024} KiB, "
        f"{limits.CALL_TOOL_CHAIN} tools in a chain |",
        f"| shutdown | {limits.SHUTDOWN_TOTAL:g} s in all, then SIGTERM, {limits.TERMINATE_GRACE:g} s later SIGKILL |",
        f"| line from an extension | {limits.MAX_LINE // mib} MiB |",
        f"| {limits.QUEUE_FRAMES} or {limits.QUEUE_BYTES // mib} MiB, then it is disconnected |",
    ):
        assert words in TEXT


def test_every_json_example_parses_line_by_line_or_as_a_whole() -> None:
    """iface-313: every JSON example in it parses."""
    for block in blocks(NAME, "json"):
        whole = block.startswith("{\n") or "\n" not in block.strip()
        for text in [block] if whole else block.splitlines():
            msgspec.json.decode(text, type=dict[str, Any])


def test_host_frames_are_shown_in_wire_format() -> None:
    """iface-313: compact, type first, id second"""
    for line in "".join(blocks(NAME, "json")).splitlines():
        if not line.startswith('{"type"'):
            continue
        frame = msgspec.json.decode(line, type=dict[str, Any])
        assert msgspec.json.encode(frame).decode() == line
        assert "id" not in frame or list(frame)[1] == "id"


def test_every_frame_it_shows_is_one_the_protocol_knows() -> None:
    """iface-313: the examples against the frames zot itself speaks"""
    lines = "".join(blocks(NAME, "json")).splitlines()
    for line in (line.encode() for line in lines if line.startswith('{"type"')):
        frames = [frame for frame in (decoded(decode_child, line), decoded(decode_host, line)) if frame is not None]
        assert frames, line
        assert any(encode(frame) == line + b"\n" for frame in frames) or b'"is_error":false' in line, line


def decoded(decode: Callable[[bytes], Frame], line: bytes) -> Frame | None:
    try:
        return decode(line)
    except BadFrame:
        return None


@pytest.mark.parametrize("name", [*COMMANDS, "protect-env"])
def test_example_manifest_has_its_own_name(name: str) -> None:
    """iface-313: every example has a manifest that carries its own name and starts it with the right command."""
    manifest = msgspec.json.decode(example_files(NAME)[f"{name}/extension.json"], type=dict[str, Any])
    assert manifest["name"] == name
    assert COMMANDS.get(name, ["python3", "main.py"]) == [manifest["exec"], *manifest["args"]]


@pytest.mark.parametrize("name", ["hello-python", "hello-shell", "hello-typescript", "hello-go"])
def test_the_example_shakes_hands_answers_its_command_and_leaves(examples: Path, name: str) -> None:
    """iface-313: every example runs unchanged: it sends hello, answers its command and exits."""
    with running(examples / name) as host:
        frames = host.shake_hands()
        assert (frames[0]["type"], frames[0]["name"]) == ("hello", name)
        command = next(frame for frame in frames if frame["type"] == "register_command")
        host.send(type="command_invoked", id="c1", name=command["name"])
        response = host.receive()
        assert (response["type"], response["id"]) == ("command_response", "c1")
        assert response[response["action"]]
        assert host.shut_down() == 0


@pytest.mark.parametrize("name", ["hello-python", "hello-typescript", "hello-go"])
def test_the_examples_tool_answers_and_reports_bad_arguments(examples: Path, name: str) -> None:
    """iface-313: the tool of an example answers a good call and reports bad arguments as an error."""
    with running(examples / name) as host:
        tool = next(frame for frame in host.shake_hands() if frame["type"] == "register_tool")
        host.send(type="tool_call", id="t1", name=tool["name"], args={"text": "größer"})
        host.send(type="tool_call", id="t2", name=tool["name"], args={})
        good, bad = host.receive(), host.receive()
        assert (good["id"], good["is_error"], good["content"][0]["type"]) == ("t1", False, "text")
        assert (bad["id"], bad["is_error"]) == ("t2", True)


def test_an_unknown_frame_does_not_disturb_the_examples(examples: Path) -> None:
    for name in ("hello-python", "hello-shell", "protect-env"):
        with running(examples / name) as host:
            host.shake_hands()
            host.send(type="something_new", id="x", args={"a": [1, 2]})
            assert host.shut_down() == 0


def test_the_examples_leave_when_their_input_ends(examples: Path) -> None:
    for name in ("hello-python", "hello-shell", "protect-env"):
        with running(examples / name) as host:
            host.shake_hands()
            assert host.process.stdin is not None
            host.process.stdin.close()
            assert host.process.wait(10) == 0


@pytest.mark.parametrize(
    ("tool", "args", "blocked"),
    [
        ("write", {"path": "a/.env", "content": "x"}, True),
        ("edit", {"path": ".env.local"}, True),
        ("write", {"path": "a/env.py", "content": "x"}, False),
        ("read", {"path": ".env"}, False),
        ("bash", {"command": "cat .env"}, True),
        ("bash", {"command": "ls"}, False),
        ("bash", {}, True),
        ("write", {}, True),
        ("write", {"path": 7}, True),
    ],
)
def test_example_guard_blocks_dangerous_and_unparsable_calls(
    examples: Path, tool: str, args: dict[str, Any], blocked: bool
) -> None:
    """iface-313: the example guard blocks dangerous and unparsable calls."""
    with running(examples / "protect-env") as host:
        frames = host.shake_hands()
        assert "guard" in frames[0]["capabilities"] and frames[1]["intercept"] == ["tool_call"]
        host.send(type="event_intercept", id="i1", event="tool_call", tool_id="x", tool_name=tool, tool_args=args)
        answer = host.receive()
        assert (answer["id"], answer.get("block", False), bool(answer.get("reason"))) == ("i1", blocked, blocked)


def test_debugging_recipe_prints_documented_output(examples: Path) -> None:
    """iface-313: the debugging recipe, run unchanged, prints the documented output."""
    recipe = re.search(
        r"<!-- run in: (\S+) -->\n```sh\n(.*?)```.*?<!-- prints -->\n```json\n(.*?)```", skill_text(NAME), re.S
    )
    assert recipe is not None
    run = subprocess.run(["sh", "-c", recipe[2]], cwd=examples / recipe[1], capture_output=True, text=True, check=True)
    assert run.stdout == recipe[3]


def test_the_python_examples_import_only_the_standard_library() -> None:
    sources = [text for path, text in example_files(NAME).items() if path.endswith(".py")]
    modules = {match[1] for text in sources for match in re.finditer(r"^(?:import|from) (\w+)", text, re.MULTILINE)}
    assert modules == {"json", "sys", "pathlib"}


def test_skill_names_no_directory_of_this_machine() -> None:
    assert os.getcwd() not in TEXT
