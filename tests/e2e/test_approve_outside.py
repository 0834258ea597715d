"""``--approve outside``: an allowed user or client decides about outside paths; otherwise they are denied."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Say
from tests.fakes.rpc_client import FakeRpcClient

SECRET = "s3cr3t-value"

ROOT = Path(__file__).parents[2]


@pytest.fixture
def out(zot: Zot) -> Path:
    """A directory beside the project, with a file in it."""
    place = zot.project.parent / "out"
    place.mkdir()
    (place / "file").write_text(f"{SECRET}\n")
    return place


@pytest.fixture(params=["full", "reduced"])
def level(request: pytest.FixtureRequest, zot: Zot, tmp_path: Path) -> str:
    """At the reduced level there is no bubblewrap on PATH."""
    if request.param == "reduced":
        (tmp_path / "bin").mkdir()
        for name in ("sh", "bash", "cat", "mkdir", "ls"):
            (tmp_path / "bin" / name).symlink_to(shutil.which(name) or f"/bin/{name}")
        zot.environment["PATH"] = str(tmp_path / "bin")
    return request.param


@pytest.fixture
def rpc(zot: Zot) -> Iterator[Callable[..., FakeRpcClient]]:
    with ExitStack() as stack:

        def start(*flags: str) -> FakeRpcClient:
            client = FakeRpcClient(zot.argv(["rpc", *flags, *zot.endpoint(True)]), zot.env(), zot.project)
            stack.callback(client.process.kill)
            return client

        yield start


def bash(command: str) -> CallTools:
    return CallTools([("bash", {"command": command})])


def results(server: FakeModelServer) -> str:
    """All tool results sent to the model."""
    return json.dumps([message for message in server.requests[-1].json["messages"] if message["role"] == "user"])


# --- a program that decides

PROGRAM = """
import asyncio, json, sys
from zot.sdk import Runtime

asked = []

def decide(question):
    asked.append(question.preview)
    return sys.argv[1]

async def main():
    async with Runtime(provider="script", script=json.loads(sys.argv[2]), approve_outside=decide) as zot:
        said = [e.content[0].text async for e in zot.prompt("go") if type(e).__name__ == "ToolResult"]
    print(json.dumps([asked, said]))

asyncio.run(main())
"""


def decided(zot: Zot, answer: str, *calls: tuple[str, dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The questions and tool results, with a program that always gives this answer."""
    turns = [{"tool_calls": [{"name": name, "args": args}]} for name, args in calls]
    argv = [sys.executable, "-c", PROGRAM, answer, json.dumps({"turns": [*turns, {"text": "done"}]})]
    done = subprocess.run(argv, cwd=zot.project, env=zot.env(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    asked, said = json.loads(done.stdout)
    return asked, said


def test_once_is_for_one_call(zot: Zot, out: Path, level: str) -> None:
    command = ("bash", {"command": f"cat {out}/file"})
    asked, said = decided(zot, "once", command, command)
    assert asked == [f"to read the file {out}/file"] * 2
    assert all(SECRET in text and "[the user allowed this call to read" in text for text in said)


def test_session_answer_is_asked_once(zot: Zot, out: Path, level: str) -> None:
    """File tools and commands share the answer; neighbouring paths are not covered."""
    (out / "other").write_text(SECRET)
    calls = [
        ("bash", {"command": f"cat {out}/file"}),
        ("bash", {"command": f"cat {out}/file"}),
        ("read", {"path": f"{out}/file"}),
        ("read", {"path": f"{out}/other"}),
    ]
    asked, said = decided(zot, "session", *calls)
    assert asked == [f"to read the file {out}/file", f"to read the file {out}/other"]
    assert all(SECRET in text for text in said)


def test_never_stops_the_asking(zot: Zot, out: Path, level: str) -> None:
    calls = [("bash", {"command": f"cat {out}/file"}), ("read", {"path": f"{out}/file"})]
    asked, said = decided(zot, "never", *calls)
    assert len(asked) == 1 and SECRET not in "".join(said)
    assert "The user was asked and refused" in said[0] and "does not want to be asked" in said[1]


def test_written_file_equals_the_preview(zot: Zot, out: Path, level: str) -> None:
    calls = [
        ("bash", {"command": f"echo changed >{out}/file"}),
        ("bash", {"command": f"echo made >{out}/new"}),
        ("bash", {"command": f"mkdir {out}/dir; echo x >{out}/dir/inner"}),
        ("write", {"path": f"{out}/written", "content": "w"}),
        ("edit", {"path": f"{out}/file", "edits": [{"oldText": "changed", "newText": "edited"}]}),
    ]
    asked, said = decided(zot, "once", *calls)
    wanted = [
        "to change the file",
        "to make the file",
        "to make the directory",
        "to make the file",
        "to change the file",
    ]
    names = ["file", "new", "dir", "written", "file"]
    assert asked == [f"{what} {out}/{name}" for what, name in zip(wanted, names, strict=True)], said
    assert (out / "file").read_text() == "edited\n" and (out / "new").read_text() == "made\n"
    assert (out / "dir" / "inner").read_text() == "x\n" and (out / "written").read_text() == "w"
    assert sorted(path.name for path in out.iterdir()) == ["dir", "file", "new", "written"]


def test_a_call_that_fails_all_the_same_leaves_nothing(zot: Zot, out: Path, level: str) -> None:
    asked, _ = decided(zot, "once", ("bash", {"command": f"cat /dev/null >{out}/new && false"}))
    assert len(asked) == 1 and [path.name for path in out.iterdir()] == ["file"]


def test_protected_path_is_denied_without_a_question(zot: Zot, out: Path) -> None:
    subprocess.run(["git", "init", "-q", zot.project], check=True)
    hook, home = zot.project / ".git" / "hooks" / "pre-commit", zot.home
    (home / "zot").mkdir(exist_ok=True)
    (home / "zot" / "auth.json").write_text(SECRET)
    calls = [
        ("bash", {"command": "echo x >.git/hooks/pre-commit"}),
        ("write", {"path": str(hook), "content": "x"}),
        ("write", {"path": f"{home}/.bashrc", "content": "x"}),
        ("write", {"path": f"{home}/.ssh/authorized_keys", "content": "x"}),
        ("read", {"path": f"{home}/zot/auth.json"}),
        ("bash", {"command": f"cat {home}/zot/auth.json"}),
    ]
    (home / ".ssh").mkdir()
    asked, said = decided(zot, "session", *calls)
    assert asked == [] and SECRET not in "".join(said)
    assert not hook.exists() and not (home / ".bashrc").exists() and not (home / ".ssh" / "authorized_keys").exists()


def test_a_program_that_fails_to_decide_has_refused(zot: Zot, out: Path) -> None:
    asked, said = decided(zot, "whatever", ("bash", {"command": f"cat {out}/file"}))
    assert len(asked) == 1 and SECRET not in said[0] and "refused" in said[0]


def test_the_network_is_all_or_nothing(zot: Zot) -> None:
    with FakeModelServer([Say("x")]) as server:
        port = server.url.rpartition(":")[2]
        command = f"curl -sS -m 5 -o /dev/null -w %{{http_code}} http://127.0.0.1:{port}/"
        asked, said = decided(zot, "once", ("bash", {"command": command}), ("bash", {"command": command}))
    assert asked == [f"the network, to reach 127.0.0.1:{port}"] * 2, said
    assert "[exit 0]" in said[0]


# --- nobody to ask


@pytest.mark.parametrize("mode", ["-p", "--json", "--stream"])
def test_outside_path_without_a_user_is_denied_and_reported(zot: Zot, serve: Any, out: Path, mode: str) -> None:
    server = serve([bash(f"cat {out}/file"), bash(f"cat {out}/file"), Say("done")])
    ran = zot(mode, "--approve", "outside", "go")
    assert ran.code == 0, ran.err
    assert ran.err.count(f"jail: denied access: read the file {out}/file (no user to ask)") == 1
    assert SECRET not in results(server) and results(server).count("There is no user to ask") == 2


def test_approve_setting_without_a_user_does_not_ask(zot: Zot, serve: Any, out: Path, rpc: Any) -> None:
    """The setting applies to the terminal only: a client that announces approvals is not asked."""
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "config.json").write_text('{"approve": "outside", "jail_by_default": true}')
    server = serve([bash(f"cat {out}/file"), Say("done")])
    client = rpc()
    client.ask("hello", capabilities=["approvals"])
    lines = client.prompt("go")
    assert not [line for line in lines if line["type"] == "approval_request"]
    assert SECRET not in results(server)


def test_unknown_approve_value_is_an_error(zot: Zot) -> None:
    ran = zot("-p", "--approve", "everything", "go")
    assert ran.code == 1 and 'zot: --approve "everything": expected outside' in ran.err


# --- a client of `zot rpc`


def test_rpc_client_decides_if_launcher_allowed_it(zot: Zot, serve: Any, out: Path, rpc: Any) -> None:
    server = serve([bash(f"cat {out}/file"), bash(f"cat {out}/file"), bash(f"echo x >{out}/new"), Say("done")])
    client = rpc("--approve", "outside")
    client.ask("hello", capabilities=["approvals"])
    client.send("prompt", message="go")
    asked = client.until("approval_request")
    wanted = {"access": "read", "path": f"{out}/file", "kind": "file", "missing": False, "host": ""}
    assert asked["outside"] == [wanted] and f"to read the file {out}/file" in asked["preview"]
    assert client.ask("approve", request_id=asked["request_id"], decision="session")["success"]
    asked = client.until("approval_request")  # the second call is not asked about
    assert [(row["access"], row["path"], row["missing"]) for row in asked["outside"]] == [("write", f"{out}/new", True)]
    answer = client.ask("approve", request_id=asked["request_id"], decision="all")
    assert not answer["success"] and "about outside access" in answer["error"]
    client.until("done")
    assert results(server).count(SECRET) == 2 and not (out / "new").exists()
    jail = client.ask("get_state")["data"]["jail"]
    assert f"{out}/file" in jail["read"] and jail["write"] == [str(zot.project)] and jail["approve"] == "outside"


@pytest.mark.parametrize("flags", [("--jail",), ("--jail", "--no-yolo")])
def test_rpc_client_without_launcher_consent_cannot_widen_jail(
    zot: Zot, serve: Any, out: Path, rpc: Any, flags: tuple[str, ...]
) -> None:
    server = serve([bash(f"cat {out}/file"), Say("done")])
    client = rpc(*flags)
    client.ask("hello", capabilities=["approvals", "commands"])
    before = client.ask("get_state")["data"]["jail"]
    assert before["level"] == "full" and not before["network"] and before["write"] == [str(zot.project)]
    for command in ("jail", "unjail", "set_jail"):
        assert not client.ask(command)["success"]
    for name in ("unjail", "/unjail"):
        assert not client.ask("run_command", name=name)["success"]
    client.ask("set_permission_mode", permission_mode="everything")
    assert not client.ask("prompt", message="/unjail")["success"]
    client.send("prompt", message="\\/unjail")
    while (line := client.next())["type"] != "done":
        if line["type"] == "approval_request":
            assert "outside" not in line
            assert not client.ask("approve", request_id=line["request_id"], decision="session")["success"]
            client.send("approve", request_id=line["request_id"], decision="once")
    assert SECRET not in results(server)
    assert client.ask("get_state")["data"]["jail"] == before


def test_closing_the_input_refuses(zot: Zot, serve: Any, out: Path, rpc: Any) -> None:
    server = serve([bash(f"cat {out}/file"), Say("done")])
    client = rpc("--approve", "outside")
    client.ask("hello", capabilities=["approvals"])
    client.send("prompt", message="go")
    client.until("approval_request")
    client.end_input()
    client.until("done")
    assert SECRET not in results(server)


# --- who is told of the jail


def test_json_begins_with_the_jail(zot: Zot, serve: Any, out: Path) -> None:
    serve([Say("done"), Say("done")])
    ran = zot("--json", "--jail=net", "--jail-read", str(out), "go")
    first = ran.events[0]
    assert (first["type"], first["level"], first["network"], first["approve"]) == ("jail", "full", True, "")
    assert first["write"] == [str(zot.project)] and str(out) in first["read"]
    assert "jail" not in zot("--json", "go").types


def test_model_prompt_mentions_the_jail(zot: Zot, serve: Any) -> None:
    server = serve([Say("done"), Say("done"), Say("done")])
    zot("-p", "--jail", "go")
    zot("-p", "--jail=net", "go")
    zot("-p", "go")
    told = [json.dumps(request.json["system"]) for request in server.requests]
    assert f"only {zot.project} can be changed" in told[0] and "There is no network." in told[0]
    assert "There is a network." in told[1]
    assert "jail" not in told[2].replace(str(ROOT), "")  # wherever this was checked out


def test_nothing_inside_needs_a_question(zot: Zot, serve: Any) -> None:
    """The user's mode asks about every call; jailed with ``--approve outside``, calls inside need no approval."""
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "config.json").write_text('{"permission_mode": "ask"}')
    serve([bash("echo x >made"), CallTools([("write", {"path": "written", "content": "x"})]), Say("done")])
    assert zot("-p", "--approve", "outside", "go").code == 0
    assert (zot.project / "made").exists() and (zot.project / "written").exists()


def test_a_mode_chosen_with_a_flag_holds_inside(zot: Zot, serve: Any) -> None:
    """``--permission-mode ask`` beside ``--approve outside``: calls inside need approval, which `-p` cannot give."""
    serve([bash("echo x >made"), Say("done")])
    assert "requires approval" in zot("--json", "--approve", "outside", "--permission-mode", "ask", "go").out
    assert not (zot.project / "made").exists()


def test_a_plan_changes_nothing_inside_either(zot: Zot, serve: Any) -> None:
    serve([bash("echo x >made"), Say("done")])
    assert zot("-p", "--approve", "outside", "--permission-mode", "plan", "go").code == 0
    assert not (zot.project / "made").exists()
