"""MessagePack frames between engine, bridge, coordinator and hosts.

Each names its attempt; frames of an older attempt are dropped.
"""

from __future__ import annotations

import msgspec

from zot.agent.config import RunConfig
from zot.swarm.engines.engine import WorkerKey
from zot.swarm.git.bundle import TreeBundle

VERSION = 2


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt to start. ``config`` has no key, and in its ``script`` ``{directory}`` and ``{tree}`` are paths on
    the node; ``home`` are files of its home, ``inside`` its directory in the tree, ``environment`` is added to the
    node's. Bundle and credential are separate arguments, so that the credential is never in Ray's object store."""

    worker: str
    attempt: int
    config: RunConfig
    tree: TreeBundle
    inside: str = ""
    session: bytes = b""
    session_name: str = "session.json"
    home: dict[str, bytes] = {}
    environment: dict[str, str] = {}
    swarm: str = ""
    steps_left: int = -1
    zot: str = ""

    def __repr__(self) -> str:
        return f"Begin({self.worker!r}, {self.attempt})"


class AttemptEnded(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an attempt. ``lost``: its node or host was lost."""

    code: int
    reason: str = ""
    lost: bool = False


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """New lines from ``first``, session bytes from ``session_at``, log, and the tree if it changed."""

    worker: str
    attempt: int
    number: int = 0  # number for the driver to acknowledge
    first: int = 1
    lines: tuple[bytes, ...] = ()
    session_at: int = 0
    session: bytes = b""
    session_whole: bool = False
    log: bytes = b""
    tree: TreeBundle | None = None
    tree_number: int = 0
    over: AttemptEnded | None = None

    @property
    def says_nothing(self) -> bool:
        return not (self.lines or self.session or self.log or self.tree or self.over or self.session_whole)


class ReadPosition(msgspec.Struct, frozen=True, kw_only=True):
    """The reader's position in an attempt: last line, bytes of session and log, last tree."""

    line: int = 0
    session: int = 0
    log: int = 0
    tree: int = 0

    def after(self, batch: Batch) -> ReadPosition:
        return ReadPosition(
            line=max(self.line, batch.first + len(batch.lines) - 1),
            session=batch.session_at + len(batch.session),
            log=self.log + len(batch.log),
            tree=batch.tree_number,
        )


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """Where it runs. ``started`` is the process's time in the node's ticks."""

    pid: int
    started: int
    node: str


def encode(value: msgspec.Struct) -> bytes:
    return msgspec.msgpack.encode(value)


def decode_begin(data: bytes) -> Begin:
    return msgspec.msgpack.decode(data, type=Begin)


def decode_taken(data: bytes) -> ReadPosition:
    return msgspec.msgpack.decode(data, type=ReadPosition)


def decode_credential(data: bytes) -> WorkerKey | None:
    return msgspec.msgpack.decode(data, type=WorkerKey) if data else None


def decode_batch(data: bytes) -> Batch:
    return msgspec.msgpack.decode(data, type=Batch)


def decode_begun(data: bytes) -> Begun:
    return msgspec.msgpack.decode(data, type=Begun)
