"""What a list shows of one session, gathered in one quick pass that does not build the transcript."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from zot.core.session.records import DiskBlock, Meta
from zot.provider.messages import Usage

_FIRST_TEXT_MAX = 200


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """``title`` is the last one given, ``first_text`` how the first prompt begins, ``modified`` in seconds."""

    path: str
    id: str
    parent: str
    cwd: str
    started: str
    modified: float
    model: str
    provider: str
    messages: int
    first_text: str
    cost_usd: float
    title: str

    @property
    def label(self) -> str:
        """The title, else the first words, on one line."""
        return self.title or " ".join(self.first_text.split()) or "(no text)"


class _Message(msgspec.Struct):
    role: str = ""
    content: msgspec.Raw = msgspec.Raw()


class _Row(msgspec.Struct):
    """Only what a summary needs; the decoder skips the rest."""

    type: str = ""
    meta: Meta | None = None
    message: _Message | None = None
    cumulative: Usage | None = None
    title: str = ""


_decode_row = msgspec.json.Decoder(_Row).decode
_decode_blocks = msgspec.json.Decoder(tuple[DiskBlock, ...] | None).decode


def summarise(path: Path) -> Summary | None:
    """None when the first row is not a meta row; raises OSError. The last meta, title and cost hold."""
    with open(path, "rb") as file:
        tally = _Tally()
        if not tally.first(file.readline()):
            return None
        tally.rest(file)
        modified = path.stat().st_mtime
    return tally.summary(path, modified)


class _Tally:
    def __init__(self) -> None:
        self.meta = Meta()
        self.title = ""
        self.messages = 0
        self.first_text = ""
        self.cost_usd = 0.0

    def first(self, line: bytes) -> bool:
        row = _row(line)
        if row is None or row.type != "meta" or row.meta is None:
            return False
        self.meta = row.meta
        return True

    def rest(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            if (row := _row(line)) is not None:
                self._add(row)

    def _add(self, row: _Row) -> None:
        if row.type == "message" and row.message is not None:
            self.messages += 1
            if not self.first_text and row.message.role == "user":
                self.first_text = _text_of(row.message.content)
        elif row.type == "usage" and row.cumulative is not None:
            self.cost_usd = row.cumulative.cost_usd
        elif row.type == "rename":
            self.title = row.title or self.title
        elif row.type == "meta" and row.meta is not None:
            self.meta = row.meta

    def summary(self, path: Path, modified: float) -> Summary:
        meta = self.meta
        return Summary(
            path=str(path),
            id=meta.id,
            parent=meta.parent,
            cwd=meta.cwd,
            started=meta.started,
            modified=modified,
            model=meta.model,
            provider=meta.provider,
            messages=self.messages,
            first_text=self.first_text[:_FIRST_TEXT_MAX],
            cost_usd=self.cost_usd,
            title=self.title or meta.title,
        )


def _row(line: bytes) -> _Row | None:
    try:
        return _decode_row(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _text_of(content: msgspec.Raw) -> str:
    try:
        blocks = _decode_blocks(content)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    return "\n".join(block.text for block in blocks or () if block.text)
