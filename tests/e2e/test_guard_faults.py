"""Whatever becomes of a guard, and by whichever way a tool is called: nothing happens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.terminal import FakeTerminal

KINDS = {
    "crashes before it is ready": "hello(); os._exit(3)",
    "exits at once": "os._exit(0)",
    "crashes in the answer": "hello(); subscribe(intercept=['tool_call']); ready()\n"
    "serve(event_intercept=lambda frame: os._exit(3))",
    "is killed while it is asked": "hello(); subscribe(intercept=['tool_call']); ready()\n"
    "serve(event_intercept=lambda frame: os.kill(os.getpid(), 9))",
    "hangs": "hello(); subscribe(intercept=['tool_call']); ready()\n"
    "serve(event_intercept=lambda frame: time.sleep(60))",
    "floods": "hello(); subscribe(intercept=['tool_call']); ready()\n"
    "def flood(frame):\n    while True: sys.stdout.write('x' * 100_000)\nserve(event_intercept=flood)",
    "answers garbage": "hello(); subscribe(intercept=['tool_call']); ready()\n"
    "def garbage(frame):\n    sys.stdout.write('{nonsense\\n[1]\\n\"x\"\\n'); sys.stdout.flush(); os._exit(0)\n"
    "serve(event_intercept=garbage)",
}
# It calls a tool at once, before any guard can be there, and again when its command is run, which is answered then.
SLY = """
hello(); send(type="register_command", name="go"); ready()
commands = []
def call(id): send(type="call_tool", id=id, name="bash", args={"command": "touch by-call"})
def run(frame):
    commands.append(frame["id"])
    call("2")
def called(frame):
    if frame["id"] == "2":
        send(type="command_response", id=commands[0], action="tool_prompt", prompt="x", tool_name="bash",
             tool_args={"command": "touch by-prompt"})
call("1")
serve(command_invoked=run, tool_result=called)
"""
EMBEDDING = """
import sys
from zot.sdk import SyncRuntime
with SyncRuntime(provider="script", script=sys.argv[1], installed_extensions=True) as zot:
    list(zot.prompt("go"))
"""
CHILD = """
import asyncio, sys
from zot.agent.build import build
from zot.agent.config import RunConfig
async def main():
    async with build(RunConfig(provider="script", script=sys.argv[1], keep_session=False)) as conversation:
        await conversation.child().prompt("go")
asyncio.run(main())
"""
RPC = [
    {"type": "hello", "id": "1", "capabilities": ["commands"]},
    {"type": "run_command", "id": "2", "name": "go"},
    {"type": "prompt", "id": "3", "message": "go"},
]


ALLOWS = "hello(); subscribe(intercept=['tool_call']); ready()\nserve(event_intercept=lambda frame: answer(frame))"


@pytest.mark.parametrize("kind", KINDS)
def test_failing_guard_denies_everything(zot: Zot, tmp_path: Path, kind: str) -> None:
    """By the model's call in every mode, by a program that embeds zot, by a child conversation, by an extension's own
    call, by its command."""
    assert done_with(zot, tmp_path, KINDS[kind]) == {"print": [], "json": [], "rpc": [], "sdk": [], "child": []}


def test_allowing_guard_permits_everything(zot: Zot, tmp_path: Path) -> None:
    done = done_with(zot, tmp_path, ALLOWS)
    assert all("by-model" in names for names in done.values()), done
    assert {"by-call", "by-prompt"} <= set(done["rpc"]), done


@pytest.mark.parametrize("kind", KINDS)
def test_failing_guard_denies_everything_in_terminal(zot: Zot, tmp_path: Path, kind: str) -> None:
    """Covers the model's call, an extension's call and command, and the side chat of `/btw`. Guards do not apply to
    commands the user types after an exclamation mark.
    """
    assert done_in_the_terminal(zot, tmp_path, KINDS[kind]) == ["by-hand"]


def test_allowing_guard_permits_everything_in_terminal(zot: Zot, tmp_path: Path) -> None:
    """A side chat has no tools, whatever the guard allows."""
    assert done_in_the_terminal(zot, tmp_path, ALLOWS) == ["by-call", "by-hand", "by-model", "by-prompt"]


def done_in_the_terminal(zot: Zot, tmp_path: Path, guard: str) -> list[str]:
    """One after the other in the terminal."""
    turns = [calling("by-model"), {"text": "answered the prompt"}, {"text": "answered the command"}]
    turns += [calling("by-side-chat"), {"text": "answered on the side"}]
    argv = zot.argv(prepared(zot, tmp_path, guard, turns))
    with FakeTerminal(argv, cwd=zot.project, env=zot.env(), columns=160, rows=40) as terminal:
        terminal.wait_for("▌")
        terminal.wait_gone("starting…")
        terminal.submit("!touch by-hand; echo typed $((40 + 2))")
        terminal.wait_for("typed 42")
        for typed, answer in (("go", "the prompt"), ("/go", "the command"), ("/btw and this?", "on the side")):
            terminal.submit(typed)
            terminal.wait_for(f"answered {answer}", timeout=60)
    return sorted(path.name for path in zot.project.iterdir())


def calling(name: str) -> dict[str, object]:
    return {"tool_calls": [{"name": "bash", "args": {"command": f"touch {name}"}}]}


def prepared(zot: Zot, tmp_path: Path, guard: str, turns: list[dict[str, object]]) -> list[str]:
    """The guard, an extension that tries things, and a model that does; its flags."""
    extensions = zot.home / "zot" / "extensions"
    write_extension(extensions, "g", guard, guard=True)
    write_extension(extensions, "sly", SLY)
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": turns}))
    return ["--provider", "script", "--script", str(script), "--no-session"]


def done_with(zot: Zot, tmp_path: Path, guard: str) -> dict[str, list[str]]:
    """Side effects by each way, run concurrently in separate projects."""
    model = prepared(zot, tmp_path, guard, [calling("by-model"), {"text": "done"}])
    script = model[3]
    ways = {
        "print": (zot.argv(["-p", *model, "go"]), ""),
        "json": (zot.argv(["--json", *model, "go"]), ""),
        "rpc": (zot.argv(["rpc", *model]), "".join(json.dumps(frame) + "\n" for frame in RPC)),
        "sdk": ([sys.executable, "-c", EMBEDDING, script], ""),
        "child": ([sys.executable, "-c", CHILD, script], ""),
    }
    running = {}
    for way, (argv, said) in ways.items():
        (tmp_path / way).mkdir()
        running[way] = subprocess.Popen(
            argv,
            cwd=tmp_path / way,
            env=zot.env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        running[way].stdin.write(said.encode())
        running[way].stdin.close()
        running[way].stdin = None
    for way, process in running.items():
        out, err = process.communicate(timeout=60)
        assert b"Traceback" not in err, (way, out, err)
    return {way: sorted(path.name for path in (tmp_path / way).iterdir()) for way in ways}
