"""The tool ``todo``: the model replaces its list of steps, every front end shows it, and ``/todos`` prints it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from zot.agent.feature import Feature
from zot.core.events import SessionStarted, Todo, Todos
from zot.core.permission_modes import CallClass
from zot.core.tool import ATTACHED, KEPT, Tool, ToolContext, ToolResult, text_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from zot.agent.conversation import Conversation
    from zot.agent.slash_commands import CommandAnswer, SlashCommand
    from zot.core.events import AgentEvent

_DESCRIPTION = (
    "Keep a list of the steps of a longer task; the user sees it. Send the whole list each time. Use it for work of "
    "three steps or more: exactly one step is in_progress while you work, and each becomes done as soon as it is."
)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "done"]},
                },
                "required": ["text", "status"],
            },
        }
    },
    "required": ["items"],
}


class TodoTool:
    """``show`` receives each new list."""

    name = "todo"
    description = _DESCRIPTION
    schema = _SCHEMA
    read_only = False

    def __init__(self, show: Callable[[tuple[Todo, ...]], None]) -> None:
        self._show = show

    def classify(self, args: dict[str, Any]) -> CallClass:
        return CallClass("look")

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        from zot.features.todo.todo_list import NAME, parse_todos, progress, to_text

        todos = parse_todos(args)
        self._show(todos)
        text = f"saved: {progress(todos)}" if todos else "cleared"
        return text_result(text, details={ATTACHED: {KEPT: {NAME: to_text(todos)}}})


class TodoFeature(Feature):
    """``shown`` is the list that subscribers know."""

    name: ClassVar[str] = "todo"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._shown: tuple[Todo, ...] = ()

    def join(self) -> None:
        self.conversation.subscribe(self._session_started, SessionStarted)

    def tools(self, taken: Collection[str]) -> list[Tool]:
        return [TodoTool(self._show)]

    def tool_names(self) -> Iterable[str]:
        return (TodoTool.name,)

    def for_child(self, child: Conversation) -> Feature | None:
        """A side conversation keeps its own list, which is not shown."""
        agent = child.agent
        if TodoTool.name in agent.toolbox:
            others = [tool for tool in agent.tools if tool.name != TodoTool.name]
            agent.set_tools([*others, TodoTool(lambda todos: None)])
        return None

    def _show(self, todos: tuple[Todo, ...]) -> None:
        self._shown = todos
        self.conversation.emit(Todos(todos))

    def _session_started(self, event: AgentEvent) -> None:
        """Resumed, forked, rewound or cleared: the list of this branch."""
        if not self.conversation.messages and not self._shown:
            return
        from zot.features.todo.todo_list import todos_in  # only with a transcript

        todos = todos_in(self.conversation.messages)
        if todos != self._shown:
            self._show(todos)
        if todos:
            self.conversation.toolset.activate([TodoTool.name])

    def slash_commands(self) -> Iterable[SlashCommand]:
        from zot.agent.slash_commands import SlashCommand  # most headless runs have no command

        return (SlashCommand("todos", "show the list of steps that the model keeps", source="zot"),)

    async def run_slash_command(self, name: str, arguments: str) -> CommandAnswer:
        from zot.agent.slash_commands import Display
        from zot.features.todo.todo_list import progress, to_text, todos_in

        todos = todos_in(self.conversation.messages)
        if not todos:
            return Display("zot", "the model keeps no list of steps in this session")
        return Display("zot", f"{progress(todos)}\n{to_text(todos)}")
