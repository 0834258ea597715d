"""Sessions whose writer's system calls fail: every loss is reported and the file opens."""

from __future__ import annotations

import errno
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conformance.test_session_kill import child, result
from zot.core.session.session import Session
from zot.core.session.store import SessionStore
from zot.errors import ZotError
from zot.provider.messages import Message, TextBlock, ToolCallBlock, user_message

SHORT = 60
LONG = max(int(os.environ.get("ZOT_TORTURE", "1000")) // 2, 500)
# How many calls of each a writer makes, and a few more, for one with something to mend: beyond them nothing is met.
SEAM = {"write": 17, "fsync": 10, "open": 5, "fstat": 12, "stat": 13, "lseek": 17, "pread": 4, "fchmod": 3}
ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EACCES, errno.EMFILE, errno.ENOMEM, errno.EROFS)
NEVER_ENDS = 10**9


class Fault(NamedTuple):
    """``calls`` calls fail with ``error`` after ``after`` went well; the first write to fail takes half of its data."""

    name: str
    after: int
    calls: int
    error: int


class Seam:
    """Replaces a function of ``os`` in a forked writer."""

    def __init__(self, fault: Fault) -> None:
        self.hits = 0
        self._fault = fault
        self._count = 0
        self._real: Callable[..., Any] = getattr(os, fault.name)
        setattr(os, fault.name, self)

    def __call__(self, *args: Any, **more: Any) -> Any:
        self._count += 1
        if not 0 <= self._count - 1 - self._fault.after < self._fault.calls:
            return self._real(*args, **more)
        self.hits += 1
        if self._fault.name == "write" and len(args[1]) > 1 and self.hits == 1:
            return self._real(args[0], bytes(args[1])[: len(args[1]) // 2])
        raise OSError(self._fault.error, os.strerror(self._fault.error))


def write_with(store: SessionStore, path: Path | None, number: int, fault: Fault, pipe: int) -> None:
    """Writes twelve records and an end; the pipe reports notices and whether the fault occurred."""
    told: list[tuple[str, bool]] = []
    real_write = os.write
    seam = Seam(fault)
    saved = True
    try:
        session = store.create("p", "m") if path is None else store.open(path)
        session.on_failure = lambda text, lost: told.append((text, lost))
        for step in range(4):
            _turn(session, f"{number}.{step}")
        session.close()
    except (ZotError, OSError) as error:
        saved = False
        told.append((str(error), True))
    report = {"told": told, "hits": seam.hits, "saved": saved, "path": str(session.path) if saved else str(path or "")}
    real_write(pipe, json.dumps(report).encode())


def _turn(session: Session, name: str) -> None:
    session.appended(user_message(f"user {name}"))
    session.appended(Message("assistant", (TextBlock("x" * 100), ToolCallBlock(f"call {name}", "bash", "{}"))))
    session.appended(result(name))


def one_fault(store: SessionStore, path: Path | None, number: int, fault: Fault) -> tuple[dict[str, Any], Path | None]:
    with child(lambda pipe: write_with(store, path, number, fault, pipe)) as (_, reading):
        data = b""
        while piece := os.read(reading, 1 << 16):
            data += piece
    report = json.loads(data)
    left = Path(report["path"]) if report["path"] else None
    if left is None or not left.exists() or b"\n" not in left.read_bytes():  # without a whole row it is no session yet
        assert any(lost for _, lost in report["told"]), f"{fault}: nothing was saved, which was not told"
        return report, None
    session = store.open(left)
    there = {message.text() for message in session.messages if message.role == "user"}
    missing = [step for step in range(4) if f"user {number}.{step}" not in there]
    session.close()
    assert not missing or report["told"], f"{fault}: {missing} are missing and nobody was told"
    assert not missing or any(lost for _, lost in report["told"]), f"{fault}: {missing} are missing, not told as lost"
    return report, left


def inject_many(store: SessionStore, faults: int) -> int:
    """The number of faults that occurred, without those beyond the last call."""
    chance = random.Random(20260102)
    met = number = 0
    path: Path | None = None
    while met < faults:
        number += 1
        calls = chance.choice((1, 2, 5, NEVER_ENDS))
        name = chance.choice([*SEAM])
        fault = Fault(name, chance.randrange(SEAM[name]), calls, chance.choice(ERRORS))
        report, left = one_fault(store, path, number, fault)
        met += bool(report["hits"])
        path = left if left is not None and left.stat().st_size < 1_000_000 and chance.random() < 0.7 else None
        assert number < 20 * faults, "the faults miss the writer"
    return met


def test_a_call_that_fails_loses_nothing_without_a_word(store: SessionStore) -> None:
    assert inject_many(store, SHORT) == SHORT


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "home", tmp_path, "1")


@pytest.mark.torture
def test_faults_in_the_long_run(store: SessionStore) -> None:
    print(f"{inject_many(store, LONG)} injected faults, nothing lost without a word")
