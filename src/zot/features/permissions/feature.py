"""Permissions in a conversation: the gate that runs, asks about or denies tool calls.
Answers saved for a project are in ``$ZOT_HOME/permissions.json``, by the project's real path."""

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
from zot.system.auto_run_files import auto_executed_part
from zot.system.files import user_home
from zot.system.json_store import JsonStore

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.tools.workspace import Workspace
    from zot.core.permission_gate import ApprovalQuestion
    from zot.core.tool import Tool

# --- answers saved for a project

_MOST = 1_000  # rules of one project; more were not written by zot


class _RulesFields(msgspec.Struct):
    version: int = 1
    projects: dict[str, list[Rule]] = {}


class SavedRules:
    """The rules of one project, read when a question would be asked; ``notify`` reports errors."""

    def __init__(self, home: Path, cwd: Path, notify: Callable[[str], None]) -> None:
        self._file = _RulesFile(home / "permissions.json", _RulesFields, "fix the file or delete it")
        self.path = self._file.path
        self._project = project_key(cwd)
        self._notify = notify
        self._read: list[Rule] | None = None

    def __call__(self) -> list[Rule]:
        if self._read is None:
            self._read = []  # not read again, even after an error
            try:
                self._read = self._file.load().projects.get(self._project, [])[:_MOST]
            except (ConfigError, OSError) as error:
                self._notify(f"{describe_error(error)}; saved permissions are ignored until it is fixed")
        return self._read

    def keep(self, rule: Rule) -> None:
        """Save a rule for this and later sessions. ConfigError or OSError: nothing was saved."""
        with self._edit() as rules:
            if rule not in rules:
                rules.append(rule)

    def forget(self, rule: Rule) -> None:
        """Delete a rule, if it is saved; same errors."""
        with self._edit() as rules:
            if rule in rules:
                rules.remove(rule)

    @contextmanager
    def _edit(self) -> Generator[list[Rule]]:
        """The rules on disk, under the lock; written back if the block succeeds."""
        with self._file.edit() as content:
            rules = content.projects.setdefault(self._project, [])
            yield rules
            content.projects = {project: rules for project, rules in content.projects.items() if rules}
        self._read = rules


class _RulesFile(JsonStore[_RulesFields]):
    def decode(self, data: bytes) -> _RulesFields:
        about = os.stat(self.path)
        if about.st_uid not in (os.getuid(), 0) or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ConfigError(f"{self.path}: writable by others; run `chmod 600 {self.path}`")
        return super().decode(data)


_WILD = frozenset("*?[{\\")


class CallClassifier:
    """Classifies a call. ``own`` are the built-in tools of this run, ``tool_of`` finds any tool.
    While ``needs_none_inside``, calls inside the jail need no question."""

    def __init__(
        self,
        workspace: Workspace,
        home: Path,
        own: Callable[[], Collection[str]],
        tool_of: Callable[[str], Tool | None],
        needs_none_inside: Callable[[], bool] = lambda: False,
    ) -> None:
        self._workspace = workspace
        self._home = home
        self._own = own
        self._tool_of = tool_of
        self._needs_none_inside = needs_none_inside

    def __call__(self, call: ToolCallBlock) -> CallClass:
        args = call.args
        if call.name not in self._own() or args is None:
            # Other tools always require approval, whatever they declare; only plan mode uses their read_only.
            tool = self._tool_of(call.name)
            extension = str(getattr(tool, "extension", "") or "")
            looks = tool is not None and tool.read_only and call.name not in self._own()
            return CallClass("look elsewhere" if looks else "act", extension=extension)
        nature = self._of_ours(call.name, args)
        if nature.kind == "look" or not self._needs_none_inside():
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
                    and not auto_executed_part(real.parts[len(self._root_of(real).parts) :])
                    else "act"
                )
            case "bash":
                from zot.features.permissions.read_only_commands import classify_command  # not needed at the start

                command, cwd = args.get("command"), self._workspace.cwd
                return classify_command(command, cwd, self._is_real_inside) if isinstance(command, str) else CallClass()
            case _:
                classify = getattr(self._tool_of(name), "classify", None)
                return CallClass() if classify is None else classify(args)

    def _is_inside(self, path: object) -> bool:
        real = self._real(path)
        return real is not None and self._holds(real)

    def _is_real_inside(self, path: Path) -> bool:
        return self._holds(Path(os.path.realpath(path)))

    def _real(self, path: object) -> Path | None:
        return Path(os.path.realpath(self._workspace.resolve(path))) if isinstance(path, str) else None

    def _root(self) -> Path:
        return Path(os.path.realpath(self._workspace.cwd))

    def _root_of(self, real: Path) -> Path:
        """The added directory that contains a path, else the project."""
        added = (Path(each) for each in self._workspace.added_dirs if real.is_relative_to(each))
        return self._root() if real.is_relative_to(self._root()) else next(added, self._root())

    def _holds(self, real: Path) -> bool:
        root = self._root_of(real)
        if Path(os.path.realpath(user_home())).is_relative_to(root) or not real.is_relative_to(root):
            return False
        own = Path(os.path.realpath(self._home))
        return not real.is_relative_to(own) and not own.is_relative_to(real)  # a search above it would include it


# --- plan mode

_PLAN = (
    "[zot: the user has switched to plan mode. Do not change anything: tools that could are refused. Find out what you "
    "need to know with the tools that only read, ask about what is open, and present a plan with `present_plan`; "
    "without that tool, answer with the plan.]"
)
_OVER = (
    "[zot: the user has left plan mode. Tools that change something may be called again, within what the user permits.]"
)


def plan_mode_note(mode: Mode, messages: Sequence[Message]) -> Message | None:
    """The plan-mode notice that the model has not received yet."""
    marks = (message.meta[PERMISSION_MODE] for message in reversed(messages) if PERMISSION_MODE in message.meta)
    planning, informed = mode == "plan", next(marks, "") == "plan"
    if planning == informed:
        return None
    return Message("user", (TextBlock(_PLAN if planning else _OVER),), utc_now(), {PERMISSION_MODE: mode})


class PermissionsFeature(Feature):
    """``saved_rules`` are answers the user saved."""

    name = "permissions"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._questions = question_queue(self.services)
        self.saved_rules = SavedRules(conversation.home, conversation.workspace.cwd, self.notify)

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
                lambda: {tool.name for tool in conversation.toolset.own} - others | conversation.toolset.lent.keys(),
                lambda name: conversation.toolset.find_own(name) or conversation.agent.toolbox.get(name),
                self._needs_none_inside,
            ),
            kept=self.saved_rules,
            asks_each=config.ask_each,
            mode_chosen=self.services.mode_chosen,
        )
        gate.on_mode = self._mode_changed
        self._questions.follow("approval", self._attach)
        if conversation.features.implementing("approve"):
            gate.stand_in = self._approve

    def _mode_changed(self) -> None:
        for feature in self.conversation.features:
            feature.limits_changed()

    def _attach(self, can_ask: bool) -> None:
        gate = self.conversation.gate
        assert gate is not None
        gate.confirmer = self._ask_user if can_ask else None

    async def _ask_user(self, question: ApprovalQuestion) -> Answer:
        return await self._questions.ask(Approval(question), settled=lambda: self._settled(question))

    def _settled(self, question: ApprovalQuestion) -> Answer | None:
        """A waiting question may be decided by another answer or mode."""
        gate = self.conversation.gate
        judged = gate.evaluate(question.call) if gate is not None else None
        if judged is None or judged.step == "ask":
            return None
        return Answer("once") if judged.step == "run" else Answer("deny", judged.reason)

    def _needs_none_inside(self) -> bool:
        gate, jailed = self.conversation.gate, self.conversation.workspace.jail is not None
        return gate is not None and not gate.mode_chosen and jailed and asks_outside(self.conversation)

    async def _approve(self, question: ApprovalQuestion) -> Answer | None:
        """The answer of the first feature that has one."""
        for feature in self.conversation.features:
            if (answer := await feature.approve(question)) is not None:
                return answer if answer.by else msgspec.structs.replace(answer, by=feature.name)
        return None

    def for_child(self, child: Conversation) -> Feature:
        return _PlanModeNotes(child)

    def on_prompt(self, draft: PromptDraft) -> None:
        add_plan_mode_note(self.conversation, draft)


class _PlanModeNotes(Feature):
    """A side chat shares its parent's gate; its model also receives plan-mode notices."""

    name = "permissions"

    def on_prompt(self, draft: PromptDraft) -> None:
        add_plan_mode_note(self.conversation, draft)


def add_plan_mode_note(conversation: Conversation, draft: PromptDraft) -> None:
    """Tells the model with a prompt that plan mode began or ended; again after a compaction."""
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
