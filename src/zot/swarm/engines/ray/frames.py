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
    """An attempt to begin. ``config`` has no key, and in its ``script`` ``{directory}`` and ``{tree}`` stand for the
    places on the node; ``home`` are the files its home has, ``inside`` the directory of the tree it works in,
    ``environment`` what is added to that of the node. The bundle and the credential come beside it, the credential so
    that it is never in Ray's store of large objects."""

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
    """An attempt has ended. ``lost``: the node or the host is gone."""

    code: int
    reason: str = ""
    lost: bool = False


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """New lines from ``first``, session bytes from ``session_at``, log, and the tree if it changed."""

    worker: str
    attempt: int
    number: int = 0  # of the keeper, for the driver to acknowledge
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
    """How far the reader of an attempt is: the last line, bytes of the session and of the log, the last tree."""

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
