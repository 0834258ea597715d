"""Drives every capability of ``zot acp`` with the Python SDK: prints one JSON object with what it saw.
``client.mjs`` does the same with the TypeScript SDK."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp import schema

seen: dict[str, Any] = {"kinds": [], "text": "", "asked": [], "written": {}, "forms": [], "terminals": []}
seen |= {"titles": [], "costs": 0, "texts": {}}


class Editor:
    """The client's side: answers what zot asks, runs commands in terminals of its own."""

    def __init__(self) -> None:
        self.processes: list[asyncio.subprocess.Process] = []
        self.outputs: dict[int, bytes] = {}

    def on_connect(self, conn: Any) -> None:
        pass

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        seen["asked"].append(tool_call.title)
        chosen = next(option for option in options if option.kind == "allow_once")
        outcome = {"outcome": "selected", "optionId": chosen.option_id}
        return schema.RequestPermissionResponse.model_validate({"outcome": outcome})

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        seen["kinds"].append(update.session_update)
        match update.session_update:
            case "agent_message_chunk":
                seen["text"] += update.content.text
                seen["texts"][session_id] = seen["texts"].get(session_id, "") + update.content.text
            case "session_info_update":
                seen["titles"].append(update.title)
            case "usage_update":
                seen["costs"] += update.cost.amount >= 0
            case _:
                pass

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> Any:
        seen["written"][path] = content
        return acp.WriteTextFileResponse()

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> Any:
        return acp.ReadTextFileResponse(content="from the editor\n")

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        seen["forms"].append(message)
        return acp.AcceptElicitationResponse(action="accept", content={"0": "B"})

    async def create_terminal(self, session_id: str, command: str, args: Any = None, cwd: Any = None, **_: Any) -> Any:
        pipe = asyncio.subprocess.PIPE
        self.processes.append(await asyncio.create_subprocess_exec(command, *args, cwd=cwd, stdout=pipe))
        seen["terminals"].append("create")
        return acp.CreateTerminalResponse(terminal_id=str(len(self.processes) - 1))

    async def wait_for_terminal_exit(self, session_id: str, terminal_id: str, **_: Any) -> Any:
        process = self.processes[int(terminal_id)]
        self.outputs[int(terminal_id)], _none = await process.communicate()
        return acp.WaitForTerminalExitResponse(exit_code=process.returncode)

    async def terminal_output(self, session_id: str, terminal_id: str, **_: Any) -> Any:
        return acp.TerminalOutputResponse(output=self.outputs[int(terminal_id)].decode(), truncated=False)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        seen["terminals"].append("kill")
        self.processes[int(terminal_id)].kill()

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        seen["terminals"].append("release")


async def work(agent: Any, cwd: str, other: str, servers: list[Any], blocks: list[Any]) -> None:
    capabilities = {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "elicitation": {"form": {}},
        "auth": {"terminal": True},
    }
    hello = await agent.initialize(
        protocol_version=1, client_capabilities=schema.ClientCapabilities.model_validate(capabilities)
    )
    seen["methods"] = [each.id for each in hello.auth_methods]
    announced = hello.agent_capabilities.session_capabilities.model_dump(by_alias=True, exclude_none=True)
    seen["capabilities"] = sorted(announced)
    done = await agent.authenticate(method_id="zot-key")
    seen["authenticated"] = done.model_dump(exclude_none=True) if done else {}
    rows = [schema.McpServerStdio.model_validate(server) for server in servers]
    session = await agent.new_session(cwd=cwd, mcp_servers=rows)
    first = session.session_id
    seen["modes"] = [each.id for each in session.modes.available_modes]
    seen["options"] = [each.id for each in session.config_options]
    await agent.set_session_mode(session_id=first, mode_id="ask")
    changed = await agent.set_config_option(session_id=first, config_id="reasoning", value="low")
    seen["reasoning"] = next(each for each in changed.config_options if each.id == "reasoning").current_value

    async def ask(session_id: str, text: str, more: Any = ()) -> str:
        return (await agent.prompt(session_id=session_id, prompt=[acp.text_block(text), *more])).stop_reason

    seen["stop"] = await ask(first, "go")
    models = {
        "image": schema.ImageContentBlock,
        "resource": schema.EmbeddedResourceContentBlock,
        "resource_link": schema.ResourceContentBlock,
    }
    seen["looked"] = await ask(first, "look", [models[each["type"]].model_validate(each) for each in blocks])
    seen["served"] = await ask(first, "use the server")

    async def cancel(text: str) -> str:
        running = asyncio.ensure_future(ask(first, text))
        await asyncio.sleep(0.5)
        await agent.cancel(session_id=first)
        return await running

    seen["cancelled"] = [await cancel("count"), await cancel("wait")]

    second = (await agent.new_session(cwd=other, mcp_servers=[])).session_id
    seen["elsewhere"] = await ask(second, "where")
    seen["both"] = await asyncio.gather(ask(first, "both"), ask(second, "both"))
    await agent.close_session(session_id=second)
    try:
        await ask(second, "closed")
    except acp.RequestError as error:
        seen["closed"] = error.code

    listed = await agent.list_sessions(cwd=cwd)
    seen["listed"] = [[row.session_id == first, row.title] for row in listed.sessions]
    before = len(seen["kinds"])
    await agent.load_session(session_id=first, cwd=cwd, mcp_servers=[])
    seen["replayed"], before = seen["kinds"][before:], len(seen["kinds"])
    await agent.resume_session(session_id=second, cwd=other, mcp_servers=[])
    seen["resumed"] = await ask(second, "again")
    seen["repeated"] = seen["kinds"][before:]
    fork = (await agent.fork_session(session_id=first, cwd=cwd, mcp_servers=[])).session_id
    seen["forked"] = [fork != first, await ask(fork, "aside")]
    connection = agent._conn  # the SDK has no method of these names
    for session_id in (fork, second):
        await connection.send_request("session/delete", {"sessionId": session_id})
    seen["rest"] = [row.session_id == first for row in (await agent.list_sessions()).sessions]
    try:
        await connection.send_request("logout", {})
    except acp.RequestError as error:
        seen["logout"] = str(error)
    seen["secondText"] = seen["texts"][second]


async def main() -> None:
    given = json.loads(sys.argv[1])
    program, *arguments = sys.argv[2:]
    # the SDK speaks about unstable methods only if it is told to
    options: dict[str, Any] = {"use_unstable_protocol": True}
    async with acp.spawn_agent_process(
        Editor(), program, *arguments, env=dict(os.environ), cwd=given["cwd"], **options
    ) as (agent, process):
        await work(agent, given["cwd"], given["other"], given["servers"], given["blocks"])
    assert process.returncode is not None
    print(json.dumps(seen))


asyncio.run(main())
