"""issue 33.1: independent client libraries and an existing client drive `zot acp`."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

from tests.conformance.acp.conftest import Connect
from tests.e2e.conftest import Zot
from tests.fakes.acp_client import SCHEMA
from tests.fakes.model_server import CallTools, Say, Slow

MODULES = SCHEMA.parents[4]
QUESTION = {"question": "Which one?", "options": [{"label": "A"}, {"label": "B"}]}
FLAGS = ("--tools", "bash,write,read,edit,ask_user,todo", "--permission-mode", "ask")


def turns() -> list[Any]:
    return [
        CallTools([("todo", {"items": [{"text": "one", "status": "pending"}]})]),
        CallTools([("ask_user", {"questions": [QUESTION]})]),
        CallTools([("write", {"path": "new.txt", "content": "words"})]),
        CallTools([("bash", {"command": "touch made"})]),
        Say("all done", reasoning="hm"),
        Slow(Say("word " * 400), 0.05),
    ]


def environment(zot: Zot) -> dict[str, str]:
    return {**zot.env(), "NODE_PATH": str(MODULES)}


def test_typescript_sdk_drives_a_session(zot: Zot, serve: Any, tmp_path: Path) -> None:
    serve(turns())
    program = Path(__file__).with_name("client.mjs")
    copy = MODULES.parent / f"client-{tmp_path.name}.mjs"  # modules are found beside the program
    copy.write_text(program.read_text())
    try:
        argv = ["node", str(copy), str(zot.project), *zot.argv(["acp", *FLAGS, *zot.endpoint(True)])]
        ran = subprocess.run(argv, env=environment(zot), capture_output=True, timeout=60)
    finally:
        copy.unlink()
    assert ran.returncode == 0, ran.stderr.decode()
    seen = json.loads(ran.stdout)
    assert seen["methods"] == ["zot-key"] and seen["modes"][0] == "plan" and "model" in seen["options"]
    assert (seen["stop"], seen["cancelled"], seen["reasoning"], seen["listed"]) == (
        "end_turn",
        "cancelled",
        "low",
        [True],
    )
    assert seen["text"].startswith("all done") and "touch made" in seen["asked"] and seen["forms"] == ["Which one?"]
    assert seen["written"] == {str(zot.project / "new.txt"): "words"} and (zot.project / "made").exists()
    assert {"plan", "tool_call", "agent_thought_chunk", "usage_update"} <= set(seen["kinds"])
    assert seen["replayed"].count("user_message_chunk") == 2 and "tool_call" in seen["replayed"]


async def test_python_sdk_drives_a_session(zot: Zot, serve: Any) -> None:
    import acp
    from acp.schema import ClientCapabilities, ElicitationCapabilities, FileSystemCapabilities

    serve(turns())
    updates: list[Any] = []
    written: dict[str, str] = {}

    class Editor:
        def on_connect(self, conn: Any) -> None:
            pass

        async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
            chosen = next(option for option in options if option.kind == "allow_once")
            outcome = {"outcome": "selected", "optionId": chosen.option_id}
            return acp.schema.RequestPermissionResponse.model_validate({"outcome": outcome})

        async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
            updates.append(update)

        async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> Any:
            written[path] = content
            return acp.WriteTextFileResponse()

        async def read_text_file(self, session_id: str, path: str, **_: Any) -> Any:
            return acp.ReadTextFileResponse(content="x")

        async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
            return acp.AcceptElicitationResponse(action="accept", content={"0": "B"})

    program, *arguments = zot.argv(["acp", *FLAGS, *zot.endpoint(True)])
    async with acp.spawn_agent_process(Editor(), program, *arguments, env=zot.env(), cwd=zot.project) as (
        agent,
        process,
    ):
        files = FileSystemCapabilities(read_text_file=True, write_text_file=True)
        elicitation = ElicitationCapabilities.model_validate({"form": {}})
        hello = await agent.initialize(
            protocol_version=1, client_capabilities=ClientCapabilities(fs=files, elicitation=elicitation)
        )
        assert hello.agent_capabilities.load_session
        session = await agent.new_session(cwd=str(zot.project), mcp_servers=[])
        await agent.set_session_mode(session_id=session.session_id, mode_id="ask")
        done = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("go")])
        assert done.stop_reason == "end_turn"
        running = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=[acp.text_block("count")]))
        await asyncio.sleep(0.5)
        await agent.cancel(session_id=session.session_id)
        assert (await running).stop_reason == "cancelled"
        listed = await agent.list_sessions(cwd=str(zot.project))
        assert [row.session_id for row in listed.sessions] == [session.session_id]
        count = len(updates)
        await agent.load_session(session_id=session.session_id, cwd=str(zot.project), mcp_servers=[])
        assert "user_message_chunk" in [update.session_update for update in updates[count:]]
    kinds = {update.session_update for update in updates}
    assert {"plan", "tool_call", "tool_call_update", "agent_message_chunk", "agent_thought_chunk"} <= kinds
    assert written == {str(zot.project / "new.txt"): "words"} and (zot.project / "made").exists()
    assert process.returncode is not None


def test_acpx_runs_a_prompt(zot: Zot, serve: Any, connect: Connect) -> None:
    """A client people use: approvals by its own flags, the answer as text."""
    serve([CallTools([("bash", {"command": "touch made"})]), Say("it is done")])
    agent = " ".join(zot.argv(["acp", "--permission-mode", "ask", *zot.endpoint(True)]))
    argv = [str(MODULES / ".bin" / "acpx"), "--agent", agent, "--cwd", str(zot.project), "--approve-all"]
    ran = subprocess.run([*argv, "exec", "go"], env=environment(zot), capture_output=True, timeout=60, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "it is done" in ran.stdout and (zot.project / "made").exists()


def test_acp_cli_runs_a_prompt(zot: Zot, serve: Any) -> None:
    """Another client people use, written in Rust with the SDK of that language."""
    serve([CallTools([("bash", {"command": "touch made"})]), Say("it is done")])
    agent = zot.home / "zot-acp"
    agent.write_text(
        f"#!/bin/sh\nexec {' '.join(zot.argv(['acp', '--permission-mode', 'ask', *zot.endpoint(True)]))}\n"
    )
    agent.chmod(0o755)
    program = MODULES.parent / "cargo" / "bin" / "acp-cli"
    argv = [str(program), "--approve-all", str(agent), "exec", "go"]
    ran = subprocess.run(argv, cwd=zot.project, env=environment(zot), capture_output=True, timeout=60, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "it is done" in ran.stdout and (zot.project / "made").exists()
