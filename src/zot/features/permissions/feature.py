"""Permissions in a conversation: the gate that runs, asks about or denies tool calls, and the answers saved for a
project (``$ZOT_HOME/permissions.json``, by the project's real path)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.feature import Feature, PromptDraft
from zot.core.events import PERMISSION_MODE
from zot.core.permission_gate import Answer, PermissionGate
from zot.core.permission_modes import MODES, CallClass, Mode, Rule, parse_mode
from zot.errors import ConfigError, UsageError, describe_error
from zot.features.lookup import asks_outside
from zot.features.questions import Approval, question_queue
from zot.features.trust import project_key
from zot.provider.messages import Message, TextBlock, ToolCallBlock, utc_now
from zot.system.files import user_home
from zot.system.json_store import JsonStore

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.tools.workspace import Workspace
    from zot.core.permission_gate import ApprovalQuestion
    from zot.core.tool import Tool

# --- answers saved for a project

_MOST = 1_000  # rules of one project; beyond that something else wrote them


class _RulesFields(msgspec.Struct):
    version: int = 1
    projects: dict[str, list[Rule]] = {}


class KeptRules:
    """Those of one project. They are read once, when something would have to be asked; ``told`` hears what is wrong."""

    def __init__(self, home: Path, cwd: Path, told: Callable[[str], None]) -> None:
        self._file = _RulesFile(home / "permissions.json", _RulesFields, "fix the file or delete it")
        self.path = self._file.path
        self._project = project_key(cwd)
        self._told = told
        self._read: list[Rule] | None = None

    def __call__(self) -> list[Rule]:
        if self._read is None:
            self._read = []  # whatever happens now, it is not tried again
            try:
                self._read = self._file.load().projects.get(self._project, [])[:_MOST]
            except (ConfigError, OSError) as error:
                self._told(f"{describe_error(error)}; no kept permission holds until it is fixed")
        return self._read

    def keep(self, rule: Rule) -> None:
        """From now on, in later sessions too. ConfigError or OSError: nothing was kept."""
        with self._edit() as rules:
            if rule not in rules:
                rules.append(rule)

    def forget(self, rule: Rule) -> None:
        """The same errors; harmless for a rule that is not kept."""
        with self._edit() as rules:
            if rule in rules:
                rules.remove(rule)

    @contextmanager
    def _edit(self) -> Generator[list[Rule]]:
        """The rules as they are on disk, under the lock; written back when the block ends without an error."""
        with self._file.edit() as content:
            rules = content.projects.setdefault(self._project, [])
            yield rules
            content.projects = {project: rules for project, rules in content.projects.items() if rules}
        self._read = rules


class _RulesFile(JsonStore[_RulesFields]):
    def decode(self, data: bytes) -> _RulesFields:
        about = os.stat(self.path)
        if about.st_uid not in (os.getuid(), 0) or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ConfigError(f"{self.path}: others can write to it; make it yours alone with chmod 600")
        return super().decode(data)


_SPECIAL = frozenset({".git", ".hg", ".svn", ".zot", ".husky", ".vscode", ".idea"})  # what lies there may run by itself
_WILD = frozenset("*?[{\\")


class CallClassifier:
    """Call it with a call. ``own`` are the built-in tools of this run, ``tool_of`` finds any tool by its name. While
    they are ``jailed`` and what is outside is asked about, what they do inside needs no question."""

    def __init__(
        self,
        workspace: Workspace,
        home: Path,
        own: Callable[[], Collection[str]],
        tool_of: Callable[[str], Tool | None],
        jailed: Callable[[], bool] = lambda: False,
    ) -> None:
        self._workspace = workspace
        self._home = home
        self._own = own
        self._tool_of = tool_of
        self._jailed = jailed

    def __call__(self, call: ToolCallBlock) -> CallClass:
        args = call.args
        if call.name not in self._own() or args is None:
            # A tool of somebody else's is asked about whatever it says of itself; only planning believes that it
            # looks
            tool = self._tool_of(call.name)
            extension = str(getattr(tool, "extension", "") or "")
            looks = tool is not None and tool.read_only and call.name not in self._own()
            return CallClass("look elsewhere" if looks else "act", extension=extension)
        nature = self._of_ours(call.name, args)
        if nature.kind == "look" or not self._jailed():
            return nature
        return msgspec.structs.replace(nature, kind="look" if nature.kind == "look elsewhere" else "inside")

    def _of_ours(self, name: str, args: dict[str, Any]) -> CallClass:
        match name:
            case "read" | "grep":
                return CallClass("look" if self._is_inside(args.get("path") or ".") else "look elsewhere")
            case "glob":
                pattern, path = args.get("pattern"), args.get("path") or "."
                if (
                    not (isinstance(pattern, str) and isinstance(path, str))
                    or pattern.startswith("~")
                    or ".." in pattern
                ):
                    return CallClass("look elsewhere")
                named = takewhile(lambda part: not _WILD & set(part), pattern.split("/")[:-1])
                place = os.path.join("/", *named) if pattern.startswith("/") else os.path.join(path, *named)
                inside = self._is_inside(path) and self._is_inside(place)
                return CallClass("look" if inside else "look elsewhere")
            case "skill" | "agent_wait" | "agent_list":
                return CallClass("look")
            case "write" | "edit":
                real = self._real(args.get("path"))
                return CallClass(
                    "edit"
                    if real is not None
                    and self._holds(real)
                    and not _SPECIAL & set(real.parts[len(self._root().parts) :])
                    else "act"
                )
            case "bash":
                command = args.get("command")
                from zot.features.permissions.command_prefix import (
                    command_prefix,
                    split_simple_command,
                )  # its patterns are not wanted at the start

                words = split_simple_command(command) if isinstance(command, str) else ()
                return CallClass("act", words=words, prefix=command_prefix(words))
            case _:
                return CallClass()

    def _is_inside(self, path: object) -> bool:
        real = self._real(path)
        return real is not None and self._holds(real)

    def _real(self, path: object) -> Path | None:
        return Path(os.path.realpath(self._workspace.resolve(path))) if isinstance(path, str) else None

    def _root(self) -> Path:
        return Path(os.path.realpath(self._workspace.cwd))

    def _holds(self, real: Path) -> bool:
        root = self._root()
        if Path(os.path.realpath(user_home())).is_relative_to(root) or not real.is_relative_to(root):
            return False
        own = Path(os.path.realpath(self._home))
        return not real.is_relative_to(own) and not own.is_relative_to(real)  # a search above it would find it


# --- plan mode

_PLAN = (
    "[zot: the user has switched to plan mode. Do not change anything: tools that could are refused. Find out what you "
    "need to know with the tools that only read, ask about what is open, and answer with a plan of what you would do.]"
)
_OVER = (
    "[zot: the user has left plan mode. Tools that change something may be called again, within what the user permits.]"
)


def plan_mode_note(mode: Mode, messages: Sequence[Message]) -> Message | None:
    """What the model has not been told yet."""
    marks = (message.meta[PERMISSION_MODE] for message in reversed(messages) if PERMISSION_MODE in message.meta)
    planning, told = mode == "plan", next(marks, "") == "plan"
    if planning == told:
        return None
    return Message("user", (TextBlock(_PLAN if planning else _OVER),), utc_now(), {PERMISSION_MODE: mode})


class PermissionsFeature(Feature):
    """``saved_rules`` are the answers the user chose to keep."""

    name = "permissions"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._questions = question_queue(self.services)
        self.saved_rules = KeptRules(conversation.home, conversation.workspace.cwd, self.notify)

    def join(self) -> None:
        """UsageError for a mode or a limit that does not exist."""
        conversation, config, front_end = self.conversation, self.services.config, self.services.front_end
        wanted = (
            config.permission_mode or conversation.settings.values.permission_mode or self.services.constrained_mode
        )
        others = {tool.name for tool in front_end.tools}
        gate = conversation.agent.gate = PermissionGate(
            mode=_mode(wanted or "everything", "permission mode"),
            limit=_mode(config.permission_limit or "everything", "permission limit"),
            nature=CallClassifier(
                conversation.workspace,
                conversation.home,
                lambda: {tool.name for tool in conversation.toolset.own} - others,
                lambda name: conversation.agent.toolbox.get(name),
                self._asks_outside,
            ),
            kept=self.saved_rules,
            asks_each=config.ask_each,
        )
        self._questions.follow("approval", self._attach)
        if conversation.features.implementing("approve"):
            gate.stand_in = self._approve

    def _attach(self, can_ask: bool) -> None:
        gate = self.conversation.gate
        assert gate is not None
        gate.confirmer = self._ask_user if can_ask else None

    async def _ask_user(self, question: ApprovalQuestion) -> Answer:
        return await self._questions.ask(Approval(question), settled=lambda: self._settled(question))

    def _settled(self, question: ApprovalQuestion) -> Answer | None:
        """An answer to another question, or another mode, may decide this one while it waits."""
        gate = self.conversation.gate
        judged = gate.evaluate(question.call) if gate is not None else None
        if judged is None or judged.step == "ask":
            return None
        return Answer("once") if judged.step == "run" else Answer("deny", judged.reason)

    def _asks_outside(self) -> bool:
        return self.conversation.workspace.jail is not None and asks_outside(self.conversation)

    async def _approve(self, question: ApprovalQuestion) -> Answer | None:
        """The first feature that answers in the user's place."""
        for feature in self.conversation.features:
            if (answer := await feature.approve(question)) is not None:
                return answer
        return None

    def for_child(self, child: Conversation) -> Feature:
        return _PlanModeNotes(child)

    def on_prompt(self, draft: PromptDraft) -> None:
        add_plan_mode_note(self.conversation, draft)


class _PlanModeNotes(Feature):
    """The gate of a side conversation is its parent's; the model still learns of plan mode."""

    name = "permissions"

    def on_prompt(self, draft: PromptDraft) -> None:
        add_plan_mode_note(self.conversation, draft)


def add_plan_mode_note(conversation: Conversation, draft: PromptDraft) -> None:
    """The model learns with a prompt that plan mode began or ended; after a compaction it learns it again."""
    gate = conversation.agent.gate
    if gate is not None and not draft.replaces:
        note = plan_mode_note(gate.mode, conversation.messages)
        if note is not None:
            conversation.add_message(note)


def _mode(text: str, what: str) -> Mode:
    mode = parse_mode(text)
    if mode is None:
        raise UsageError(f'unknown {what} "{text}": expected one of {", ".join(MODES)}')
    return mode
