"""A worker as others see it: the record on disk becomes the row of the wire."""

from __future__ import annotations

from zot.swarm.worker_records import WorkerRecord
from zot.wire.swarm_frames import WorkerInfo

_LAST = 200


def worker_info(worker: WorkerRecord) -> WorkerInfo:
    order = worker.spec
    return WorkerInfo(
        id=worker.id,
        name=worker.name,
        status=worker.status,
        task=order.task,
        mode=order.mode,
        cwd=order.cwd,
        created=worker.created,
        started=worker.started,
        ended=worker.ended,
        provider=order.config.provider,
        model=order.config.model,
        engine=order.engine,
        swarm=order.swarm,
        key=order.key,
        session=order.session,
        branch=worker.tree.branch if worker.tree is not None else "",
        pid=worker.pid,
        attempt=worker.attempt,
        steps=worker.steps,
        usage=worker.usage,
        activity=worker.activity,
        last=_first_line(worker.answer),
        reason=worker.reason,
        merged=worker.merged,
        notes=worker.notes,
    )


def _first_line(text: str) -> str:
    line = " ".join(text[: 4 * _LAST].split())
    return line if len(line) <= _LAST else f"{line[: _LAST - 1]}…"
