"""Words of the manifest's ``uses``: those it needs, and those it never used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from zot.devkit.conformance.results import Check
from zot.wire.extension_frames import Contribute, EventInterceptResponse, Notify, RegisterTool, Request, Subscribe

if TYPE_CHECKING:
    from zot.devkit.conformance.extension_run import ExtensionRun
    from zot.devkit.conformance.frame_transcript import TranscriptLine

CHECKS = (
    Check(
        "uses-declared",
        "18",
        (141, 170),
        "each word it needs is in the manifest's uses",
        'add the word to "uses" in extension.json: without it zot answers `denied`',
    ),
    Check(
        "uses-needed",
        "18",
        (141, 170),
        "each word of the manifest's uses was used",
        "remove the word, unless a path the check cannot reach needs it: a person reads every word before installing",
    ),
    Check(
        "uses-denied",
        "18",
        (20, 143, 170),
        "it answers when a word was taken away",
        "a person may deny a word (`zot ext deny`): treat `denied` as a refusal, and look into `granted`",
    ),
)


def check(runs: list[ExtensionRun]) -> None:
    """All runs of an extension of the second edition."""
    verdicts, manifest = runs[0].verdicts, runs[0].host.manifest
    used = set("flags" for _ in manifest.flags)
    for run in runs:
        for line in run.host.transcript.received:
            for word, what in words_of(run, line):
                used.add(word)
                if word not in manifest.uses:
                    evidence = f'{what} needs "{word}", which is not in uses'
                    verdicts.failed("uses-declared", evidence, line.data, line.t)
    for word in manifest.uses:
        if word not in used:
            verdicts.warned("uses-needed", f'"{word}" was not used in any run')
    verdicts.passed("uses-declared")
    if manifest.uses:
        verdicts.passed("uses-needed")


def words_of(run: ExtensionRun, line: TranscriptLine) -> Iterator[tuple[str, str]]:
    """The words that a frame needs, with what needs it."""
    from zot.features.extensions.subscriptions import EVENT_WORDS, INTERCEPT_WORDS

    match line.frame:
        case Request() as frame:
            yield from _of_request(run, frame)
        case Contribute() as frame:
            if word := _of_contribution(run, frame):
                yield word, f"contribute {frame.kind}"
        case Subscribe(events=events, intercept=intercept):
            for name in (*events, *intercept):
                if word := (INTERCEPT_WORDS if name in intercept else EVENT_WORDS).get(name, ""):
                    yield word, f"subscribe {name}"
        case EventInterceptResponse(handled=True) as frame:
            question = run.host.transcript.questions.get(("intercept", frame.id))
            if question is not None and question.name == "tool_call":
                yield "results", "handled in tool_call"
        case RegisterTool(override=True, name=name):
            yield "tools.override", f"the tool {name} with override"
        case Notify(desktop=True):
            yield "ui", "notify with desktop"
        case _:
            pass


def _of_request(run: ExtensionRun, frame: Request) -> Iterator[tuple[str, str]]:
    from zot.features.extensions.requests import METHODS

    method = METHODS.get(frame.method)
    params = cast("dict[str, Any]", frame.params) if isinstance(frame.params, dict) else {}
    if method is not None and method.word:
        yield method.word, frame.method
    if frame.method == "tools.call":
        yield ("tools.override" if params.get("original") is True else "tools"), frame.method
    elif frame.method == "secrets.get" and isinstance(provider := params.get("provider"), str):
        yield f"secrets.{provider}", frame.method
    elif frame.method == "session.entries" and params.get("kinds") != ["extension"]:
        yield "session.read", "session.entries of more than its own"


def _of_contribution(run: ExtensionRun, frame: Contribute) -> str:
    from zot.features.extensions.contributions import KINDS

    value = cast("dict[str, Any]", frame.value) if isinstance(frame.value, dict) else {}
    if frame.kind == "tool" and value.get("override") is True:
        return "tools.override"
    if frame.kind == "renderer":
        own = {tool.name for tool in run.tools}
        return "render" if value.get("for") == "tool" and not own.issuperset(value.get("match") or ()) else ""
    kind = KINDS.get(frame.kind)
    return kind.word if kind is not None else ""
