"""One session: first subscriber of an agent and writer of its file.
The file is created with the first message. Rows that cannot be written wait in memory, and a file deleted by another
program is written again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.core.events import (
    REPLACES,
    AgentEvent,
    AnswerEnded,
    Checkpoint,
    MessageAppended,
    ModelChanged,
    ToolReturned,
    ToolStarting,
    TranscriptCompacted,
    UsageCounted,
)
from zot.core.session.records import (
    AnswerEndRow,
    ExtensionRow,
    KnownRow,
    LabelRow,
    LimitsRow,
    Meta,
    MetaRow,
    RenameRow,
    SessionLimits,
    UsageRow,
    compaction_row,
    encode_row,
    intent_row,
    message_row,
    outcome_row,
)
from zot.core.session.session_file import (
    NO_ROW,
    SessionWriter,
    bad_path,
    create_file,
    free_name,
    open_file,
    quarantine_lines,
    read_lines,
)
from zot.core.tool import ToolResult
from zot.errors import SessionCorrupt, SessionError, UsageError
from zot.provider.messages import Message, ToolCallBlock, Usage, utc_now

if TYPE_CHECKING:
    from zot.core.session.resume import TranscriptLoader


class _SessionEntry:
    """A message of the live transcript and the offset of its row, once known."""

    __slots__ = ("message", "row")

    def __init__(self, message: Message, row: int = NO_ROW) -> None:
        self.message = message
        self.row = row


class Session:
    """Records events; ``read`` does not raise while ``on_failure`` is set.
    That is called when saving fails and if rows are lost. ``repairs`` lists what opening repaired."""

    def __init__(
        self, path: Path, meta: Meta, *, writer: SessionWriter | None = None, loaded: TranscriptLoader | None = None
    ) -> None:
        self.path = path
        self.meta = meta
        self.messages: tuple[Message, ...] = tuple(loaded.messages) if loaded else ()
        self.cumulative = loaded.cumulative if loaded else Usage()
        self.limits = loaded.limits if loaded else SessionLimits()
        self.repairs: list[str] = []
        self.on_failure: Callable[[str, bool], None] | None = None
        self._writer = writer
        self._begun = writer is not None
        self._live = list(map(_SessionEntry, loaded.messages, loaded.rows)) if loaded else []
        self._waiting: list[tuple[bytes, _SessionEntry | None]] = []
        self._failing = False
        if loaded is not None and loaded.interrupted:  # written with the next row
            self._waiting.append((encode_row(AnswerEndRow("interrupted")), None))

    @property
    def id(self) -> str:
        return self.meta.id

    # Events of the agent.

    def on_event(self, event: AgentEvent) -> None:
        match event:
            case MessageAppended(message):
                self.appended(message)
            case UsageCounted(usage, cumulative, model, role):
                self.record_usage(usage, cumulative, model, role)
            case ToolStarting(call):
                self.tool_intent(call)
            case ToolReturned(call_id, result, original):
                self.tool_outcome(call_id, result, original)
            case AnswerEnded(how, message, why):
                self.answer_ended(how, message, why)
            case TranscriptCompacted(keep_tail, summary):
                self.compacted(keep_tail, summary)
            case Checkpoint():
                self.flush()
            case ModelChanged(provider, model):
                self.set_model(provider, model)
            case _:
                pass

    def appended(self, message: Message) -> None:
        entry = _SessionEntry(message)
        if REPLACES in message.meta:
            del self._live[-1:]
        self._live.append(entry)
        if not self._begun:
            self._begun = True
            if self.limits != SessionLimits():
                self._waiting.insert(0, (encode_row(LimitsRow(self.limits)), None))
            self._waiting.insert(0, (encode_row(MetaRow(self.meta)), None))
        self._write(message_row(message), entry, sync=message.role == "user")

    def record_usage(self, usage: Usage, cumulative: Usage, model: str = "", role: str = "") -> None:
        self.cumulative = cumulative
        self._write(UsageRow(usage, cumulative, utc_now(), model or msgspec.UNSET, role or msgspec.UNSET))

    def tool_intent(self, call: ToolCallBlock) -> None:
        self._write(intent_row(call))

    def tool_outcome(self, call_id: str, result: ToolResult, original: ToolResult | None = None) -> None:
        self._write(outcome_row(call_id, result, original))

    def answer_ended(self, how: str, message: Message, why: str = "") -> None:
        if self._live:
            self._live[-1].message = message
        self._write(AnswerEndRow(how, why))

    def compacted(self, keep_tail: int, summary: Message) -> None:
        entry = _SessionEntry(summary)
        self._live = [entry, *self._live[max(len(self._live) - keep_tail, 0) :]]
        self._write(compaction_row(keep_tail, summary), entry)

    # Changes by the user.

    def set_model(self, provider: str, model: str) -> None:
        """Record the model to continue with after a resume."""
        if (provider, model) == (self.meta.provider, self.meta.model):
            return
        self.meta = msgspec.structs.replace(self.meta, provider=provider, model=model)
        if self._begun:
            self._write(MetaRow(self.meta))

    def set_limits(self, limits: SessionLimits) -> None:
        """Record the limits to continue with after a resume."""
        if limits == self.limits:
            return
        self.limits = limits
        if self._begun:
            self._write(LimitsRow(limits))

    def rename(self, title: str) -> None:
        if not (title := " ".join(title.split())):
            raise UsageError("the title of a session must not be empty")
        self.meta = msgspec.structs.replace(self.meta, title=title)
        if self._begun:
            self._write(RenameRow(title))

    def add_entry(self, row: ExtensionRow | LabelRow) -> bool:
        """Record a row that is no message; False if it waits in memory, as all rows before the first message do."""
        self._write(row, sync=True)
        return self._begun and not self._waiting and not self._failing

    @property
    def pending_rows(self) -> tuple[bytes, ...]:
        """The rows that are not in the file yet, in order."""
        return tuple(data for data, _ in self._waiting)

    def line_of(self, message: Message) -> bytes:
        """The line of this message object in the file; empty if it is not there."""
        row = next((entry.row for entry in reversed(self._live) if entry.message is message), NO_ROW)
        return b"" if row == NO_ROW or self._writer is None else self._writer.line_at(row)

    def row_of(self, message: Message) -> int:
        """Offset of the row of this message object; SessionError if it is not in the file."""
        self.flush()
        for entry in reversed(self._live):
            if entry.message is message and entry.row != NO_ROW:
                return entry.row
        raise SessionError(f"that message is not in {self.path}")

    # Writing.

    def messages_to_resume(self) -> tuple[Message, ...]:
        """The last messages, and the summary of earlier ones if there is one."""
        from zot.core.session.resume import recent_messages  # only resumed conversations need it

        tail = recent_messages(self.messages)
        first = self.messages[0] if self.messages else None
        if first is not None and first.meta.get("compaction") and tail and tail[0] is not first:
            return (first, *tail)
        return tail

    def flush(self) -> None:
        if self._begun:
            self._drain(sync=True)

    def close(self) -> None:
        """Flush and release the lock; an unused session leaves no file."""
        try:
            self.flush()
            if self._begun and (self._waiting or self._failing):
                self._report_fault(self._loss(), lost=True)
        finally:
            if self._writer is not None:
                self._writer.close()
            self._writer, self._begun = None, False

    def delete(self) -> None:
        """Remove the file under its lock, then close; raises OSError and stays open."""
        self.path.unlink(missing_ok=True)
        self._begun = False  # nothing to save
        self.close()

    def _loss(self) -> str:
        if self._writer is not None and not self._writer.is_at(self.path):
            return f"session {self.path} could not be saved and is lost"
        what = _count(len(self._waiting), "record") if self._waiting else "the last records"
        are = "is" if len(self._waiting) == 1 else "are"
        return f"{what} of session {self.path} could not be saved and {are} lost"

    def _write(self, row: KnownRow, entry: _SessionEntry | None = None, *, sync: bool = False) -> None:
        self._waiting.append((encode_row(row), entry))
        if self._begun:
            self._drain(sync=sync)

    def _drain(self, *, sync: bool) -> None:
        try:
            writer = self._writer = self._writer or create_file(self.path)
            while self._waiting:
                data, entry = self._waiting[0]
                offset = writer.append(data)
                del self._waiting[0]
                if entry is not None:
                    entry.row = offset
            if sync:
                writer = self._where_its_name_says(writer)
                writer.sync()
                self._failing = False
        except OSError as error:
            if not self._failing:
                self._failing = True
                self._report_fault(
                    f"session {self.path} cannot be saved: {error.strerror or error}; "
                    "the conversation stays in memory, and zot retries with each message"
                )

    def _where_its_name_says(self, writer: SessionWriter) -> SessionWriter:
        """Rows written to a deleted file would be lost with the process."""
        if writer.is_at(self.path):
            return writer
        old, new = self.path, free_name(self.path)
        self._writer, self.path = writer.copy_to(new), new
        writer.close()
        where = "at the same path" if new == old else f"as {new}"
        self._report_fault(
            f"session {old} was deleted or replaced by another program; zot saved all of it again {where}"
        )
        return self._writer

    def _report_fault(self, text: str, *, lost: bool = False) -> None:
        if self.on_failure is None:
            raise SessionError(text)
        self.on_failure(text, lost)


def open_session(path: Path) -> Session:
    """Load a file and lock it for append; raises SessionError, SessionLocked or SessionCorrupt."""
    from zot.core.session.resume import replay  # new sessions do not need it

    writer = open_file(path)
    try:
        with os.fdopen(os.dup(writer.fd), "rb") as file:
            loaded = replay(read_lines(file))
        return _loaded_session(path, writer, loaded)
    except OSError as error:
        writer.close()
        raise SessionError(f"cannot read session {path}: {error.strerror}") from error
    except BaseException:
        writer.close()
        raise


def _loaded_session(path: Path, writer: SessionWriter, loaded: TranscriptLoader) -> Session:
    stubs = loaded.finish()
    path = Path(os.path.abspath(path))  # an embedding program may change the process's directory
    if loaded.meta is None and not loaded.messages:
        raise SessionCorrupt(f"{path} is not a session: it has neither a `meta` row nor a message")
    meta = loaded.meta or Meta(path.stem.rpartition("-")[2])
    meta = msgspec.structs.replace(meta, title=loaded.title or meta.title)
    session = Session(path, meta, writer=writer, loaded=loaded)
    if loaded.meta is None:
        session.repairs.append(f"{path.name} has lost its first row: its model and directory are unknown")
    if loaded.bad:
        session.repairs.extend(_save_aside(path, loaded.bad))
    if stubs:
        session.repairs.append(f"{_count(stubs, 'tool call')} had no recorded result and got an error result")
    return session


def _save_aside(path: Path, lines: list[bytes]) -> list[str]:
    """Notices about unreadable lines. They stay in the file, so a failed copy is not an error."""
    try:
        count = quarantine_lines(path, lines)
    except OSError as error:
        what = _count(len(lines), "unreadable line")
        return [f"cannot copy {what} of {path.name} to {bad_path(path)}: {error.strerror or error}; move that away"]
    return [f"saved {_count(count, 'unreadable line')} of {path.name} in {bad_path(path)}"] if count else []


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
