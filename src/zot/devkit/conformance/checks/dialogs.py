"""Questions to the user: well-formed, and survived however they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.devkit.conformance.results import Check

if TYPE_CHECKING:
    from zot.devkit.conformance.frame_transcript import Asking
    from zot.devkit.conformance.played_host import Outcome, PlayedHost

CHECKS = (
    Check(
        "dialogs-parameters",
        "8.1",
        (19, 166),
        "the parameters of ui.ask fit its kind",
        "every kind needs a title of at most 200 characters; select and choose need options, form needs fields, url an "
        "address; a default must be an answer that fits",
    ),
    Check(
        "dialogs-secret",
        "8.2",
        (73,),
        "no dialog asks for a credential",
        'declare a setting with "secret": true in the manifest, and read it with secrets.get',
    ),
    Check(
        "dialogs-answered",
        "8.1",
        (166,),
        "the question is answered, however its dialog ends: a value, cancelled, unavailable, timeout",
        "treat a closed dialog as a no, and each error as a refusal; then answer your own question",
    ),
    Check(
        "dialogs-guard",
        "8.3",
        (74, 166),
        "an interception that asked blocks when no user can be asked",
        'block when the dialog is `unavailable`; if it guards nothing, write "guard": false in extension.json',
    ),
)

_OUTCOMES: tuple[Outcome, ...] = ("cancelled", "unavailable", "timeout")


def check_parameters(host: PlayedHost) -> None:
    """Every dialog of a finished run."""
    import msgspec

    from zot.features.extensions.dialogs import DialogParams, asks_for_secret, problem_of

    verdicts = host.run.verdicts
    for request in host.requests:
        if not request.asks_user:
            continue
        try:
            params = msgspec.convert(request.frame.params, DialogParams)
        except msgspec.ValidationError as error:
            verdicts.failed("dialogs-parameters", str(error), request.data, request.t)
            continue
        verdicts.judged("dialogs-parameters", problem_of(params), request.data, request.t)
        if named := asks_for_secret(params):
            verdicts.warned("dialogs-secret", f"it asks for {named[:60]!r}", request.data, request.t)
        verdicts.passed("dialogs-secret")


async def check_outcomes(host: PlayedHost, asked: list[Asking]) -> None:
    """The questions of zot that asked the user are asked again, with each end of the dialog."""
    for outcome in _OUTCOMES:
        host.outcome = outcome
        for frame in asked:
            await _ask(host, frame, outcome)
            if host.run.verdicts.has_failed("dialogs-answered"):
                host.outcome = "value"
                return
    host.outcome = "value"


async def _ask(host: PlayedHost, frame: Asking, outcome: Outcome) -> None:
    import msgspec

    from zot.devkit.conformance.extension_run import new_id
    from zot.wire.extension_frames import EventInterceptResponse

    run = host.run
    again = msgspec.structs.replace(frame, id=new_id("d"))
    question = await run.answered(again, "dialogs-answered", run.limit(frame))
    if question is None:
        return
    run.verdicts.passed("dialogs-answered")
    answer = question.answer
    if not isinstance(answer, EventInterceptResponse) or outcome != "unavailable" or not host.dialogs_of(question):
        return
    blocks = answer.block or run.host.manifest.denies_guard
    problem = "" if blocks else f"the interception of {question.name} did not block without a user"
    run.verdicts.judged("dialogs-guard", problem, question.answer_line)
