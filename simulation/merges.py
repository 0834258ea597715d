"""The share of workers that have a real tree: changes that overlap, merged by the real code, one after another.

This half knows no clock that jumps: git takes the time it takes.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import msgspec

from zot.swarm.git.merge import MergeSource, merge
from zot.swarm.git.worktrees import create

_FILES, _LINES = 12, 40
_USERS = "what the user has not committed\n"


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """``outcomes`` of all workers; ``kept``: what the user had not committed is there, byte for byte; ``complete``:
    each line of a worker that was merged is in the merged tree, and none of any other."""

    workers: int
    outcomes: dict[str, int]
    kept: bool
    complete: bool
    took_s: float


def merge_share(workers: int, *, seed: int = 1) -> Merged:
    with tempfile.TemporaryDirectory(prefix="zot-sim-") as place:
        return asyncio.run(_merge_share(Path(place), workers, random.Random(seed)))


async def _merge_share(place: Path, workers: int, chance: random.Random) -> Merged:
    repository = _repository(place / "repository")
    sources = [await _worker(repository, place / "agents", number, chance) for number in range(workers)]
    began = time.monotonic()
    report = await merge(sources)
    took_s = time.monotonic() - began
    text = "".join(path.read_text() for path in repository.glob("file-*.txt"))
    complete = all((f"by {row.worker};" in text) == (row.outcome == "merged") for row in report.rows)
    return Merged(
        workers=workers,
        outcomes=dict(Counter(row.outcome for row in report.rows)),
        kept=(repository / "notes.txt").read_text() == _USERS,
        complete=complete,
        took_s=took_s,
    )


def _repository(place: Path) -> Path:
    place.mkdir()
    for number in range(_FILES):
        (place / f"file-{number}.txt").write_text("".join(f"line {line}\n" for line in range(_LINES)))
    (place / "notes.txt").write_text("")
    clean = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    user = ("-c", "user.name=a user", "-c", "user.email=user@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*user, "commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=place, env=clean, check=True)
    (place / "notes.txt").write_text(_USERS)
    return place


async def _worker(repository: Path, agents: Path, number: int, chance: random.Random) -> MergeSource:
    """It changes one line each of two files, which others may want to change as well."""
    id = f"worker-{number}"
    tree = (await create(repository, agents / id, id, id)).tree
    for file in chance.sample(range(_FILES), 2):
        path = Path(tree.path) / f"file-{file}.txt"
        lines = path.read_text().splitlines(keepends=True)
        lines[chance.randrange(_LINES)] = f"by {id};\n"
        path.write_text("".join(lines))
    return MergeSource(worker=id, name=id, task=f"change two lines, {number}", tree=tree)
