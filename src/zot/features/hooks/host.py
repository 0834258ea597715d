"""Runs a conversation's hooks: selects those of an event, runs them in parallel, reports failures.
Only trusted hooks run. Their files are checked before each run; if one changed, the hook does not run and its call is
denied."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.events import AgentEvent, CompactDone, Done, PromptAccepted, SessionEnded, SessionStarted
from zot.errors import ConfigError, describe_error
from zot.features.hooks.claude_format import MODES, NAMES, HookDecision, joined_context, parse_hook_output
from zot.features.hooks.config import Hook, HookSource
from zot.features.hooks.hook_process import HookResult, run_hook
from zot.features.questions import Approval, question_queue
from zot.features.trust import TrustStore, Untrusted, run_entry
from zot.system.background_tasks import BackgroundTasks
from zot.system.files import find_program

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.tools.workspace import Workspace
    from zot.features.questions import Question
    from zot.provider.http.pool import HttpPool
    from zot.system.jail.jail import Jail

END_S = 5.0  # for SessionEnd hooks without a timeout
IDLE_S = 60.0  # without a prompt, before Notification hooks run
HEARD = (SessionStarted, SessionEnded, CompactDone, PromptAccepted, Done)
_NOTHING_TO_END = ("UserPromptSubmit", "PreCompact")  # the first denies the prompt instead
_SHOWN = 120  # characters of a command
_ENV_BYTES = 64 << 10


Signature = tuple[int, int, int, int]


class HookHost:
    """``untrusted`` sources are skipped until the user trusts them."""

    conversation: Conversation

    def __init__(
        self,
        sources: Sequence[HookSource],
        *,
        home: Path,
        workspace: Workspace,
        strict: bool,
        notify: Callable[[str], None],
    ) -> None:
        from zot.features.hooks.interceptor import HookInterceptor  # imports this module

        self.interceptor = HookInterceptor(self)
        self.untrusted: list[HookSource] = []
        self.trusted_for_run: list[str] = []
        self.missing: tuple[str, ...] = ()  # files that reviewed the calls of a worker's starter, and cannot here
        self._home = home
        self._listed: dict[str, bytes] = {}  # the content of untrusted sources when they were shown
        self._accepted: list[HookSource] = []
        self._workspace = workspace
        self._strict = strict
        self._notify = notify
        self._sources: list[HookSource] = []
        self._tasks = BackgroundTasks()
        self._starting: asyncio.Task[None] | None = None
        self._start_context = self._env_file = ""
        self._begun = False
        self._unchanged: dict[tuple[str, Hook], dict[str, Signature | None]] = {}  # when the files were last compared
        self._wider: tuple[Jail, Jail] | None = None  # a jail, and the same with the project readable
        self._reported: set[str] = set()
        self._pool: HttpPool | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._sources += sources

    # --- trust (features.trust.TrustSubject)

    def untrusted_items(self) -> list[Untrusted]:
        self.untrusted = [source.with_files() for source in self.untrusted]
        self._listed = {source.name: source.content() for source in self.untrusted}
        return [as_untrusted(source) for source in self.untrusted]

    def accept_items(self, items: Sequence[Untrusted]) -> None:
        names = {item.name for item in items}
        for source in [source for source in self.untrusted if source.name in names]:
            if source.with_files().content() != self._listed[source.name]:
                self._notify(f"hooks: {source.name} changed during the review; it stays untrusted")
                continue
            if unreadable := source.covered().unreadable():
                self._notify(f"hooks: {source.name} stays untrusted: cannot read {', '.join(unreadable)}")
                continue
            self.untrusted = [each for each in self.untrusted if each is not source]
            self._sources.append(source)
            if self._begun and any(hook.event == "SessionStart" for hook in source.hooks):
                self._begin("startup", only=source)
            self._accepted.append(source)

    async def trust_items(self, items: Sequence[Untrusted], *, save: bool = True) -> None:
        accepted, self._accepted = self._accepted, []
        store = TrustStore(self._home)
        if not save:
            self.trusted_for_run += [run_entry("hooks", each.name, self._listed[each.name]) for each in accepted]
        for source in accepted if save else ():
            try:
                await asyncio.to_thread(store.trust, source.project, "hooks", source.name, self._listed[source.name])
            except (ConfigError, OSError) as error:
                self._notify(f"hooks: {source.name} runs now, but its trust was not saved: {describe_error(error)}")

    def join(self, conversation: Conversation) -> None:
        self.conversation = conversation
        conversation.subscribe(self.on_event, *HEARD)
        question_queue(conversation.services).listen(self._on_question)

    def has(self, event: str) -> bool:
        return any(hook.event == event for source in self._sources for hook in source.hooks)

    def reviewing_sources(self) -> tuple[str, ...]:
        """Files whose hooks review tool calls."""
        reviewing = [each.name for each in self._sources if any(hook.event == "PreToolUse" for hook in each.hooks)]
        return (*reviewing, *self.missing)

    def resolve(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._workspace.cwd, os.path.expanduser(path)))

    # --- running hooks

    async def run_hooks(
        self,
        event: str,
        names: Sequence[str] = ("",),
        fields: dict[str, Any] | None = None,
        *,
        only: HookSource | None = None,
        given: bytes = b"",
    ) -> list[HookDecision]:
        """The decisions of this event's hooks except asynchronous ones; ``given`` is their input if known."""
        asked = [each for each in self._for(event, names, only) if self._fits(*each, names, fields or {})]
        if not asked:
            return []
        given = given or self._given(event, fields or {})
        waited: list[tuple[HookSource, Hook]] = []
        for source, hook in asked:
            if hook.is_async:
                self._tasks.start(self._run_aside(source, hook, given))
            else:
                waited.append((source, hook))
        if len(waited) == 1:
            answers = [await self._run(*waited[0], given)]
        else:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._run(source, hook, given)) for source, hook in waited]
            answers = [task.result() for task in tasks]
        for answer in answers:
            if answer.stop is not None:
                self._notify(f"a {event} hook stopped the run: {answer.stop}")
                if event not in _NOTHING_TO_END:
                    self.conversation.abort()
        return answers

    def _for(self, event: str, names: Sequence[str], only: HookSource | None) -> list[tuple[HookSource, Hook]]:
        found: dict[tuple[str, str, str], tuple[HookSource, Hook]] = {}
        for source in self._sources if only is None else [only]:
            for hook in source.hooks:
                if hook.event == event and hook.matches(*names):
                    key = (hook.line(), hook.condition, source.given.get("CLAUDE_PLUGIN_ROOT", ""))
                    found.setdefault(key, (source, hook))
        return list(found.values())

    def _fits(self, source: HookSource, hook: Hook, names: Sequence[str], fields: dict[str, Any]) -> bool:
        if not hook.condition:
            return True
        from zot.features.hooks.conditions import matches_condition  # few hooks have one

        return matches_condition(
            hook.condition, names, fields.get("tool_input", {}), self._workspace.cwd, source.project
        )

    def _given(self, event: str, fields: dict[str, Any]) -> bytes:
        present = self.conversation.snapshot
        return msgspec.json.encode(
            {
                "session_id": present.session_id,
                "transcript_path": present.session_file,
                "cwd": present.directory,
                "permission_mode": MODES.get(present.permission_mode, "default"),
                "hook_event_name": event,
                **fields,
            }
        )

    async def _run(self, source: HookSource, hook: Hook, given: bytes) -> HookDecision:
        """Run one hook and report its failure; a failing strict PreToolUse hook denies the call."""
        changed = "" if source.origin == "own" else await self._changed_file(source, hook)
        if changed:
            answer = HookDecision(
                hook=hook, failure=f"{changed} changed since you trusted it; review it: {_review(source)}"
            )
        else:
            project = source.project if source.origin == "project" else self._workspace.cwd
            env = {**self._workspace.child_environment(), "CLAUDE_PROJECT_DIR": str(project), **source.given}
            if hook.event == "SessionStart":
                env["CLAUDE_ENV_FILE"] = self._env_file
            if hook.url:
                ran = await self._request(hook, given, env)
            else:
                jail, argv = self._jail_for(project), argv_of(hook, env)
                ran = await run_hook(argv, given, cwd=project, env=env, timeout_s=hook.timeout_s, jail=jail)
            answer = parse_hook_output(hook, ran)
        if answer.message:
            self._notify(answer.message)
        new = [name for name in answer.ignored if name not in self._reported]
        if new:
            self._reported.update(new)
            which = f"the {answer.hook.event} hook {_short(answer.hook.line())}"
            self._notify(f"{which} of {source.name}: ignored unsupported fields: {', '.join(new)}")
        if not answer.failure:
            return answer
        what = f"the {hook.event} hook {_short(hook.line())} of {source.name}: {answer.failure}"
        if hook.event == "PreToolUse" and (changed or hook.strict or self._strict):
            return msgspec.structs.replace(answer, decision="deny", reason=f"denied: {what}")
        goes_on = "; the call continues" if hook.event == "PreToolUse" else ""
        self._notify(f"{what}{goes_on}")
        return answer

    async def _request(self, hook: Hook, given: bytes, env: Mapping[str, str]) -> HookResult:
        """Send a hook's request; a jail without network also stops those."""
        from zot.features.hooks.http_hook import send_hook  # few hooks are requests

        jail = self._workspace.jail
        if jail is not None and not jail.policy.network:
            return HookResult(failure="the jail has no network; allow it with --jail=net")
        if self._pool is None:
            from zot.provider.http.pool import HttpPool

            self._pool = HttpPool(proxy=self.conversation.settings.values.http_proxy)
        return await send_hook(self._pool, hook, given, {**env, **self._workspace.granted(hook.variables)})

    async def _changed_file(self, source: HookSource, hook: Hook) -> str:
        """Compares the hook's files again only if metadata of a file, or of a directory they lie in, changed."""
        pinned = next(files for each, files in zip(source.hooks, source.pinned, strict=True) if each is hook)
        paths = {*pinned.files, *map(os.path.dirname, pinned.files), str(source.root), str(source.project)}
        now = {path: _signature(path) for path in paths}
        key = (source.name, hook)
        if None not in now.values() and self._unchanged.get(key) == now:
            return ""
        changed = await asyncio.to_thread(changed_file, source, hook)
        if not changed:
            self._unchanged[key] = now
        return changed

    def _jail_for(self, project: Path) -> Jail | None:
        """In a worker's jail, hooks of the project it was started from may also read that project."""
        jail = self._workspace.jail
        if jail is None or any(project.is_relative_to(root) for root in jail.policy.readable):
            return jail
        if self._wider is None or self._wider[0] is not jail:
            policy = msgspec.structs.replace(jail.policy, read=(*jail.policy.read, os.path.realpath(project)))
            self._wider = (jail, jail.with_access(policy))
        return self._wider[1]

    async def _run_aside(self, source: HookSource, hook: Hook, given: bytes) -> None:
        """Run an asynchronous hook; its context goes to the model with the next prompt, or steers the run."""
        answer = await self._run(source, hook, given)
        context = answer.context
        if hook.wakes and answer.decision == "deny":
            context = "\n\n".join(filter(None, (answer.reason, context)))
            if self.conversation.busy:
                self.conversation.steer(context)
                return
        self._start_context = "\n\n".join(filter(None, (self._start_context, context)))

    def warn(self, text: str) -> None:
        self._notify(text)

    # --- prompts

    async def before_prompt(self, text: str) -> str:
        """Why the prompt is denied, or empty; context from hooks is added before it."""
        if self._starting is not None:
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self._starting)
            self._starting = None
        if self._start_context:
            self._add("SessionStart", self._start_context)
            self._start_context = ""
        refusal, context = await self.review_prompt(text)
        if context:
            self._add("UserPromptSubmit", context)
        return refusal

    async def review_prompt(self, text: str) -> tuple[str, str]:
        """Why the prompt is denied, or empty, and the context to add before it."""
        answers = await self.run_hooks("UserPromptSubmit", fields={"prompt": text})
        for answer in answers:
            if answer.decision == "deny" or answer.stop is not None:
                return answer.reason or answer.stop or "denied by a UserPromptSubmit hook", ""
        return "", joined_context(answers)

    def _add(self, event: str, context: str) -> None:
        from zot.core.events import SYNTHETIC
        from zot.provider.messages import user_message

        message = user_message(context_text(event, context))
        self.conversation.add_message(msgspec.structs.replace(message, meta={SYNTHETIC: "true"}))

    async def before_compaction(self, trigger: str, focus: str = "") -> str:
        """Why compaction is denied, or empty. ``trigger`` is ``manual`` or ``auto``."""
        fields = {"trigger": trigger, "custom_instructions": focus or None}
        for answer in await self.run_hooks("PreCompact", (trigger,), fields):
            if answer.decision == "deny":
                return answer.reason or "denied by a PreCompact hook"
        return ""

    # --- sessions

    def on_event(self, event: AgentEvent) -> None:
        match event:
            case SessionStarted():
                source = "resume" if self.conversation.messages else "clear" if self._begun else "startup"
                self._begun = True
                self._begin(source)
            case SessionEnded(_, "session_switch"):
                # Built now: the task runs when the conversation is already that of the next session.
                given = self._given("SessionEnd", {"reason": "clear"})
                self._tasks.start(self.run_hooks("SessionEnd", ("clear",), {"reason": "clear"}, given=given))
            case CompactDone():
                self._begin("compact")
            case PromptAccepted():
                self._stop_waiting()
            case Done() if self.conversation.services.front_end.may_log_in:  # a user is at a terminal
                self._stop_waiting()
                loop = asyncio.get_running_loop()
                self._idle = loop.call_later(IDLE_S, self._notify_hooks, "idle_prompt", "zot is waiting for your input")
            case _:
                pass

    def _begin(self, source: str, only: HookSource | None = None) -> None:
        """SessionStart hooks run in the background; the next prompt waits for them."""
        if only is None and not self.has("SessionStart"):
            return
        before = self._starting

        async def begin() -> None:
            if before is not None:
                await asyncio.wait([before])
            fields = {"source": source, "model": self.conversation.snapshot.model}
            with tempfile.NamedTemporaryFile(prefix="zot-hook-") as file:
                self._env_file = file.name
                answers = await self.run_hooks("SessionStart", (source,), fields, only=only)
                self._workspace.added.update(parse_exports(file.read(_ENV_BYTES).decode("utf-8", "replace")))
            self._start_context = "\n\n".join(filter(None, (self._start_context, joined_context(answers))))

        self._starting = self._tasks.start(begin())

    # --- notifications

    def _on_question(self, question: Question[Any]) -> None:
        if not isinstance(question, Approval):
            self._notify_hooks("elicitation_dialog", "zot has a question")
            return
        tool = names_of(question.request.call.name)[0]
        self._notify_hooks("permission_prompt", f"zot needs your permission to use {tool}")

    def _notify_hooks(self, kind: str, message: str) -> None:
        """Run Notification hooks in the background."""
        if self.has("Notification"):
            fields = {"message": message, "title": "zot", "notification_type": kind}
            self._tasks.start(self.run_hooks("Notification", (kind,), fields))

    def _stop_waiting(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    async def aclose(self, *, by_user: bool = False) -> None:
        """Run the SessionEnd hooks for at most END_S, then stop all running hooks."""
        self._stop_waiting()
        if self._begun and self.has("SessionEnd"):
            reason = "prompt_input_exit" if by_user else "other"
            with suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await self.run_hooks("SessionEnd", (reason,), {"reason": reason})
        await self._tasks.aclose()
        if self._pool is not None:
            await self._pool.aclose()


def argv_of(hook: Hook, env: Mapping[str, str]) -> list[str]:
    """A shell with the command, or the program with its arguments and expanded directories."""
    if hook.args is None:
        return [find_program("bash") or "/bin/sh", "-c", hook.command]
    words = [hook.command, *hook.args]
    for name in ("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"):
        words = [word.replace(f"${{{name}}}", env.get(name, "")) for word in words]
    return words


def context_text(event: str, context: str) -> str:
    return f"Context from a {event} hook:\n\n{context}"


def names_of(tool: str) -> tuple[str, ...]:
    """The names a matcher may use for a tool."""
    return (NAMES[tool], tool) if tool in NAMES else (tool,)


def parse_exports(text: str) -> dict[str, str]:
    """Variables of lines such as ``export NAME="value"``, which a hook set for later commands."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue
        for word in words[1:] if words[:1] == ["export"] else words[:1]:
            name, equals, value = word.partition("=")
            if equals and name.isidentifier():
                found[name] = value
    return found


def _short(command: str) -> str:
    line = " ".join(command.split())
    return f"`{line[:_SHOWN]}…`" if len(line) > _SHOWN else f"`{line}`"


def _review(source: HookSource) -> str:
    return "`zot plugin install --force`" if source.origin == "plugin" else "`zot hooks trust`"


def _signature(path: str) -> Signature | None:
    """Changes whenever the file or directory does; None if it cannot be read."""
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_dev, info.st_ino, info.st_size, info.st_ctime_ns


def changed_file(source: HookSource, hook: Hook) -> str:
    """Path of a file of the hook that changed since it was trusted; empty if none."""
    pinned = next(files for each, files in zip(source.hooks, source.pinned, strict=True) if each is hook)
    return pinned.difference(source.files(hook))


def as_untrusted(source: HookSource) -> Untrusted:
    return Untrusted(
        kind="hooks",
        name=source.name,
        source=source.file,
        runs=tuple(hook.shown() for hook in source.hooks),
        details=tuple(source.covered().lines()),
    )
