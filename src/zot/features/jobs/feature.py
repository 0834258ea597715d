"""Background jobs in a conversation. When a job ends or a watched pattern appears, the model gets a note with its next
step; while it is idle, front ends get a ``job_update``, and a turn starts only if the user allowed it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Literal

from zot.agent.feature import Feature, PromptDraft
from zot.agent.slash_commands import Display, FailedCommand, SlashCommand
from zot.core.events import SYNTHETIC, AgentEvent, JobUpdate, TurnStart
from zot.errors import ToolError
from zot.features.jobs.jobs_tool import JobsTool
from zot.features.jobs.listing import command_of, line_of, state_of, tail_of
from zot.provider.messages import Message, TextBlock, utc_now
from zot.system.background_tasks import BackgroundTasks

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.slash_commands import CommandAnswer
    from zot.agent.tools.background_jobs import Job, Jobs
    from zot.agent.tools.job_output import LinePattern
    from zot.core.tool import Tool

_LAST_LINES = 10
_SHOWN_LINES = 5
_NONE = "no background jobs; the agent starts them, or you do with !COMMAND &"


class JobsFeature(Feature):
    name = "jobs"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._untold: list[tuple[Job, str, str]] = []  # for the model
        self._watching = BackgroundTasks()

    @property
    def _jobs(self) -> Jobs:
        return self.conversation.workspace.jobs

    def join(self) -> None:
        longest = int(self.services.settings.values.bash_timeout_max_s)
        self._tool = JobsTool(lambda: self._jobs, self._watch, longest)
        self._jobs.on_end.append(self._ended)
        self.conversation.subscribe(self._step_starts, TurnStart)

    def tools(self, taken: Collection[str]) -> list[Tool]:
        return [self._tool]

    def tool_names(self) -> Iterable[str]:
        return (self._tool.name,)

    async def aclose(self) -> None:
        await self._watching.aclose()

    # --- updates

    def _ended(self, job: Job) -> None:
        if job.is_stopped:
            return  # by the model, or by the user who sees it
        last = tail_of(job, _LAST_LINES) if job.text is not None and job.text.read < job.text.total else ""
        self._tell(job, "ended", f"[{line_of(job)}]" + (f"\nIts last output:\n{last}" if last else ""))

    def _watch(self, job: Job, pattern: LinePattern) -> None:
        from zot.agent.tools.job_output import Watch

        assert job.text is not None
        watch = Watch(job.text, pattern, job.text.read)

        async def report() -> None:
            try:
                line = await watch.found
            except ToolError as error:
                self._untold.append((job, "", f"[job {job.number} is no longer watched: {error}]"))
                return
            finally:
                watch.close()
            self._tell(job, "matched", f"[job {job.number}: the watched pattern appeared: {line}]", line)

        self._watching.start(report())

    def _tell(self, job: Job, state: Literal["ended", "matched"], text: str, line: str = "") -> None:
        conversation = self.conversation
        self._untold.append((job, state, text))
        event = JobUpdate(job.number, command_of(job), state, job.exit_code, line or state_of(job))
        conversation.emit(event)
        if self.services.settings.values.jobs_start_turns and not conversation.busy and not conversation.is_child:
            self._start_turn()

    def _start_turn(self) -> None:
        surface = self.services.front_end.surface
        if surface is None:
            return  # a run without a session of its own ends with its answer
        if text := self._take_updates():
            self.conversation.enqueue(text, meta={SYNTHETIC: "true"})
            surface.run_queued()

    def on_prompt(self, draft: PromptDraft) -> None:
        self._add_updates()

    def _step_starts(self, event: AgentEvent) -> None:
        """No tool call is open here: messages may be added."""
        self._add_updates()

    def _add_updates(self) -> None:
        if text := self._take_updates():
            self.conversation.add_message(Message("user", (TextBlock(text),), utc_now(), {SYNTHETIC: "true"}))

    def _take_updates(self) -> str:
        """What the model does not know yet; it may have waited for the end itself."""
        untold, self._untold = self._untold, []
        texts = [text for job, state, text in untold if not (state == "ended" and job.is_end_known)]
        return "\n".join(["[zot: background jobs report]", *texts]) if texts else ""

    # --- /jobs

    def slash_commands(self) -> Iterable[SlashCommand]:
        """Listed once there was a job."""
        is_hidden = not self.conversation.workspace.had_jobs
        return (SlashCommand("jobs", "show and stop background commands", "[N|stop N|stop all]", hidden=is_hidden),)

    async def run_slash_command(self, name: str, arguments: str) -> CommandAnswer:
        if not self.conversation.workspace.had_jobs:
            return Display("", _NONE)
        verb, _, which = arguments.strip().lower().partition(" ")
        known = self._jobs.known()
        if verb in ("stop", "kill") and (which == "all" or which.isdecimal()):
            return await self._stop([job for job in self._jobs.living() if which in ("all", str(job.number))], which)
        if verb.isdecimal():
            found = next((job for job in known if str(job.number) == verb), None)
            return FailedCommand(f"/jobs: no job {verb}") if found is None else Display("", _described(found, 100))
        if verb:
            return FailedCommand("/jobs: expected nothing, N, stop N or stop all")
        return Display("", "\n".join(_described(job, _SHOWN_LINES) for job in known) or _NONE)

    async def _stop(self, chosen: list[Job], which: str) -> CommandAnswer:
        if not chosen:
            return FailedCommand(_NONE if which == "all" else f"/jobs: no running job {which}")
        for job in chosen:
            await self._jobs.stop(job)
        return Display("", "stopped: " + ", ".join(f"job {job.number}" for job in chosen))


def _described(job: Job, lines: int) -> str:
    tail = tail_of(job, lines)
    return "\n".join([line_of(job), *(f"    {line}" for line in tail.split("\n") if tail)])
