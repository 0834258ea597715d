"""``--ask-outside``: asks the user about a path or host that a jailed call needs. *once* runs the call again with
it, *session* remembers it, *never* stops the questions; without an answer the call stays denied."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from zot.agent.tools.registry import BashLimits, LazyTool, offered_tools
from zot.agent.tools.workspace import JailedToolError, Workspace
from zot.core.tool import ToolContext, ToolResult
from zot.features.questions import Question, QuestionQueue
from zot.provider.messages import TextBlock, ToolCallBlock
from zot.system.safe_open import create

if TYPE_CHECKING:
    from pathlib import Path

    from zot.core.tool import Tool
    from zot.system.jail.jail import Jail
    from zot.system.jail.policy import Wish

Decision = Literal["once", "session", "never", "deny"]
_MOST_OFFERS = 2  # per call: the next missing path shows only after the first is granted
_WRITING = ("write", "edit")
_NOTHING = "Do not try to bypass the jail; say what you needed and why, then continue without it or stop."


class OutsideRequest(Question[Decision], frozen=True):
    """Asks whether a call may use paths or hosts outside the jail; approval runs it again.
    ``origin`` is the extension that made the call, ``worker`` the swarm worker, if any."""

    kind: ClassVar[str] = "outside"
    call: ToolCallBlock
    wishes: tuple[Wish, ...]
    origin: str = ""
    worker: str = ""

    @property
    def source(self) -> str:
        return self.worker

    def denial(self, reason: str = "") -> Decision:
        return "deny"


class OutsideAccess:
    """Granted and permanently denied access of one run.
    ``notify`` reports access denied without a user. Unless ``asks``, nothing is asked."""

    def __init__(
        self,
        workspace: Workspace,
        home: Path,
        questions: QuestionQueue,
        notify: Callable[[str], None],
        *,
        asks: bool = True,
    ) -> None:
        self.asks = asks
        self._questions = questions
        self._workspace = workspace
        self._home = home
        self._notify = notify
        self._never: set[Wish] = set()
        self._mentioned: set[Wish] = set()

    def wishes(self, call: ToolCallBlock, ended: ToolResult | JailedToolError, workspace: Workspace) -> list[Wish]:
        """Access a failed call needed; empty if it succeeded or failed for other reasons."""
        jail = workspace.jail
        if (
            not self.asks
            or jail is None
            or (isinstance(ended, ToolResult) and not (ended.is_error and call.name == "bash"))
        ):
            return []
        from zot.system.jail.access_requests import AccessContext, request_for_file, requests_from_output

        own = tuple(filter(None, (os.path.realpath(self._home), jail.own_directory)))
        context = AccessContext(jail.policy, str(self._workspace.cwd), jail.home, own)
        if isinstance(ended, JailedToolError):
            wish = request_for_file(ended.path, context, writing=call.name in _WRITING) if ended.path else None
            return [wish] if wish is not None else []
        command = str((call.args or {}).get("command", ""))
        return requests_from_output(
            "\n".join(block.text for block in ended.content if isinstance(block, TextBlock)).removeprefix(
                f"$ {command}\n"
            ),
            command,
            context,
        )

    async def decide(self, offer: OutsideRequest) -> tuple[Jail | None, str]:
        """The jail to run the call in again, or None, and the note for the model."""
        from zot.system.jail.access_requests import is_granted, with_access

        wanted = " and ".join(map(str, offer.wishes))
        async with self._questions.section("outside"):
            jail = self._workspace.jail
            if jail is None or all(is_granted(jail.policy, wish) for wish in offer.wishes):  # decided meanwhile
                return jail, ""
            if self._never.issuperset(offer.wishes):
                return (
                    None,
                    f"[jailed: this needs {wanted}, outside the jail. The user does not want to be asked. {_NOTHING}]",
                )
            if not self._questions.can_ask(offer.kind):
                for wish in offer.wishes:
                    if wish not in self._mentioned:
                        self._mentioned.add(wish)
                        self._notify(f"jail: denied access: {str(wish).removeprefix('to ')} (no user to ask)")
                return None, f"[jailed: this needs {wanted}, outside the jail. There is no user to ask. {_NOTHING}]"
            match await self._questions.ask(offer, on_failure=self._report_failure):
                case "once":
                    return jail.with_access(
                        with_access(jail.policy, offer.wishes)
                    ), f"[the user allowed this call {wanted}]"
                case "session":
                    self._workspace.jail = jail.with_access(with_access(jail.policy, offer.wishes))
                    return self._workspace.jail, f"[the user allowed {wanted} from now on]"
                case "never":
                    self._never.update(offer.wishes)
                case "deny":
                    pass
        return None, f"[jailed: this needs {wanted}, outside the jail. The user was asked and refused. {_NOTHING}]"

    def _report_failure(self, reason: str) -> None:
        self._notify(f"jail: cannot ask about outside access: {reason}")


class OutsideRetryTool(LazyTool):
    """A built-in tool that asks after a denial by the jail.
    A call allowed once runs in its own workspace, so that parallel calls do not share the grant."""

    def __init__(self, name: str, workspace: Workspace, limits: BashLimits, outside: OutsideAccess) -> None:
        super().__init__(name, *offered_tools(workspace, limits)[name])
        self._workspace = workspace
        self._limits = limits
        self._outside = outside

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        workspace, tool = self._workspace, self.prepare()
        ended = await _tried(tool, args, context)
        notes: list[str] = []
        for _ in range(_MOST_OFFERS):
            wishes = self._outside.wishes(context.call, ended, workspace)
            if not wishes:
                break
            jail, note = await self._outside.decide(OutsideRequest(context.call, tuple(wishes), context.origin))
            notes += [note] if note else []
            if jail is None:
                break
            workspace = self._workspace.within(jail)
            tool = offered_tools(workspace, self._limits)[self.name][1]()
            ended = await self._again(tool, args, context, wishes, jail)
        if isinstance(ended, JailedToolError):
            raise type(ended)("\n".join([str(ended), *notes]))
        if not notes:
            return ended
        last = ended.content[-1] if ended.content else TextBlock("")
        if not isinstance(last, TextBlock):
            return msgspec.structs.replace(ended, content=(*ended.content, TextBlock("\n".join(notes))))
        text = "\n".join(filter(None, [last.text, *notes]))
        return msgspec.structs.replace(ended, content=(*ended.content[:-1], TextBlock(text)))

    async def _again(
        self, tool: Tool, args: dict[str, Any], context: ToolContext, wishes: Sequence[Wish], jail: Jail
    ) -> ToolResult | JailedToolError:
        made = [wish.path for wish in wishes if wish.missing and self.name == "bash" and _made(wish)]
        failed = True
        try:
            ended = await _tried(tool, args, context)
            failed = isinstance(ended, JailedToolError) or ended.is_error
            return ended
        finally:
            for path in made if failed else ():
                with suppress(OSError):
                    if os.path.isdir(path):
                        os.rmdir(path)
                    elif not os.lstat(path).st_size:
                        os.unlink(path)
            if jail is not self._workspace.jail:
                jail.remove_mount_points(wish.path for wish in wishes if wish.path)


async def _tried(tool: Tool, args: dict[str, Any], context: ToolContext) -> ToolResult | JailedToolError:
    try:
        return await tool.execute(args, context)
    except JailedToolError as refused:
        return refused


def _made(wish: Wish) -> bool:
    """Creates the empty file or directory: a jail can only open existing paths."""
    with suppress(OSError):
        if wish.kind == "directory":
            os.mkdir(wish.path)
        else:
            os.close(create(wish.path, 0o666))
        return True
    return False
