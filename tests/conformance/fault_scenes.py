"""Scenes for failing system calls: answering, with a guard, over RPC, and each verb that saves something."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.conformance.fault_stage import ANSWER, Ended, Stage, judge, judge_answer, judge_tools
from tests.fakes.extensions import write_extension
from tests.fakes.faults import WATCHES
from tests.fakes.model_server import CallTools, Say, SeenRequest, Turn
from tests.fakes.rpc_client import FakeRpcClient
from tests.fakes.terminal import FakeTerminal

ECHO = """
hello()
tool("echo")
ready()
serve(tool_call=lambda frame: text(frame["id"], "echoed"))
"""
GUARD = """
def decide(frame):
    if "forbidden" in json.dumps(frame):
        answer(frame, block=True, reason="forbidden things are not touched")
    else:
        answer(frame)

hello()
subscribe(intercept=["tool_call"])
ready()
serve(event_intercept=decide)
"""


class Scene(NamedTuple):
    """``judge`` returns faults beyond those of ``fault_stage.judge``; ``share`` is the number of injected faults."""

    name: str
    prepare: Callable[[Stage], object]
    run: Callable[[Stage], Ended]
    judge: Callable[[Stage, Ended], Iterable[str]]
    share: int = 1
    turns: Callable[[SeenRequest], Turn] | None = None


def perform(scene: Scene, root: Path, plan: object = WATCHES) -> tuple[Stage, Ended, list[str]]:
    """One run; the third value is its faults."""
    with Stage(root, plan, scene.turns) as stage:  # type: ignore[arg-type]
        scene.prepare(stage)
        ended = scene.run(stage)
        return stage, ended, [*judge(stage, ended), *scene.judge(stage, ended)]


def nothing(stage: Stage) -> None:
    """There is nothing to prepare."""


# --- one prompt


def said_before(stage: Stage) -> None:
    """A session to resume."""
    done = subprocess.run(
        stage.zot.argv(["-p", "before", *stage.zot.endpoint(True)]),
        cwd=stage.project,
        env=stage.zot.env(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    stage.server.requests.clear()


def judge_prompt(stage: Stage, ended: Ended) -> Iterator[str]:
    yield from judge_tools(stage)
    yield from judge_answer(stage, ended)


def judge_json(stage: Stage, ended: Ended) -> Iterator[str]:
    """The JSON events agree with the exit code."""
    yield from judge_tools(stage)
    if stage.plan.where == "stdout":
        return
    events = [json.loads(line) for line in ended.out.splitlines()]
    if ended.code == 0:
        said = "".join(event.get("delta", "") for event in events if event["type"] == "text_delta")
        yield from [] if said == ANSWER else [f"exit code 0, but {len(said)} of {len(ANSWER)} characters arrived"]
        kept = stage.texts()
        for wanted in (("user", "before"), ("user", "go"), ("assistant", ANSWER)):
            if wanted not in kept:
                yield f"exit code 0, but {wanted[1][:20]!r} is in no session"
    if events and (events[-1]["type"] != "done" or events[-1]["exit_code"] != ended.code):
        yield f"exit code {ended.code}, the last event is {str(events[-1])[:200]}"


# --- extensions


def with_extensions(stage: Stage) -> None:
    write_extension(stage.home / "extensions", "echo", ECHO)
    write_extension(stage.home / "extensions", "watch", GUARD, guard=True)


def forbidden(request: SeenRequest) -> Turn:
    last = request.json["messages"][-1]["content"]
    if isinstance(last, list) and any(block["type"] == "tool_result" for block in last):
        return Say(ANSWER)
    commands = {"f": "touch forbidden", "t": "true"}
    return CallTools([("echo", {}, "x"), *(("bash", {"command": text}, id) for id, text in commands.items())])


def judge_guard(stage: Stage, ended: Ended) -> Iterator[str]:
    """Whatever failed, a call the guard would have refused does not run."""
    if (stage.project / "forbidden").exists():
        yield "the guard was passed over"
    if ended.code == 0 and "t" in stage.results and "x" in stage.results and not stage.results["f"].get("is_error"):
        yield f"the model was told that it ran: {stage.results['f']}"
    yield from judge_answer(stage, ended)


# --- RPC


def rpc(stage: Stage) -> Ended:
    """A prompt, a question and an end; whatever is written can be read."""
    argv = stage.argv("rpc", "--continue", *stage.zot.endpoint(True))
    client = FakeRpcClient(argv, stage.environment(), stage.project)
    code: int | None = None
    try:
        with contextlib.suppress(AssertionError, BrokenPipeError):  # it ended before its time, which ``judge`` sees
            client.prompt("go")
            client.ask("get_state")
            client.prompt("before")
            client.end_input()
            client.rest()
        code = client.process.wait(20)
    except (queue.Empty, subprocess.TimeoutExpired):
        pass  # it hangs
    finally:
        client.kill()
    return Ended(code, "", client.stderr, client.seen)


def judge_rpc(stage: Stage, ended: Ended) -> Iterator[str]:
    yield from judge_tools(stage)
    kinds = [line["type"] for line in ended.lines]
    whole = kinds.count("done") == 2 and kinds.count("response") == 3
    if ended.code == 0 and not whole and (stage.plan.where, stage.plan.error) != ("stdout", "EPIPE"):
        yield f"exit code 0, but the client read only {kinds[-5:]}"
    failed = any(line["type"] in ("error", "session_fault") or line.get("error") for line in ended.lines)
    if whole and not failed:
        said = "".join(str(line["delta"]) for line in ended.lines if line["type"] == "text_delta")
        yield from [] if said == f"{ANSWER}earlier" else [f"{len(said)} of {len(ANSWER) + 7} characters arrived"]
        kept = stage.texts()
        for wanted in (("user", "go"), ("assistant", ANSWER), ("user", "before"), ("assistant", "earlier")):
            if wanted not in kept:
                yield f"{wanted[1][:20]!r} is in no session, and nobody was told"


# --- the terminal


def settled(stage: Stage) -> None:
    stage.home.mkdir()
    (stage.home / "config.json").write_text('{"mine": 1}')


_ASKS = "yes, and everything in this session"


def terminal(stage: Stage) -> Ended:
    """Saves a setting, sends a prompt and exits; returns the last screen."""
    argv = stage.argv(*stage.zot.endpoint(True))
    code: int | None = None
    with FakeTerminal(argv, cwd=stage.project, env=stage.environment(), rows=40) as screen:
        with contextlib.suppress(AssertionError, OSError):
            screen.wait_for("▌")
            screen.wait_gone("starting…")
            screen.submit("/reasoning low")
            screen.wait_until(lambda: "reasoning: low" in screen.everything or "cannot be" in screen.everything)
            screen.submit("go")
            screen.wait_until(lambda: _is_answered(screen) or _ASKS in screen.everything)
            if not _is_answered(screen):  # without settings that can be read, zot asks
                screen.press("3")
                screen.wait_until(lambda: _is_answered(screen))
        for _ in range(20):  # it quits when it is idle, which it need not be yet
            with contextlib.suppress(AssertionError, OSError):
                screen.press("ctrl+d")
                code = screen.wait_exit(1.0)
                break
        with contextlib.suppress(OSError):
            screen.pump(0.01)
        return Ended(code, "", screen.everything)


def _is_answered(screen: FakeTerminal) -> bool:
    return screen.everything.count("All is done.") > 10


def judge_settings(stage: Stage, ended: Ended) -> Iterator[str]:
    """Existing settings stay, and a setting reported as saved is in the file."""
    kept = json.loads((stage.home / "config.json").read_bytes())
    if kept.get("mine") != 1:
        yield f"the user's settings are gone: {kept}"
    if "reasoning: low" in ended.err and kept.get("reasoning") != "low":
        yield "the setting was not saved, and nobody was told"
    if ended.code == 0:
        yield from judge_tools(stage)


# --- verbs that save something


def judge_verb(done: Callable[[Stage], bool]) -> Callable[[Stage, Ended], Iterator[str]]:
    """Exit code 0 means done; any other comes with a reason."""

    def judge_it(stage: Stage, ended: Ended) -> Iterator[str]:
        if ended.code == 0 and not done(stage):
            yield "exit code 0, but nothing was done"

    return judge_it


def project_extension(stage: Stage) -> None:
    write_extension(stage.project / ".zot" / "extensions", "echo", ECHO)


def one_to_install(stage: Stage) -> None:
    write_extension(stage.project / "made", "echo", ECHO)


def installed(stage: Stage) -> None:
    write_extension(stage.home / "extensions", "echo", ECHO)


def is_in(stage: Stage, name: str, text: str) -> bool:
    return (stage.home / name).exists() and text in (stage.home / name).read_text()


def enabled(stage: Stage) -> object:
    return json.loads((stage.home / "extensions" / "echo" / "extension.json").read_bytes()).get("enabled", True)


def exported(stage: Stage) -> None:
    said_before(stage)
    done = subprocess.run(
        stage.zot.argv(["sessions", "export", "1", "kept.zotsession"]),
        cwd=stage.project,
        env=stage.zot.env(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def verb(*argv: str) -> Callable[[Stage], Ended]:
    return lambda stage: stage.run(*argv, model=False)


def sessions(stage: Stage) -> int:
    return len(list(stage.home.glob("sessions/*/*.jsonl")))


SCENES = (
    Scene("print", nothing, lambda stage: stage.run("-p", "go"), judge_prompt, 5),
    Scene("json", said_before, lambda stage: stage.run("--json", "-c", "go"), judge_json, 4),
    Scene("stream", nothing, lambda stage: stage.run("--stream", "go"), judge_prompt, 2),
    Scene("extensions", with_extensions, lambda stage: stage.run("-p", "go"), judge_guard, 5, forbidden),
    Scene("rpc", nothing, rpc, judge_rpc, 5),
    Scene("terminal", settled, terminal, judge_settings, 2),
    Scene("trust", project_extension, verb("ext", "trust"), judge_verb(lambda s: is_in(s, "trust.json", "echo"))),
    Scene(
        "install",
        one_to_install,
        verb("ext", "install", "made/echo"),
        judge_verb(lambda s: (s.home / "extensions" / "echo" / "main.py").exists()),
    ),
    Scene("disable", installed, verb("ext", "disable", "echo"), judge_verb(lambda s: not enabled(s))),
    Scene(
        "remove",
        installed,
        verb("ext", "remove", "echo", "--yes"),
        judge_verb(lambda s: not (s.home / "extensions" / "echo").exists()),
    ),
    Scene("fork", said_before, verb("sessions", "fork"), judge_verb(lambda s: sessions(s) == 2)),
    Scene("rename", said_before, verb("sessions", "rename", "1", "A title"), judge_verb(lambda s: sessions(s) == 1)),
    Scene(
        "export",
        said_before,
        verb("sessions", "export", "1", "out.zotsession"),
        judge_verb(lambda s: (s.project / "out.zotsession").stat().st_size > 100),
    ),
    Scene("import", exported, verb("sessions", "import", "kept.zotsession"), judge_verb(lambda s: sessions(s) == 2)),
)
