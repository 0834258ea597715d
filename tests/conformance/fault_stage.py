"""A scratch home and project for each run under failing system calls, and the invariants that must hold afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.conftest import Zot
from tests.fakes import faults
from tests.fakes.faults import Plan
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Turn
from zot.core.session.session import Session
from zot.core.session.store import SessionStore
from zot.errors import SessionLocked
from zot.system.temp_files import SUFFIX

LONGEST_S = 60
NOT_IN_WORDS = ("Traceback (", "never retrieved", "never awaited", "Exception ", "Fatal Python", "Errno", "Warning:")

OLD, NEW, EDITED = "one\ntwo\nthree\n", "n" * 20_000, "one\n2\nthree\n"
ANSWER = "All is done. " * 40
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "w": ("write", {"path": "new.txt", "content": NEW}),
    "e": ("edit", {"path": "old.txt", "edits": [{"oldText": "two", "newText": "2"}]}),
    "b": ("bash", {"command": "seq 30000"}),
    "r": ("read", {"path": "old.txt"}),
}


class Ended(NamedTuple):
    """How a run ended; ``code`` is None when it did not."""

    code: int | None
    out: str
    err: str
    lines: list[dict[str, Any]] = []  # noqa: RUF012  what an RPC client read


class Stage:
    """One run's scratch directory. ``results`` are the tool results by call."""

    def __init__(self, root: Path, plan: Plan, turns: Callable[[SeenRequest], Turn] | None = None) -> None:
        self.root = root
        self.plan = plan
        self.log = root / "log"
        self.tmp = root / "tmp"
        for name in ("home", "project", "tmp"):
            (root / name).mkdir(parents=True)
        self.zot = Zot(root / "home", root / "project")
        self.zot.environment["TMPDIR"] = str(self.tmp)
        self.server = FakeModelServer([turns or work], repeat=True)
        self.project, self.home = self.zot.project, root / "home" / "zot"
        (self.project / "old.txt").write_text(OLD)

    def __enter__(self) -> Stage:
        self.server.__enter__()
        self.zot.url = self.server.url
        return self

    def __exit__(self, *_: object) -> None:
        self.server.__exit__(None, None, None)

    def argv(self, *args: str) -> list[str]:
        """Without the project on Python's path: a module that cannot be read is not ours to explain."""
        python, *words = self.zot.argv(args)
        return [python, "-P", *words]

    def environment(self) -> dict[str, str]:
        where = self.plan.where
        path = str(self.root / where) if where.partition("/")[0] in ROOMS else where
        return {**self.zot.env(), **faults.environment(self.plan, path, self.log)}

    def run(self, *args: str, model: bool = True, stdin: bytes | None = None) -> Ended:
        process = subprocess.Popen(
            self.argv(*args, *self.zot.endpoint(model)),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.project,
            env=self.environment(),
        )
        try:
            out, err = process.communicate(stdin, timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            return Ended(None, _text(out), _text(err))
        return Ended(process.returncode, _text(out), _text(err))

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for request in self.server.requests:
            for message in (request.json or {}).get("messages", ()):
                for block in message["content"] if isinstance(message["content"], list) else ():
                    if block["type"] == "tool_result":
                        found[block["tool_use_id"]] = block
        return found

    def texts(self) -> list[tuple[str, str]]:
        """Role and text of every message of every session, as zot itself reads them; raises when it cannot."""
        found: list[tuple[str, str]] = []
        for path in sorted(self.home.glob("sessions/*/*.jsonl")):
            if b"\n" in path.read_bytes():  # without a whole row it is no session yet
                session = self._opened(path)
                found += [(message.role, message.text()) for message in session.messages]
                session.close()
        return found

    def _opened(self, path: Path) -> Session:
        """A process that is being started beside us holds our lock until it has become its program."""
        deadline = time.monotonic() + 10
        while True:
            try:
                return SessionStore(self.home, self.project, "1").open(path)
            except SessionLocked:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


ROOMS = ("home", "project", "tmp")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def work(request: SeenRequest) -> Turn:
    """Tools first, then the answer; nothing depends on how often a request is made again."""
    last = request.json["messages"][-1]["content"]
    if [block.get("text") for block in last if isinstance(block, dict)] == ["before"] or last == "before":
        return Say("earlier")
    if isinstance(last, list) and any(block["type"] == "tool_result" for block in last):
        return Say(ANSWER)
    return CallTools([(*call, id) for id, call in TOOLS.items()])


# --- what must hold


def judge(stage: Stage, ended: Ended) -> Iterator[str]:
    """Faults of a run, independent of its scene."""
    if ended.code is None:
        yield "it hangs"
    own = [line for line in ended.err.splitlines() if not line.startswith("extension load: ")]  # which quotes its log
    for text in NOT_IN_WORDS:
        if text in ended.out or any(text in line for line in own):
            yield f"{text!r} is shown"
    hung_up = ended.code == 129 and stage.plan.where in ("stdin", "stdout")  # the terminal is gone
    unsaid = hung_up or stage.plan.where == "stderr" or (stage.plan.where, stage.plan.error) == ("stdout", "EPIPE")
    if ended.code and not unsaid and "zot: " not in ended.err:
        yield f"exit code {ended.code} without a word"
    if ended.code not in (None, 0, 1, 141) and not hung_up:
        yield f"exit code {ended.code}"
    yield from _left(stage)
    try:
        stage.texts()
    except Exception as error:
        yield f"a session does not open: {error!r}"


def _left(stage: Stage) -> Iterator[str]:
    for path in stage.home.glob("*.json"):
        try:
            json.loads(path.read_bytes())
        except ValueError:
            yield f"{path.name} is damaged: {path.read_bytes()[:80]!r}"
    if (kept := left_behind(stage.root)) and "unlink" not in stage.plan.calls:
        yield f"left behind: {[str(path.relative_to(stage.root)) for path in kept]}"
    if running := orphans(stage.root):
        yield f"still running: {running}"


def left_behind(root: Path) -> list[Path]:
    """Temporary files; except command outputs, whose path the model has."""
    outputs = (f"zot-{os.geteuid()}", "zot-bash-")  # the second where the first cannot be made
    return [
        path
        for path in root.rglob("*")
        if path.name.endswith((".tmp", SUFFIX)) or (path.parent == root / "tmp" and not path.name.startswith(outputs))
    ]


def orphans(root: Path, patience: float = 5.0) -> list[str]:
    """Processes that were started on this stage and live on."""
    deadline = time.monotonic() + patience
    while (found := list(_carrying(os.fsencode(root)))) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def _carrying(word: bytes) -> Iterator[str]:
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                if word in Path(f"/proc/{entry}/environ").read_bytes():
                    yield f"{entry} {_text(Path(f'/proc/{entry}/cmdline').read_bytes())!r}"
            except OSError:
                pass  # gone


def judge_tools(stage: Stage) -> Iterator[str]:
    """Tool results about files are true: done, or untouched."""
    results = stage.results
    for id, name, before, after in (("w", "new.txt", None, NEW), ("e", "old.txt", OLD, EDITED)):
        path = stage.project / name
        there = path.read_text() if path.exists() else None
        if id in results and there != (wanted := before if results[id].get("is_error") else after):
            told = str(results[id])[:200]
            yield f"{name} is {there and there[:20]!r}, the model was told {told}; wanted {wanted!r:.20}"
        elif there not in (before, after):
            yield f"{name} is neither the old nor the new one: {there and there[:20]!r}"


def judge_answer(stage: Stage, ended: Ended) -> Iterator[str]:
    """Exit code 0 means that the answer was printed and the session is on disk."""
    if ended.code != 0:
        return
    if not stage.plan.where.startswith("stdout") and ANSWER.strip() not in ended.out:
        yield f"exit code 0, but the answer is {ended.out[-200:]!r}"
    texts = stage.texts()
    for wanted in (("user", "go"), ("assistant", ANSWER.strip())):
        if not any(role == wanted[0] and text.strip() == wanted[1] for role, text in texts):
            yield f"exit code 0, but {wanted[0]}'s {wanted[1][:20]!r} is in no session"


# --- where it can fail

ERRORS: dict[str, Sequence[str]] = {
    "open": ("EMFILE", "ENOSPC", "EACCES", "EIO", "ENFILE", "EROFS", "ENOMEM", "EDQUOT", "EINTR"),
    "read": ("EIO", "EINTR", "ENOMEM", "EAGAIN"),
    "write": ("ENOSPC", "EIO", "EDQUOT", "EINTR", faults.SHORT, "EFBIG"),
    "fsync": ("EIO", "ENOSPC", "EDQUOT", "EINTR"),
    "stat": ("EIO", "EACCES", "ENOMEM"),
    "fchmod": ("EPERM", "EIO", "EROFS"),
    "flock": ("ENOLCK", "EINTR", "EIO"),
    "ftruncate": ("EIO", "EINTR"),
    "fallocate": ("ENOSPC", "EDQUOT"),
    "rename": ("EIO", "ENOSPC", "EACCES", "EROFS", "EDQUOT"),
    "link": ("EIO", "ENOSPC", "EMLINK"),
    "unlink": ("EIO", "EACCES", "EROFS"),
    "mkdir": ("ENOSPC", "EACCES", "EDQUOT", "EROFS"),
    "opendir": ("EMFILE", "EACCES", "EIO", "ENOMEM"),
    "readdir": ("EIO",),
    "pipe": ("EMFILE", "ENFILE"),
    "socket": ("EMFILE", "ENOMEM", "EACCES"),
    "socketpair": ("EMFILE", "ENOMEM"),
    "epoll": ("EMFILE", "ENOMEM"),
    "fork": ("EAGAIN", "ENOMEM"),
    "connect": ("ECONNREFUSED", "EHOSTUNREACH", "ETIMEDOUT", "ENETUNREACH", "EAGAIN"),
    "send": ("ECONNRESET", "EPIPE", "EAGAIN", "ENOBUFS", "EINTR", faults.SHORT),
    "recv": ("ECONNRESET", "ETIMEDOUT", "EAGAIN", "EINTR", "ENOMEM", "EIO"),
}
STREAMS = {"write": ("EPIPE", "EAGAIN", "EINTR", "EIO", faults.SHORT), "read": ("EIO", "EAGAIN", "EINTR")}
FULL = ("write", "fsync", "open", "rename", "mkdir")


def places(stage: Stage) -> list[tuple[str, str]]:
    """Call and path of each call of a watched run, in order; without those of Python and its modules."""
    rows = [(row.call, _place(stage.root, row.what)) for row in faults.met(stage.log)]
    return [row for row in rows if row[1] and row not in _PYTHONS]


# What Python does by itself: the pipe an event loop wakes itself with, and a look at the standard streams.
_PYTHONS = {
    ("send", "unix"),
    ("recv", "unix"),
    ("stat", "unix"),
    ("stat", "stdin"),
    ("stat", "stdout"),
    ("stat", "stderr"),
}


def _place(root: Path, what: str) -> str:
    """The prefix a plan can name, as narrow as it stays the same from run to run."""
    if what in ("stdin", "stdout", "stderr", "pipe", "unix", "inet", "-"):
        return what
    inside = what.removeprefix(f"{root}/") if what.startswith(f"{root}/") else ""
    words = inside.split("/")
    if words[0] not in ROOMS:
        return ""
    return "/".join(words[:3] if words[:2] == ["home", "zot"] and len(words) > 3 else words[:1])


def plans(seen: list[tuple[str, str]], wanted: int) -> list[Plan]:
    """So many plans, spread over every kind of call about every place and over its calls from first to last."""
    groups: dict[tuple[str, str], list[int]] = {}
    for call, place in seen:
        groups.setdefault((call, place), [])
    for call, place in groups:
        count = sum(c == call and p.startswith(place) for c, p in seen)
        groups[call, place] = list(range(count))
    made: dict[Plan, None] = {}
    for round in range(60):
        for (call, place), indices in groups.items():
            errors = STREAMS[call] if call in STREAMS and place in _STREAM_PLACES else ERRORS[call]
            error = errors[round % len(errors)]
            index = indices[round * 7919 // len(errors) % len(indices)] if round else 0
            lasting = faults.FOREVER if call in FULL and error in _LASTING and round % 2 == 0 else 1
            made[Plan(call, place, index, lasting, error)] = None
            if len(made) >= wanted:
                return list(made)
    return list(made)


_STREAM_PLACES = ("stdin", "stdout", "stderr", "pipe", "unix")
_LASTING = ("ENOSPC", "EDQUOT", "EROFS", "EACCES", "EIO")
