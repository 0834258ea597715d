"""``exec.run`` and ``terminal.run``: programs that zot runs for an extension. ``exec.run`` passes interceptors, guards
and the permission gate as a call of the tool ``exec``."""

from __future__ import annotations

import asyncio
import re
from typing import Any, cast

import msgspec

from zot.core.tool import ToolContext, ToolResult, refused_of, text_result
from zot.errors import ToolError
from zot.features.extensions.program import Ended, Program, prepared
from zot.features.extensions.program import run as run_program
from zot.features.extensions.requests import MethodCall, RequestError
from zot.provider.messages import TextBlock
from zot.wire import limits

_NAME = "exec"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_WORDS = 1000


class _RunParams(msgspec.Struct, frozen=True):
    argv: tuple[str, ...]
    cwd: str = ""
    env: dict[str, str] = {}
    stdin: str = ""
    timeout_s: int = 0
    max_output: int = limits.PROGRAM_OUTPUT


async def run(call: MethodCall) -> dict[str, Any]:
    params = call.params(_RunParams)
    _check(params)
    tool = _ExecTool(call, params)
    args: dict[str, Any] = {"argv": list(params.argv), "cwd": params.cwd or str(call.conversation.workspace.cwd)}
    result = await call.conversation.agent.run_tool(_NAME, args, call.child.name, tool=tool)
    if tool.failure is not None:
        raise tool.failure
    return _answer(result, tool)


def _check(params: _RunParams) -> None:
    _check_words("exec.run", params.argv)
    if wrong := next((name for name in params.env if not _VARIABLE.fullmatch(name)), None):
        raise RequestError("bad_params", f"exec.run: env: {wrong[:60]!r} is no name of a variable")
    if any("\0" in value for value in params.env.values()):
        raise RequestError("bad_params", "exec.run: env: a value contains a NUL character")
    if not 0 <= params.timeout_s <= limits.PROGRAM_LONGEST:
        raise RequestError("bad_params", f"exec.run: timeout_s: expected 1 to {limits.PROGRAM_LONGEST}")
    if not 1 <= params.max_output <= limits.PROGRAM_MOST_OUTPUT:
        raise RequestError("bad_params", f"exec.run: max_output: expected 1 to {limits.PROGRAM_MOST_OUTPUT}")


def _check_words(method: str, argv: tuple[str, ...]) -> None:
    if not argv or not argv[0].strip():
        raise RequestError("bad_params", f"{method}: argv: expected a program")
    if len(argv) > _MOST_WORDS or any("\0" in word for word in argv):
        raise RequestError("bad_params", f"{method}: argv: expected at most {_MOST_WORDS} words without NUL characters")


def _answer(result: ToolResult, tool: _ExecTool) -> dict[str, Any]:
    """What the program wrote, unless an interceptor replaced it."""
    text = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
    ended = tool.ended
    if refused_of(result.details) or (result.is_error and ended is not None):
        raise RequestError("refused", f"exec.run: {text}")
    if ended is None:  # another extension answered in its place
        ended = Ended(1 if result.is_error else 0, text, "", False)
    elif result.content != tool.content:
        ended = msgspec.structs.replace(ended, stdout=text, stderr="")
    answer: dict[str, Any] = {"code": ended.code, **({"signal": ended.signal} if ended.signal else {})}
    return {**answer, "stdout": ended.stdout, "stderr": ended.stderr, "truncated": ended.truncated}


class _ExecTool:
    """One run, as a tool: interceptors may change ``argv`` and ``cwd``. ``failure`` is why it did not run."""

    def __init__(self, call: MethodCall, params: _RunParams) -> None:
        self.name = _NAME
        self.description = "Runs a program for an extension."
        self.schema: dict[str, Any] = {"type": "object"}
        self.read_only = False
        self._call = call
        self._params = params
        self.ended: Ended | None = None
        self.content: tuple[Any, ...] = ()
        self.failure: RequestError | None = None

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        try:
            self.ended = await self._run(args)
        except RequestError as error:
            self.failure = RequestError(error.code, f"exec.run: {error}", error.data)
            raise ToolError(str(error)) from error
        ended = self.ended
        text = "\n".join(filter(None, (ended.stdout, ended.stderr, f"[exit {ended.code}]")))
        result = text_result(text, details={"exit_code": ended.code})
        self.content = result.content
        return result

    async def _run(self, args: dict[str, Any]) -> Ended:
        words: Any = args.get("argv")
        argv = [str(word) for word in cast("list[Any]", words)] if isinstance(words, list) else []
        _check_words("argv", tuple(argv))
        call, params = self._call, self._params
        workspace = call.conversation.workspace
        with prepared(call.host, call.child, argv, str(args.get("cwd") or ""), params.env) as program:
            async with workspace.record_command(_NAME):
                return await _limited(program, params)


async def _limited(program: Program, params: _RunParams) -> Ended:
    """``timeout_s`` limits the whole, else the silence is limited."""
    silence = None if params.timeout_s else limits.PROGRAM_SILENCE
    seconds = params.timeout_s or limits.PROGRAM_SILENCE
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds) as clock:

            def heard(data: bytes) -> None:
                if silence is not None and not clock.expired():
                    clock.reschedule(loop.time() + silence)

            return await run_program(program, params.stdin.encode("utf-8", "replace"), params.max_output, heard)
    except TimeoutError:
        what = "without output" if silence else "the limit is timeout_s"
        raise RequestError("timeout", f"{program.argv[0]} was stopped after {seconds:g} s; {what}") from None


# --- in the user's terminal


class _TerminalParams(msgspec.Struct, frozen=True):
    argv: tuple[str, ...]
    cwd: str = ""


async def run_in_terminal(call: MethodCall) -> dict[str, Any]:
    params = call.params(_TerminalParams)
    _check_words("terminal.run", params.argv)
    if call.host.mode != "terminal":
        raise call.unavailable("there is no terminal in this mode")
    if not call.serves_user("user_shell"):
        raise RequestError("refused", "terminal.run: expected the parent_id of a command or key that the user used")
    try:
        with prepared(call.host, call.child, list(params.argv), params.cwd, {}) as program:
            running = call.host.surface.run_in_terminal(call.child.name, params.argv, lambda: _lent(program))
            if running is None:
                raise call.unavailable("there is no terminal in this mode")
            return {"code": await running}
    except RequestError as error:
        raise RequestError(error.code, f"terminal.run: {str(error).removeprefix('terminal.run: ')}") from error


async def _lent(program: Program) -> int:
    """Run it on the terminal that zot released."""
    if program.jail is None:
        child = await asyncio.create_subprocess_exec(*program.argv, cwd=program.cwd, env=program.environment)
        try:
            code = await child.wait()
        except asyncio.CancelledError:
            child.kill()
            await child.wait()
            raise
        return code if code >= 0 else 128 - code
    from zot.system.processes import spawn

    place, environment, jail = program.cwd, program.environment, program.jail
    tree = spawn(program.argv, stdin=0, stdout=1, stderr=2, cwd=place, env=environment, jail=jail)
    try:
        code = await tree.wait()
    except asyncio.CancelledError:
        await tree.stop()
        raise
    tree.detach()
    if tree.jail_failed:
        raise RequestError("failed", "the jail could not be built")
    return code if code >= 0 else 128 - code
