"""Checkpoints in a conversation, for ``/rewind``, ``/diff`` and the SDK."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from zot.agent.feature import Feature
from zot.core.events import AgentEvent, SessionEnded, UserMessage
from zot.errors import AgentBusy

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.checkpoints.change_log import Event
    from zot.features.checkpoints.change_recorder import FileChangeRecorder
    from zot.wire.ops import Op
    from zot.wire.rpc_frames import Changes, Rewound


class CheckpointsFeature(Feature):
    """The recorder is created when a tool changes a file for the first time."""

    name = "checkpoints"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._recorder: FileChangeRecorder | None = None
        self._collected: list[Event] | None = None
        self._prompt_time = ""  # of the current prompt

    def join(self) -> None:
        self.conversation.subscribe(self._on_event, UserMessage, SessionEnded)

    def _on_event(self, event: AgentEvent) -> None:
        self._prompt_time = event.message.time if isinstance(event, UserMessage) else ""

    @property
    def recorder(self) -> FileChangeRecorder | None:
        """Records what tools change; None without a session, or if the setting turns it off."""
        conversation = self.conversation
        capacity = conversation.settings.values.checkpoint_size_mb << 20
        if conversation.session is None or not capacity:
            return None
        if self._recorder is None:
            from zot.features.checkpoints.change_log import ChangeStorePaths
            from zot.features.checkpoints.change_recorder import FileChangeRecorder

            config = self.services.config
            self._recorder = FileChangeRecorder(
                ChangeStorePaths(conversation.home),
                conversation.workspace.cwd,
                lambda: conversation.session,
                self._time,
                self.notify,
                capacity,
            )
            self._recorder.happened = self._collected
            self._recorder.ours = tuple(map(os.path.realpath, filter(None, (config.record, config.ext_trace))))
        return self._recorder

    def _time(self) -> str:
        if not self._prompt_time:  # a turn that continues a resumed session
            from zot.core.session.turn_history import turns_in

            turns = turns_in(list(enumerate(self.conversation.messages)))
            self._prompt_time = turns[-1].prompt.time if turns else ""
        return self._prompt_time

    def collect_changes(self) -> list[Event]:
        """A list that collects changes from now on, oldest first, until the next call."""
        self._collected = []
        if self._recorder is not None:
            self._recorder.happened = self._collected
        return self._collected

    def submit(self, op: Op) -> Any:
        from zot.wire.ops import GetChanges, Rewind  # only programs submit ops

        if isinstance(op, GetChanges):
            return file_changes(self.conversation, op.prompt)
        assert isinstance(op, Rewind)
        return rewind(self.conversation, op.prompt, op.what, overwrite=op.overwrite, dry_run=op.dry_run)

    async def aclose(self) -> None:
        if self._recorder is not None:
            self._recorder.close()


async def file_changes(conversation: Conversation, prompt: int = 0) -> Changes:
    """File changes of prompt ``number``, from 1; 0 is the whole session."""
    from zot.features.checkpoints.rewind import changes_in, session_file

    return await asyncio.to_thread(changes_in, conversation, session_file(conversation), prompt)


async def rewind(
    conversation: Conversation, prompt: int, what: str = "both", *, overwrite: bool = False, dry_run: bool = False
) -> Rewound:
    """Rewind to before this prompt: ``both``, ``files`` or ``conversation``.
    0 undoes the last restore of files. ``overwrite`` includes files changed by others. AgentBusy during work."""
    from zot.features.checkpoints.rewind import rewind

    if conversation.busy:
        raise AgentBusy("agent is busy")
    return await rewind(conversation, prompt, what, overwrite=overwrite, dry_run=dry_run)
