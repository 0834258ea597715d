"""The example clients in four languages, and the embedding examples, as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say, SeenRequest, Slow

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
Serve = Callable[..., FakeModelServer]

NOISY_EXTENSION = """
from zot.ext import Extension

ext = Extension("noter", "1.0.0")
ext.on_hello(lambda: ext.notify("info", "I am here"))
ext.run()
"""


@pytest.fixture(scope="session")
def go_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("go") / "client"
    subprocess.run(["go", "build", "-o", str(made), "."], cwd=EXAMPLES / "rpc/go", check=True)
    return made


@pytest.fixture(params=["python", "node", "shell", "go"])
def client(request: pytest.FixtureRequest) -> list[str]:
    match request.param:
        case "python":
            return [sys.executable, str(EXAMPLES / "rpc/python/client.py")]
        case "node":
            return ["node", str(EXAMPLES / "rpc/node/client.mjs")]
        case "shell":
            return [str(EXAMPLES / "rpc/shell/client.sh")]
        case _:
            return [str(request.getfixturevalue("go_client"))]


@pytest.fixture
def start(client: list[str], zot: Zot) -> Callable[..., subprocess.Popen[str]]:
    """The example with a ``zot`` on its PATH."""

    def start(*args: str, **environment: str) -> subprocess.Popen[str]:
        env = environment_of(zot, **environment)
        argv = [*client, *args, *zot.endpoint(True)]
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, cwd=zot.project, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    return start


def environment_of(zot: Zot, **more: str) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**zot.env(), "PATH": path, **more}


def test_prompt_with_a_tool_is_shown_live(serve: Serve, start: Callable[..., Any]) -> None:
    """rpc-063: hello and prompt without waiting, read until ``done``, close stdin, expect the exit."""
    serve([CallTools([("bash", {"command": "echo one"})], "Let me look. "), Say("It says “one”.")])
    out, err = (process := start("look")).communicate(timeout=30)
    assert (out, process.returncode) == ("Let me look. It says “one”.\n", 0)
    assert '[bash] {"command"' in err and "echo one" in err and "[20 in, 10 out, $" in err


def test_a_token_is_sent(serve: Serve, start: Callable[..., Any]) -> None:
    """rpc-063: with ``ZOTCORE_RPC_TOKEN`` set the example sends it and gets its answer."""
    serve([Say("hello")])
    out, err = start("hi", ZOTCORE_RPC_TOKEN="a secret").communicate(timeout=30)
    assert out == "hello\n", err


def test_an_interrupt_aborts(serve: Serve, start: Callable[..., Any]) -> None:
    serve([Slow(Say("word " * 2000), 0.005)])
    process = start("hi")
    assert process.stdout.read(4) == "word"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert "[aborted]" in err and process.returncode == 0


@pytest.mark.parametrize(("answer", "runs"), [("y\n", True), ("n\n", False), ("", False)])
def test_example_asks_for_approval(serve: Serve, start: Callable[..., Any], zot: Zot, answer: str, runs: bool) -> None:
    serve([CallTools([("bash", {"command": "touch made"})]), Say("ok")])
    out, err = start("go", "--no-yolo").communicate(answer, timeout=30)
    assert "allow bash: touch made? [y/N]" in err and out == "ok\n"
    assert (zot.project / "made").exists() is runs


def test_an_extension_note_is_shown(serve: Serve, start: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "noter"
    folder.mkdir()
    (folder / "main.py").write_text(NOISY_EXTENSION)
    manifest = {"name": "noter", "version": "1.0.0", "exec": sys.executable, "args": ["main.py"]}
    (folder / "extension.json").write_text(json.dumps(manifest))
    serve([Say("ok")])
    _, err = start("hi", "--ext", str(folder)).communicate(timeout=30)
    assert "[noter] I am here" in err


def test_example_prints_error_and_sets_exit_code(serve: Serve, start: Callable[..., Any]) -> None:
    serve([Refuse(400, {"error": {"type": "invalid_request_error", "message": "no such thing"}})])
    _, err = (process := start("hi")).communicate(timeout=30)
    assert "[error] anthropic" in err and "no such thing" in err and process.returncode == 1


def test_zot_that_cannot_start_is_not_waited_for(start: Callable[..., Any]) -> None:
    _, err = (process := start("hi")).communicate(timeout=30)
    assert "no credential" in err and process.returncode == 1


# --- embedding


def use_server(zot: Zot) -> dict[str, str]:
    (zot.home / "zot").mkdir(parents=True, exist_ok=True)
    endpoint = {"providers": {"anthropic": {"baseUrl": zot.url}}}
    (zot.home / "zot" / "models.json").write_text(json.dumps(endpoint))
    return environment_of(zot, ANTHROPIC_API_KEY="test-key")


def run_example(zot: Zot, name: str, *args: str) -> str:
    argv = [sys.executable, str(EXAMPLES / "sdk" / name), *args]
    done = subprocess.run(argv, cwd=zot.project, env=use_server(zot), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_chat_example_runs_as_written(serve: Serve, zot: Zot) -> None:
    serve([CallTools([("multiply", {"a": 6, "b": 7})]), Say("It is 42.")])
    assert run_example(zot, "chat.py", "What is 6 times 7?").startswith("[multiply {'a': 6, 'b': 7}]\nIt is 42.\n$")


def test_plain_example_denies_unsafe_calls(serve: Serve, zot: Zot) -> None:
    (zot.project / "precious").touch()
    serve([CallTools([("bash", {"command": "rm precious"})]), Say("I may not.")])
    assert "rm is not allowed" in run_example(zot, "plain.py", "delete everything")
    assert (zot.project / "precious").exists()


def test_ten_runtimes_answer_in_one_program(serve: Serve, zot: Zot) -> None:
    def answer(seen: SeenRequest) -> Say:
        return Say("hello from " + str(seen.json["system"]).count("project-") * "a project")

    serve([answer], repeat=True)
    lines = run_example(zot, "ten_runtimes.py", "Say hello.").splitlines()
    assert sorted(lines[:-1]) == sorted(f"project-{number}: {lines[0].split(': ')[1]}" for number in range(10))
    assert lines[-1].startswith("10 answers, $")
