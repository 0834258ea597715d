"""``exec.run`` and ``terminal.run``: programs that zot runs for an extension."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.extension_puppet import FakeExtensionUI, Stage
from zot.agent.config import FrontEnd
from zot.core.permission_gate import Answer, ApprovalQuestion
from zot.features.jail.feature import cached_jail_support

Frame = dict[str, Any]
RUN = ("exec",)


def _jails(tmp_path: Path) -> bool:
    return bool(cached_jail_support(tmp_path).level)


async def test_program_runs_in_the_project(stage: Stage) -> None:
    """ext2-117: argv without a shell, in the project, with code and both outputs."""
    x = stage.add(uses=RUN)
    async with stage.talk():
        done = await x.result("exec.run", {"argv": ["sh", "-c", "pwd; echo $1 >&2; exit 3", "sh", "a b"]})
        assert done["stdout"] == f"{os.path.realpath(stage.root / 'project')}\n"
        assert (done["code"], done["stderr"], done["truncated"]) == (3, "a b\n", False)
        done = await x.result("exec.run", {"argv": ["echo", "$HOME; ls"]})
        assert done["stdout"] == "$HOME; ls\n"


async def test_environment_stdin_and_cwd(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-117: a cleaned environment with the given variables, stdin, another directory."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-of-the-user")
    x = stage.add(uses=RUN)
    async with stage.talk():
        (stage.root / "project" / "sub").mkdir()
        script = 'cat; echo "$COLOUR $ANTHROPIC_API_KEY"; pwd'
        params = {"argv": ["sh", "-c", script], "cwd": "sub", "env": {"COLOUR": "red"}, "stdin": "given\n"}
        lines = (await x.result("exec.run", params))["stdout"].splitlines()
        assert lines[:2] == ["given", "red "] and lines[2].endswith("/project/sub")
        assert (await x.error("exec.run", {"argv": ["ls"], "cwd": "nowhere"}))[0] == "not_found"


async def test_missing_program_is_not_found(stage: Stage) -> None:
    """§29: a missing program is not_found."""
    x = stage.add(uses=RUN)
    async with stage.talk():
        code, text = await x.error("exec.run", {"argv": ["no-such-program"]})
        assert code == "not_found" and "no-such-program" in text


async def test_output_is_cut_at_the_limit(stage: Stage) -> None:
    """ext2-117: each output is cut at max_output."""
    x = stage.add(uses=RUN)
    async with stage.talk():
        done = await x.result("exec.run", {"argv": ["sh", "-c", "printf abcdef; printf 12 >&2"], "max_output": 3})
        assert (done["stdout"], done["stderr"], done["truncated"]) == ("abc", "12", True)
        done = await x.result("exec.run", {"argv": ["sh", "-c", "yes | head -c 1000000"]})
        assert len(done["stdout"]) == 256 * 1024 and done["truncated"] is True


async def test_signal_and_timeout(stage: Stage) -> None:
    """§14: the signal is named; timeout_s stops the program and all it started."""
    x = stage.add(uses=RUN)
    async with stage.talk():
        done = await x.result("exec.run", {"argv": ["sh", "-c", "kill -9 $$"]})
        assert (done["code"], done["signal"]) == (137, "SIGKILL")
        code, text = await x.error("exec.run", {"argv": ["sh", "-c", "sleep 60 & sleep 60"], "timeout_s": 1})
        assert code == "timeout" and "stopped after 1 s" in text


async def test_cancel_ends_the_process_group(stage: Stage) -> None:
    """ext2-117: the program and what it started end with the request."""
    x = stage.add(uses=RUN)
    async with stage.talk():
        mark = stage.root / "project" / "pid"
        x.begin("exec.run", {"argv": ["sh", "-c", "sleep 60 & echo $! > pid; wait"]}, id="c")
        await _until(lambda: mark.exists() and bool(mark.read_text().strip()))
        x.send(type="cancel", id="c")
        assert (await x.response("c"))["error"]["code"] == "cancelled"
        await _until(lambda: _has_ended(int(mark.read_text())))


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.02)


def _has_ended(pid: int) -> bool:
    """Also true for a process that only waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def test_interceptors_and_rules_see_the_call(stage: Stage) -> None:
    """ext2-117: tool_call with tool_name exec and args; a guard may rewrite or block it."""
    x, g = stage.add("x", uses=RUN), stage.add("g", guard=True)
    async with stage.talk():
        verdicts: list[Frame] = [{"modified_args": {"argv": ["echo", "safe"]}}, {"block": True, "reason": "no"}]
        await g.intercept("tool_call", lambda _: verdicts.pop(0))
        g.send(type="ready")
        assert (await x.result("exec.run", {"argv": ["echo", "wild"]}))["stdout"] == "safe\n"
        assert await x.error("exec.run", {"argv": ["ls"]}) == ("refused", "exec.run: no")
        first = g.of("event_intercept", event="tool_call")[0]
        assert (first["tool_name"], first["origin_extension"]) == ("exec", "x")
        assert first["tool_args"]["argv"] == ["echo", "wild"] and first["tool_args"]["cwd"].endswith("/project")


async def test_replaced_result_is_what_the_extension_gets(stage: Stage) -> None:
    """ext2-146: what a guard takes out of the result does not reach the extension."""
    x, g = stage.add("x", uses=RUN), stage.add("g", uses=["results"], guard=True)
    async with stage.talk():
        hidden = {"value": {"content": [{"type": "text", "text": "[hidden]"}]}}
        await g.intercept("tool_result", lambda _: hidden)
        g.send(type="ready")
        done = await x.result("exec.run", {"argv": ["echo", "the password"]})
        assert (done["stdout"], done["stderr"]) == ("[hidden]", "")


async def test_mode_that_asks_is_refused_without_a_user(stage: Stage) -> None:
    """ext2-117: headless under a mode that asks it is refused; with a yes it runs."""
    x = stage.add(uses=RUN)
    asked: list[ApprovalQuestion] = []

    async def approve(question: ApprovalQuestion) -> Answer:
        asked.append(question)
        return Answer("once")

    async with stage.talk(permission_mode="ask") as talk:
        code, text = await x.error("exec.run", {"argv": ["touch", "made"]})
        assert code == "refused" and "no user is present" in text
        assert talk.conversation.gate is not None
        talk.conversation.gate.confirmer = approve
        assert (await x.result("exec.run", {"argv": ["touch", "made"]}))["code"] == 0
        assert (asked[0].call.name, asked[0].origin) == ("exec", "x")
        assert (stage.root / "project" / "made").exists()


async def test_plan_mode_refuses(stage: Stage) -> None:
    """ext2-117: plan mode holds for programs of extensions."""
    x = stage.add(uses=RUN)
    async with stage.talk(permission_mode="plan"):
        code, text = await x.error("exec.run", {"argv": ["touch", "made"]})
        assert code == "refused" and "plan mode" in text


async def test_permissions_hold_for_the_program(stage: Stage) -> None:
    """ext2-118: the program has the walls of a confined extension, but may be any program."""
    if not _jails(stage.root):
        pytest.skip("this machine has no jail")
    x = stage.add(uses=RUN, permissions={"fs": {"read": ["$PROJECT"], "write": ["."]}, "net": True})
    outside = stage.root / "outside.txt"
    outside.write_text("private")
    async with stage.talk():
        project = stage.root / "project"
        (project / "a.txt").write_text("inside")
        assert (await x.result("exec.run", {"argv": ["cat", "a.txt"]}))["stdout"] == "inside"
        assert (await x.result("exec.run", {"argv": ["touch", "made"]}))["code"] != 0
        assert not (project / "made").exists()
        assert (await x.result("exec.run", {"argv": ["cat", str(outside)]}))["stdout"] == ""


async def test_session_jail_narrows_permissions(stage: Stage) -> None:
    """ext2-118: in a jailed session the program has what both allow."""
    if not _jails(stage.root):
        pytest.skip("this machine has no jail")
    outside = stage.root / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text("private")
    places = {"read": ["$PROJECT", str(outside)], "write": [".", "$PROJECT", str(outside)]}
    x = stage.add(uses=RUN, permissions={"fs": places, "exec": True, "net": True})
    async with stage.talk(jail="on"):
        assert (await x.result("exec.run", {"argv": ["touch", "made"]}))["code"] == 0
        assert (stage.root / "project" / "made").exists()
        assert (await x.result("exec.run", {"argv": ["cat", str(outside / "b.txt")]}))["stdout"] == ""
        assert (await x.result("exec.run", {"argv": ["touch", str(outside / "c")]}))["code"] != 0


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"argv": []}, "exec.run: argv: expected a program"),
        ({"argv": "ls"}, "exec.run: argv: expected"),
        ({"argv": ["ls"], "env": {"A B": "x"}}, "exec.run: env: 'A B' is no name of a variable"),
        ({"argv": ["ls"], "timeout_s": 9999}, "exec.run: timeout_s: expected 1 to 3600"),
        ({"argv": ["ls"], "max_output": 0}, "exec.run: max_output: expected 1 to"),
    ],
)
async def test_wrong_parameters_are_named(stage: Stage, params: dict[str, Any], why: str) -> None:
    """ext2-019: the message names the parameter."""
    x = stage.add(uses=RUN)
    async with stage.talk():
        code, text = await x.error("exec.run", params)
        assert code == "bad_params" and text.startswith(why)


# --- the terminal


class FakeTerminalUI(FakeExtensionUI):
    """Lends a terminal that is this process's standard output."""

    def __init__(self) -> None:
        super().__init__()
        self.lent: list[tuple[str, list[str]]] = []

    def run_in_terminal(
        self, extension: str, argv: Sequence[str], run: Callable[[], Awaitable[int]]
    ) -> Awaitable[int] | None:
        self.lent.append((extension, list(argv)))
        return run()


async def test_terminal_is_lent_to_a_command_of_the_user(stage: Stage) -> None:
    """ext2-119: only with a command or key of the user as parent."""
    x, surface = stage.add(uses=["terminal"]), FakeTerminalUI()
    async with stage.talk(front_end=FrontEnd(surface=surface, mode="terminal")) as talk:
        x.send(type="contribute", id="o", kind="command", name="edit", value={"description": "d"})
        await x.response("o")

        def invoked(frame: Frame) -> None:
            x.begin("terminal.run", {"argv": ["sh", "-c", "exit 4"]}, id="c", parent_id=frame["id"])

        x.handlers["command_invoked"] = invoked
        running = asyncio.ensure_future(talk.host.run_command("edit", ""))
        assert (await x.response("c"))["result"] == {"code": 4}
        x.send(type="command_response", id=x.of("command_invoked")[0]["id"], action="noop")
        await running
        assert surface.lent == [("x", ["sh", "-c", "exit 4"])]
        code, text = await x.error("terminal.run", {"argv": ["ls"]})
        assert code == "refused" and "parent_id" in text


async def test_command_that_an_extension_submitted_is_no_parent(stage: Stage) -> None:
    """ext2-119: submit_slash of an extension does not count as the user."""

    class FakeSubmittingUI(FakeTerminalUI):
        def submit_slash(self, extension: str, text: str) -> None:
            tasks.append(asyncio.ensure_future(talk.host.run_command(text.removeprefix("/"), "")))

    tasks: list[asyncio.Future[Any]] = []
    x, surface = stage.add(uses=["terminal"]), FakeSubmittingUI()
    async with stage.talk(front_end=FrontEnd(surface=surface, mode="terminal")) as talk:
        x.send(type="contribute", id="o", kind="command", name="edit", value={"description": "d"})
        await x.response("o")
        x.handlers["command_invoked"] = lambda frame: x.begin(
            "terminal.run", {"argv": ["ls"]}, id="c", parent_id=frame["id"]
        )
        x.send(type="submit_slash", text="/edit")
        assert (await x.response("c"))["error"]["code"] == "refused"
        x.send(type="command_response", id=x.of("command_invoked")[0]["id"], action="noop")
        await tasks[0]
        assert not surface.lent


async def test_without_a_terminal_it_is_unavailable(stage: Stage) -> None:
    """ext2-021, ext2-119: other modes have no terminal; denied comes first without the word."""
    x, y = stage.add("x", uses=["terminal"]), stage.add("y")
    async with stage.talk():
        assert (await x.error("terminal.run", {"argv": ["ls"]}))[0] == "unavailable"
        assert (await y.error("terminal.run", {"argv": ["ls"]}))[0] == "denied"
        assert (await y.error("exec.run", {"argv": ["ls"]}))[0] == "denied"
