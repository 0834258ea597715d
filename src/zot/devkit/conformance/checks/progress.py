"""Progress of calls: what it says, how often, and that it ends with the answer."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from zot.devkit.conformance.results import Check
from zot.wire import limits
from zot.wire.extension_frames import Progress

if TYPE_CHECKING:
    from zot.devkit.conformance.extension_run import ExtensionRun
    from zot.devkit.conformance.frame_transcript import Question, TranscriptLine

CHECKS = (
    Check(
        "progress-fraction",
        "7.1",
        (55, 165),
        "fraction goes from 0 to 1 and never back",
        "send how much of the whole is done; leave it out if you cannot know",
    ),
    Check(
        "progress-open",
        "3.2",
        (12, 165),
        "progress names an open question, and nothing comes after its answer",
        "send progress with the id of the question you are answering, and stop before you answer",
    ),
    Check(
        "progress-pace",
        "7.1",
        (58, 165),
        "at most 20 frames a second, or frames of which the newest is enough",
        "zot shows the newest of 20 a second: send less often, or only text, fraction and view; content is the partial "
        "result as a whole",
    ),
    Check(
        "progress-text",
        "7.1",
        (55, 165),
        "text is one short line",
        "say in text what is happening; what the call has found so far belongs in content",
    ),
)

_LONGEST = 200
_BACK = 1e-9


def check(run: ExtensionRun) -> None:
    """The progress of a finished run."""
    questions = {question.id: question for question in run.host.transcript.questions.values()}
    by_question: dict[str, list[tuple[TranscriptLine, Progress]]] = {}
    for line in run.host.transcript.received:
        if isinstance(line.frame, Progress):
            _check_one(run, line, line.frame, questions.get(line.frame.id))
            by_question.setdefault(line.frame.id, []).append((line, line.frame))
    for id, frames in by_question.items():
        streamed = (question := questions.get(id)) is not None and question.name == "provider.stream"
        _fractions(run, frames)
        if not streamed:
            _pace(run, frames)
    if by_question:
        run.verdicts.passed(*(check.id for check in CHECKS))


def _check_one(run: ExtensionRun, line: TranscriptLine, frame: Progress, question: Question | None) -> None:
    if question is None:
        run.verdicts.failed("progress-open", f"progress for {frame.id!r}, which was never asked", line.data, line.t)
    elif question.answered and line.t > question.answered and not question.cancelled:
        evidence = f"progress of the {question.kind} {question.name} after its answer"
        run.verdicts.failed("progress-open", evidence, line.data, line.t)
    if "\n" in frame.text or len(frame.text) > _LONGEST:
        what = "several lines" if "\n" in frame.text else f"{len(frame.text)} characters"
        run.verdicts.failed("progress-text", f"a text of {what}", line.data, line.t)


def _fractions(run: ExtensionRun, frames: list[tuple[TranscriptLine, Progress]]) -> None:
    given = [(line, frame.fraction) for line, frame in frames if frame.fraction is not None]
    for line, fraction in given:
        if not 0 <= fraction <= 1:
            run.verdicts.failed("progress-fraction", f"a fraction of {fraction:g}", line.data, line.t)
    for (_, before), (line, after) in pairwise(given):
        if after < before - _BACK:
            run.verdicts.failed("progress-fraction", f"{after:g} after {before:g}", line.data, line.t)


def _pace(run: ExtensionRun, frames: list[tuple[TranscriptLine, Progress]]) -> None:
    most = round(1 / limits.PROGRESS_INTERVAL)
    for (begin, _), (end, frame) in zip(frames, frames[most:], strict=False):
        lost = "content" if frame.content else "data" if frame.data is not None else ""
        if lost and end.t - begin.t < 1:
            evidence = f"{most + 1} frames within {end.t - begin.t:.2f} s, with {lost} of which zot drops some"
            run.verdicts.warned("progress-pace", evidence, end.data, end.t)
            return
