"""MCP servers in the real program: called by the model in every mode, behind every guard, and gone afterwards."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.mcp_server import command
from tests.fakes.model_server import CallTools, Say
from tests.fakes.rpc_client import FakeRpcClient
from tests.unit.features.mcp.test_servers import gone
from zot.agent.build import build
from zot.agent.config import RunConfig

FIND = CallTools([("mcp_search", {"query": "echo,child,fail"})])
ECHO = CallTools([("mcp__fake__echo", {"text": "from the server"})])


def configure(path: Path, **servers: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers or {"fake": command()}}))


def mine(zot: Zot, **servers: dict[str, Any]) -> None:
    configure(zot.home / "zot" / "mcp.json", **servers)


def last_result(request: Any) -> str:
    return json.dumps(request.json["messages"][-1])


def tools_of(request: Any) -> list[str]:
    return [tool["name"] for tool in request.json["tools"]]


@pytest.mark.parametrize("mode", ["-p", "--json"])
def test_the_model_finds_a_tool_and_calls_it(zot: Zot, serve: Any, mode: str) -> None:
    mine(zot)
    server = serve([FIND, ECHO, Say("done")])
    ran = zot(mode, "hi")
    assert ran.code == 0, ran.err
    assert "mcp__fake__echo" not in tools_of(server.requests[0]) and "mcp_search" in tools_of(server.requests[0])
    assert "mcp__fake__echo" in tools_of(server.requests[1])
    assert "from the server" in last_result(server.requests[2])
    assert server.requests[0].json["system"] == server.requests[2].json["system"]  # what was found changes no prompt


def test_mcp_tools_work_over_rpc(zot: Zot, serve: Any) -> None:
    mine(zot)
    server = serve([FIND, ECHO, Say("done")])
    client = FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)
    client.prompt("hi")
    assert "from the server" in last_result(server.requests[2])


def test_second_run_lists_tools_without_starting_servers(zot: Zot, serve: Any) -> None:
    journal = zot.home / "journal"
    mine(zot, fake=command(journal=str(journal)))
    serve([FIND, Say("done")])
    zot("-p", "hi")
    journal.unlink()
    server = serve([Say("hello")])
    assert zot("-p", "hi").out == "hello\n"
    [search] = [tool for tool in server.requests[0].json["tools"] if tool["name"] == "mcp_search"]
    assert "fake (echo, fail," in search["description"]
    assert not journal.exists()


def test_servers_leave_no_process_after_exit_or_kill(zot: Zot, serve: Any) -> None:
    mine(zot)
    server = serve([FIND, CallTools([("mcp__fake__child", {})]), Say("done")])
    assert zot("-p", "hi").code == 0
    text = server.requests[2].json["messages"][-1]["content"][0]["content"]
    pids = [int(word) for word in (text if isinstance(text, str) else text[0]["text"]).split()]
    assert len(pids) == 2 and all(map(gone, pids))


def test_a_projects_servers_run_only_when_trusted(zot: Zot, serve: Any) -> None:
    configure(zot.project / ".mcp.json")
    server = serve([Say("one"), Say("two"), Say("three"), Say("four")])
    ran = zot("-p", "hi")
    assert "fake of" in ran.err and "is untrusted and was skipped: " in ran.err and "zot mcp trust fake" in ran.err
    assert command()["command"] in ran.err and "mcp_search" not in tools_of(server.requests[0])
    assert zot("-p", "--trust-project", "hi").err == ""
    assert "mcp_search" in tools_of(server.requests[1])
    trusted = zot("mcp", "trust", "fake", model=False)
    assert command()["command"] in trusted.err
    assert zot("-p", "hi").err == ""
    assert "mcp_search" in tools_of(server.requests[2])
    configure(zot.project / ".mcp.json", fake=command(era="classic"))  # another entry asks again
    assert "is untrusted" in zot("-p", "hi").err
    assert "mcp_search" not in tools_of(server.requests[3])


def test_untrusted_project_server_does_not_replace_users(zot: Zot, serve: Any) -> None:
    mine(zot)
    for place in (".mcp.json", ".zot/mcp.json"):
        configure(zot.project / place, fake={"command": "/bin/false"})
    server = serve([FIND, ECHO, Say("done")])
    ran = zot("-p", "hi")
    assert ran.err.count("is untrusted") == 1 and "/bin/false" in ran.err
    assert "from the server" in last_result(server.requests[2])


def test_a_file_for_one_run_and_none_of_mine(zot: Zot, serve: Any, tmp_path: Path) -> None:
    mine(zot, other=command())
    configure(tmp_path / "more.json")
    server = serve([Say("hello"), Say("hello")])
    zot("-p", "--mcp-config", str(tmp_path / "more.json"), "--no-mcp", "hi")
    [search] = [tool for tool in server.requests[0].json["tools"] if tool["name"] == "mcp_search"]
    assert search["description"].endswith("Servers: fake")
    zot("-p", "--no-mcp", "hi")
    assert "mcp_search" not in tools_of(server.requests[1])
    assert zot("-p", "--mcp-config", "none.json", "hi").code == 2


def test_gate_applies_to_server_tools(zot: Zot, serve: Any) -> None:
    mine(zot)
    server = serve([FIND, Say("no")])
    ran = zot("-p", "--no-yolo", "hi")
    assert ran.code == 0
    assert "echo" not in last_result(server.requests[1])  # nobody could say yes


def test_pinned_tools_are_in_the_first_request(zot: Zot, serve: Any) -> None:
    mine(zot)
    assert zot("mcp", "test", "fake", model=False).code == 0
    (zot.home / "zot" / "config.json").write_text('{"mcp_pinned": ["mcp__fake__echo"]}')
    server = serve([ECHO, Say("done")])
    assert zot("-p", "hi").code == 0
    assert "mcp__fake__echo" in tools_of(server.requests[0])
    assert "from the server" in last_result(server.requests[1])


def test_servers_are_added_shown_tried_and_removed(zot: Zot) -> None:
    fake = command()
    added = zot("mcp", "add", "--env", "A=b", "fake", "--", fake["command"], *fake["args"], model=False)
    assert added.code == 0 and "added fake to" in added.err
    assert zot("mcp", "add", "fake", "https://a.example/mcp", model=False).code == 2
    tried = zot("mcp", "test", "fake", model=False)
    assert tried.code == 0 and "fake: fake 2, MCP 2026-07-28" in tried.out and "  echo: what echo does" in tried.out
    assert "tool     echo: what echo does" in zot("mcp", "get", "fake", model=False).out
    assert "A=… " in zot("mcp", model=False).out  # a value may be secret
    [row] = json.loads(zot("mcp", "list", "--json", model=False).out)["servers"]
    assert (row["name"], row["origin"], row["env"], row["state"]) == ("fake", "user", ["A"], "20 tools")
    assert zot("mcp", "remove", "fake", model=False).code == 0
    assert "no MCP servers configured" in zot("mcp", model=False).err
    wrong = zot("mcp", "test", "fake", model=False)
    assert wrong.code == 2 and 'no MCP server "fake"' in wrong.err


def test_added_command_that_is_not_found_is_named(zot: Zot) -> None:
    """A mistyped command is stored, with a line that says how to correct it; a path is not looked up."""
    added = zot("mcp", "add", "typo", "--", "nosuchprogram", "--stdio", model=False)
    assert added.code == 0 and "zot: nosuchprogram: command not found; correct it with" in added.err
    assert "not found" not in zot("mcp", "add", "--force", "typo", "--", "./server.py", model=False).err


def test_file_that_a_jail_protects_counts_as_missing(zot: Zot) -> None:
    """While a jailed command of another zot runs, an empty directory stands where a missing `.mcp.json` would be."""
    (zot.project / ".mcp.json").mkdir(0o1555)
    assert "cannot be read" not in zot("mcp", "list", model=False).err
    (zot.project / ".mcp.json").chmod(0o755)
    assert ".mcp.json: cannot be read: is a directory" in zot("mcp", "list", model=False).err


def test_failing_server_test_shows_its_stderr(zot: Zot) -> None:
    mine(zot, fake=command(start="exit"))
    tried = zot("mcp", "test", "fake", model=False)
    assert tried.code == 1 and "the fake cannot start: no licence" in tried.err and "its log: " in tried.err


def test_config_file_with_comments_is_not_rewritten(zot: Zot) -> None:
    path = zot.home / "zot" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"a": {"command": "x"}} /* mine */}')
    ran = zot("mcp", "remove", "a", model=False)
    assert ran.code == 1 and "cannot change a file with comments" in ran.err
    assert "/* mine */" in path.read_text()


def test_changes_since_last_run_are_detected(zot: Zot, serve: Any) -> None:
    """The first request's sentence is remembered; the files, the lists and the trust it was made from still count."""
    mine(zot)
    server = serve([Say("1"), Say("2"), FIND, Say("3"), Say("4"), Say("5"), Say("6")])

    def described(place: int) -> str:
        [search] = [tool for tool in server.requests[place].json["tools"] if tool["name"] == "mcp_search"]
        return search["description"].partition("Servers: ")[2]

    zot("-p", "hi")
    zot("-p", "hi")
    assert described(0) == described(1) == "fake"
    zot("-p", "hi")  # finds it
    zot("-p", "hi")
    assert described(4).startswith("fake (echo, ")
    mine(zot, other=command())
    zot("-p", "hi")
    assert described(5) == "other"
    configure(zot.project / ".mcp.json", third=command())
    zot("mcp", "trust", "third", model=False)
    zot("-p", "hi")
    assert described(6) == "other, third"


def test_a_remembered_sentence_still_leads_to_the_servers(zot: Zot, serve: Any) -> None:
    mine(zot)
    server = serve([Say("1"), FIND, ECHO, Say("2")])
    zot("-p", "hi")
    assert list((zot.home / "zot" / "mcp" / "openings").iterdir())
    zot("-p", "hi")
    assert "from the server" in last_result(server.requests[3])


def test_server_prompt_works_in_every_mode(zot: Zot, serve: Any) -> None:
    mine(zot)
    zot("mcp", "test", "fake", model=False)
    server = serve([Say("1"), Say("2"), Say("3")])
    assert zot("-p", "/mcp:fake:greet Ada").code == 0
    assert server.requests[0].json["messages"][-1]["content"][0]["text"] == "Say hello to Ada."
    client = FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)
    client.ask("hello", protocol_version=1, capabilities=["commands"])
    listed = {row["name"]: row for row in client.ask("get_commands")["data"]["commands"]}
    assert listed["mcp:fake:greet"]["arguments"] == "who* how"
    assert client.ask("run_command", name="mcp:fake:greet", args="how=kindly who=Bob")["success"]
    client.until("done")
    assert server.requests[1].json["messages"][-1]["content"][0]["text"] == "Say hello to Bob kindly."
    wrong = zot("-p", "/mcp:fake:greet")
    assert "greet: missing who; expected: who* how" in wrong.err


def test_a_resource_is_read_by_mention_and_by_the_model(zot: Zot, serve: Any) -> None:
    mine(zot)
    reading = CallTools(
        [("mcp_resource", {"server": "fake", "uri": "fake://notes"}), ("mcp_resource", {"server": "fake"})]
    )
    server = serve([FIND, reading, Say("1"), Say("2"), Say("3")])
    assert zot("-p", "hi").code == 0
    assert "mcp_resource" in tools_of(server.requests[1]) and "mcp_resource" not in tools_of(server.requests[0])
    answers = last_result(server.requests[2])
    assert "remember the milk" in answers and "fake://notes \\u00b7 notes" in answers
    assert zot("-p", "what is in @fake:fake://notes?").code == 0
    assert "The resource fake://notes of the MCP server fake:" in json.dumps(server.requests[3].json["messages"])
    assert "remember the milk" in json.dumps(server.requests[3].json["messages"])
    ran = zot("-p", "what is in @fake:fake://nothing and @nobody:fake://x")
    assert ran.out == "3\n" and "no resource fake://nothing" in ran.err and "nobody" not in ran.err


def test_servers_of_other_programs_are_imported(zot: Zot) -> None:
    home = zot.home
    project = str(zot.project)
    own = {"mcpServers": {"claude-one": {"command": "a", "args": ["1"], "env": {"K": "v"}}}}
    own["projects"] = {project: {"mcpServers": {"claude-two": {"type": "http", "url": "https://two.example"}}}}
    (home / ".claude.json").write_text(json.dumps(own))
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        '[mcp_servers.codex-one]\ncommand = "b"\nargs = ["x"]\n[mcp_servers.codex-one.env]\nA = "1"\n'
        '[mcp_servers.codex-two]\nurl = "https://c.example/mcp"\nbearer_token_env_var = "C_TOKEN"\n'
    )
    code = home / ".config" / "Code" / "User"
    code.mkdir(parents=True)
    (code / "mcp.json").write_text('{ // mine\n "servers": {"code-one": {"command": "c", "env": {"T": "${env:T}"}}}}')
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text('{"mcpServers": {"cursor-one": {"command": "d"}, "bad": {}}}')
    shown = zot("mcp", "import", "--dry-run", model=False)
    assert "codex-one: from codex" in shown.out and not (home / "zot" / "mcp.json").exists()
    ran = zot("mcp", "import", model=False)
    assert ran.code == 0 and 'bad: expected "command"' in ran.err
    servers = json.loads((home / "zot" / "mcp.json").read_text())["mcpServers"]
    assert set(servers) == {"claude-one", "claude-two", "codex-one", "codex-two", "code-one", "cursor-one"}
    assert servers["codex-two"]["headers"] == {"Authorization": "Bearer ${C_TOKEN}"}
    assert servers["code-one"]["env"] == {"T": "${T}"}
    assert "claude-one: already in" in zot("mcp", "import", "claude", model=False).out


def test_servers_of_a_project_are_imported_into_the_project(zot: Zot) -> None:
    """They come with a clone: the user has to trust them first."""
    (zot.project / ".vscode").mkdir()
    (zot.project / ".vscode" / "mcp.json").write_text('{"servers": {"clone": {"command": "touch", "args": ["ran"]}}}')
    ran = zot("mcp", "import", model=False)
    assert ran.code == 0 and "zot mcp trust" in ran.err, ran.err
    assert "clone" in (zot.project / ".mcp.json").read_text() and not (zot.home / "zot" / "mcp.json").exists()
    assert zot("mcp", "test", "clone", model=False).code != 0 and not (zot.project / "ran").exists()


def test_doctor_lists_servers_and_their_problems(zot: Zot) -> None:
    mine(zot, fake=command(), lost={"command": "no-such-program"}, unset={"command": "sh", "args": ["${NO_SUCH_NAME}"]})
    configure(zot.project / ".mcp.json", theirs=command())
    ran = zot("doctor", model=False)
    assert "fake (not listed yet), lost (not listed yet), unset (not listed yet), theirs (not trusted)" in ran.out
    assert "mcp: lost: command not found: 'no-such-program'" in ran.out + ran.err
    assert "mcp: unset: NO_SUCH_NAME is not set" in ran.out + ran.err


def test_jailed_run_jails_its_servers(zot: Zot, serve: Any) -> None:
    """Its process can change nothing outside the project, and without a network no other host is reached."""
    outside = zot.home / "outside"
    (zot.project / "server.py").write_text(Path(command()["args"][2]).read_text())  # nothing else of ours is in there
    script = f"echo x > {outside}; echo in > inside; exec {command()['command']} -I -S server.py '{{}}'"
    mine(zot, fake={"command": "sh", "args": ["-c", script]}, web={"type": "http", "url": "http://127.0.0.1:9/mcp"})
    server = serve([FIND, ECHO, CallTools([("mcp_search", {"query": "x", "server": "web"})]), Say("done")])
    ran = zot("-p", "--jail", "hi")
    assert ran.code == 0, ran.err
    assert "from the server" in last_result(server.requests[2])
    assert (zot.project / "inside").exists() and not outside.exists()
    assert "the jail has no network" in last_result(server.requests[3])


def test_unverifiable_server_is_not_trusted(zot: Zot, serve: Any) -> None:
    configure(zot.project / ".mcp.json")
    zot("mcp", "trust", "fake", model=False)
    (zot.home / "zot" / "trust.json").write_text("{half")
    server = serve([Say("hello")])
    ran = zot("-p", "hi")
    assert ran.code == 1 and "trust.json" in ran.err and server.requests == []


def test_a_tool_of_a_server_is_named_as_any_other(zot: Zot, serve: Any) -> None:
    mine(zot)
    zot("mcp", "test", "fake", model=False)
    server = serve([ECHO, Say("done"), Say("x")])
    assert zot("-p", "--tools", "read,mcp__fake__echo", "hi").code == 0
    assert tools_of(server.requests[0]) == ["mcp__fake__echo", "read"]
    assert "from the server" in last_result(server.requests[1])
    wrong = zot("-p", "--tools", "mcp__fake__ecko", "hi")
    assert wrong.code == 2 and "no tool named mcp__fake__ecko" in wrong.err


async def test_side_chat_can_call_tools_it_discovers(zot: Zot, serve: Any) -> None:
    """Its parent, which did not search, gets no new tools."""
    mine(zot)
    server = serve([CallTools([("mcp_search", {"query": "echo,resource"})]), ECHO, Say("done"), Say("mine")])
    config = RunConfig(
        provider="anthropic", base_url=server.url, api_key="k", cwd=str(zot.project), home=zot.home / "zot"
    )
    async with build(config) as conversation:
        await conversation.child().prompt("look")
        await conversation.prompt("hi")
    assert {"mcp__fake__echo", "mcp_resource"} <= set(tools_of(server.requests[1]))
    assert "from the server" in last_result(server.requests[2])
    assert "mcp__fake__echo" not in tools_of(server.requests[3])


def test_server_that_closes_stdin_is_reported_with_its_stderr(zot: Zot) -> None:
    script = "exec 0<&-; sleep 0.3; echo no licence >&2; exit 3"
    mine(zot, dies={"command": "sh", "args": ["-c", script]})
    ran = zot("mcp", "test", "dies", model=False)
    assert ran.code == 1 and "exited (exit status 3): no licence" in ran.err


@pytest.mark.parametrize("era", ["modern", "classic"])
@pytest.mark.parametrize("method", ["sampling/createMessage", "roots/list"])
def test_no_server_gets_a_model_or_a_list_of_directories(zot: Zot, serve: Any, era: str, method: str) -> None:
    mine(zot, fake=command(era=era))
    ask = CallTools([("mcp__fake__ask", {"method": method})])
    server = serve([CallTools([("mcp_search", {"query": "ask"})]), ask, Say("done")])
    assert zot("-p", "hi").out == "done\n" and len(server.requests) == 3
    answer = last_result(server.requests[2]).replace("\\", "")
    assert (
        '"action": "error"' in answer if era == "classic" else f"requested '{method}', which zot does not" in answer
    ), answer


def test_two_names_that_are_one_after_cleaning_stay_two_servers(zot: Zot, serve: Any) -> None:
    mine(zot, **{"a.b": command(), "a_b": command()})
    calls = [("mcp__a_b__echo", {"text": "one"}), ("mcp__a_b_2__echo", {"text": "two"})]
    server = serve([CallTools([("mcp_search", {"query": "echo"})]), CallTools(calls), Say("done")])
    ran = zot("-p", "hi")
    assert len(server.requests) == 3, (ran.err, ran.out)
    answer = last_result(server.requests[2])
    assert '"one"' in answer and '"two"' in answer and "is called a_b_2" in ran.err, (answer, ran.err)


def test_hook_and_extension_apply_to_server_tools(zot: Zot, serve: Any, tmp_path: Path) -> None:
    mine(zot)
    guard = {"matcher": "mcp__fake__.*", "hooks": [{"type": "command", "command": "echo hooked >&2; exit 2"}]}
    hooks = zot.home / "zot" / "hooks.json"
    hooks.write_text(json.dumps({"hooks": {"PreToolUse": [guard]}}))
    server = serve([FIND, ECHO, Say("done")])
    zot("-p", "hi")
    assert "hooked" in last_result(server.requests[2])
    hooks.unlink()
    folder = tmp_path / "guard"
    folder.mkdir()
    (folder / "extension.json").write_text(json.dumps({"name": "guard", "exec": sys.executable, "args": ["main.py"]}))
    (folder / "main.py").write_text(GUARD)
    server = serve([FIND, ECHO, Say("done")])
    ran = zot("-p", "--ext", str(folder), "hi")
    assert "guarded" in last_result(server.requests[2]), ran.err


GUARD = """
from zot.ext import Extension

ext = Extension("guard", "1.0.0")

@ext.intercept_tool_call
def look(name, args):
    return not name.startswith("mcp__"), "guarded"

ext.run()
"""


def test_run_without_guests_imports_no_guest_module(zot: Zot, serve: Any) -> None:
    serve([Say("hi")])
    zot.environment["PYTHONPROFILEIMPORTTIME"] = "1"
    ran = zot("-p", "hello")
    assert "zot.agent.conversation" in ran.err
    assert [line for line in ran.err.splitlines() if any(f"zot.features.{room}" in line for room in ROOMS)] == []


ROOMS = ("mcp", "hooks", "plugins", "templates", "trust")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"command": "/nonexistent/program"}, "/nonexistent/program: No such file or directory"),
        ({"command": "/etc/passwd"}, "/etc/passwd: Permission denied"),
        ({"command": "cat", "cwd": "/nonexistent"}, "the working directory /nonexistent does not exist"),
        ({"command": "echo", "args": ["x" * 200_000]}, "Argument list too long"),
        ({"command": "echo", "args": ["a\0b"]}, "embedded null byte"),
        ({"command": "cat", "env": {"A=B": "x"}}, "illegal environment variable name"),
    ],
    ids=["missing", "not executable", "cwd", "too long", "null byte", "variable"],
)
def test_server_that_cannot_start_is_reported_with_its_reason(
    zot: Zot, serve: Any, entry: dict[str, Any], reason: str
) -> None:
    mine(zot, broken=entry)
    tried = zot("mcp", "test", "broken", model=False)
    assert tried.code == 1 and reason in tried.err + tried.out and "Traceback" not in tried.err
    server = serve([CallTools([("mcp_search", {"query": "x"})]), Say("done")])
    ran = zot("-p", "hi")
    assert ran.code == 0 and "Traceback" not in ran.err
    assert f"broken has no tools now: broken: cannot start: {'' if reason[0] != '/' else reason}" in last_result(
        server.requests[1]
    )


def test_server_that_hangs_does_not_delay_the_others(zot: Zot, serve: Any) -> None:
    mine(zot, fake=command(), hangs={"command": "sleep", "args": ["1000"]})
    server = serve([FIND, ECHO, Say("done")])
    began = time.monotonic()
    ran = zot("-p", "hi")
    assert ran.code == 0 and time.monotonic() - began < 10
    assert "mcp__fake__echo" in last_result(server.requests[1])
    assert "hangs has no tools now: still starting" in last_result(server.requests[1])
    assert "from the server" in last_result(server.requests[2])
