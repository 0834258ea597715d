"""``ui.ask``: asks the user. The clock of the request it serves stands still meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from zot.features.extensions.contributions import imitates_zot
from zot.features.extensions.dialogs import (
    DialogAnswer,
    DialogParams,
    ExtensionDialog,
    answer_problem,
    asks_for_secret,
    problem_of,
)
from zot.features.extensions.requests import MethodCall, RequestError
from zot.features.questions import question_queue
from zot.wire import limits

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation


async def ask(call: MethodCall) -> dict[str, Any]:
    params, child = call.params(DialogParams), call.child
    if wrong := problem_of(params):
        raise RequestError("bad_params", f"ui.ask: {wrong}")
    if imitates_zot(child.name):
        raise RequestError("denied", f"ui.ask: the name {child.name!r} could be taken for zot's")
    if named := asks_for_secret(params):
        child.fault("asks for a secret", f"asks for {named[:60]!r}; use a secret setting instead")
    conversation = call.conversation
    if not question_queue(conversation.services).can_ask(ExtensionDialog.kind):
        return _without_user(call, params)
    with _counted(call):
        answer = await _shown(call, conversation, params)
    return _result(params, answer)


def _without_user(call: MethodCall, params: DialogParams) -> dict[str, Any]:
    """The default, but never for a guard: it must not be talked into a yes."""
    if call.parent is not None and call.parent.kind == "intercept":  # the text becomes the reason of a denial
        raise RequestError("unavailable", f"denied: {call.child.name} must ask, and no user can be asked in this mode")
    if params.default is None:
        raise call.unavailable("no user can be asked in this mode")
    return {"value": params.default, "source": "default"}


async def _shown(call: MethodCall, conversation: Conversation, params: DialogParams) -> DialogAnswer | None:
    """The user's answer; None after ``timeout_s``."""
    seconds = min(params.timeout_s or limits.DIALOG_WAIT, limits.DIALOG_WAIT)
    loop, parent = asyncio.get_running_loop(), call.parent
    until = loop.time() + seconds if params.timeout_s else None
    question = ExtensionDialog(extension=call.child.name, params=params, until=until)
    if parent is not None:
        parent.pause()
    try:
        async with asyncio.timeout(seconds):
            return await question_queue(conversation.services).ask(question)
    except TimeoutError:
        return None
    finally:
        if parent is not None:
            parent.resume()


def _result(params: DialogParams, answer: DialogAnswer | None) -> dict[str, Any]:
    if answer is None:
        if params.default is None:
            raise RequestError("timeout", "ui.ask: the user did not answer in time")
        return {"value": params.default, "source": "timeout"}
    if answer.unavailable:
        raise RequestError("unavailable", f"ui.ask: {answer.unavailable}")
    if answer.cancelled:
        return {"cancelled": True, "source": "person"}
    if wrong := answer_problem(params, answer.value):
        raise RequestError("failed", f"ui.ask: the front end gave an answer that does not fit: {wrong}")
    return {"value": answer.value, "source": "person"}


@contextmanager
def _counted(call: MethodCall) -> Generator[None]:
    """Counts the open dialogs; RequestError if too many wait."""
    opened, name = call.host.open_dialogs, call.child.name
    if opened[name] > limits.DIALOGS_WAITING or opened.total() >= limits.DIALOGS_IN_ALL:
        raise RequestError("busy", f"ui.ask: at most {limits.DIALOGS_WAITING} dialogs of an extension may wait")
    opened[name] += 1
    try:
        yield
    finally:
        opened[name] -= 1
