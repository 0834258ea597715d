"""Interceptions of the second edition, each with plain, empty, huge and odd data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from zot.devkit.conformance.results import Check
from zot.wire.extension_frames import EDITION2_INTERCEPTS, EventIntercept, EventInterceptResponse

if TYPE_CHECKING:
    from zot.devkit.conformance.played_host import PlayedHost

CHECKS = (
    Check(
        "intercept2-answered",
        "5.4",
        (36, 168),
        "each interception of the second edition is answered within 5 s",
        "send an event_intercept_response for every event_intercept, also for what you do not change",
    ),
    Check(
        "intercept2-odd-data",
        "5.4",
        (7, 168),
        "it answers for empty, huge and odd data",
        "a key may be absent or empty, and a text may be long: decide inside a try, and block when the decision failed",
    ),
    Check(
        "intercept2-values",
        "5.4",
        (39, 168),
        "value has the keys of its event, each with its type",
        "see `zot docs protocol`; leave value out when nothing changes. A guard with a wrong value blocks",
    ),
    Check(
        "intercept2-entries",
        "10.2",
        (93, 168),
        "drop, edit and insert of context name entries that exist",
        "use the entry_id of data.messages; the last message of the user cannot be dropped",
    ),
    Check(
        "intercept2-guard",
        "19",
        (149, 168),
        "a guard does not answer `handled`",
        "a guard allows, changes or blocks: let another extension do the work",
    ),
)

_LONG = "long text " * 26_000
_ODD = 'quotes " \\ / tab \t, line\nfeed, zero \x00, é ü ☃ 🦎 \u2028 \u202e end'
_CONTENT = (list, str)
_NUMBER = (int, float)
VALUES: dict[str, dict[str, type | tuple[type, ...]]] = {
    "input": {"text": str},
    "user_shell": {"command": str, "output": str, "code": int},
    "prompt_start": {"system_append": str, "system_prompt": str, "messages": list},
    "context": {"drop": list, "edit": list, "insert": list},
    "model_request": {
        **{"model": str, "reasoning": str, "tools": list, "system_append": str, "max_tokens": int},
        **{"temperature": _NUMBER, "headers": dict},
    },
    "provider_payload": {"payload": object},
    "tool_call": {"content": _CONTENT, "is_error": bool, "details": dict},
    "tool_result": {"content": _CONTENT, "is_error": bool, "details": dict, "append": str},
    "session_before": {"carry": dict},
    "compaction": {"summary": str, "keep_tail": int, "instructions": str},
    "prompt_end": {"continue": str},
}
_TYPES = {str: "a string", int: "a whole number", bool: "true or false", list: "a list", dict: "an object"}


async def check(host: PlayedHost) -> list[EventIntercept]:
    """Asks about each event it intercepts; those whose handling asked the user."""
    from zot.devkit.conformance.extension_run import new_id

    asked_user: list[EventIntercept] = []
    for event in host.run.intercepts:
        if event not in EDITION2_INTERCEPTS:
            continue
        for number, data in enumerate(data_of(event)):
            frame = EventIntercept(id=new_id("i"), event=cast("Any", event), data=data)
            if await _ask(host, frame, "intercept2-odd-data" if number else "intercept2-answered"):
                asked_user.append(frame)
    return asked_user


async def _ask(host: PlayedHost, frame: EventIntercept, check: str) -> bool:
    run = host.run
    question = await run.answered(frame, check, run.times.intercept)
    if question is None or not isinstance(question.answer, EventInterceptResponse):
        return False
    run.verdicts.passed(check)
    judge(host, frame, question.answer, question.answer_line)
    return bool(host.dialogs_of(question))


def judge(host: PlayedHost, frame: EventIntercept, answer: EventInterceptResponse, line: bytes) -> None:
    verdicts = host.run.verdicts
    verdicts.judged("intercept2-values", _value_problem(frame.event, answer), line)
    if frame.event == "context" and isinstance(answer.value, dict):
        data = cast("dict[str, Any]", frame.data)
        verdicts.judged("intercept2-entries", _entry_problem(data, cast("dict[str, Any]", answer.value)), line)
    if host.run.is_guard:
        problem = f"handled in an answer about {frame.event}" if answer.handled else ""
        verdicts.judged("intercept2-guard", problem, line)


def _value_problem(event: str, answer: EventInterceptResponse) -> str:
    from zot.errors import closest_match

    if answer.value is None:
        return ""
    if not isinstance(answer.value, dict):
        return f"{event}: value is not an object"
    known = VALUES.get(event, {})
    for key, given in cast("dict[str, Any]", answer.value).items():
        expected = known.get(key)
        if expected is None:
            near = closest_match(key, tuple(known))
            return f"{event}: value has no {key!r}" + (f"; did you mean {near!r}?" if near else "")
        if given is not None and (not isinstance(given, expected) or (isinstance(given, bool) and expected is int)):
            kinds = expected if isinstance(expected, tuple) else (expected,)
            return f"{event}: value.{key} is not {' or '.join(_TYPES.get(kind, 'a number') for kind in kinds)}"
    return ""


def _entry_problem(data: dict[str, Any], value: dict[str, Any]) -> str:
    messages = cast("list[dict[str, Any]]", data.get("messages") or [])
    known = {message["entry_id"] for message in messages}
    last = next((message["entry_id"] for message in reversed(messages) if message["role"] == "user"), "")
    for key, names in (("drop", _texts(value.get("drop"))), ("edit", _named(value.get("edit"), "entry_id"))):
        if strange := [name for name in names if name not in known]:
            return f"{key}: there is no entry {strange[0]!r}"
    if last and last in _texts(value.get("drop")):
        return "drop: the last message of the user cannot be dropped"
    if strange := [name for name in _named(value.get("insert"), "after") if name and name not in known]:
        return f"insert: there is no entry {strange[0]!r}"
    for insert in _objects(value.get("insert")):
        message = insert.get("message")
        role = cast("dict[str, Any]", message).get("role", "user") if isinstance(message, dict) else None
        if role != "user":
            return f"insert: a message of role {role!r}; expected user"
    return ""


def _objects(value: Any) -> list[dict[str, Any]]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _texts(value: Any) -> list[str]:
    return [str(item) for item in cast("list[Any]", value)] if isinstance(value, list) else []


def _named(value: Any, key: str) -> list[str]:
    return [str(item.get(key, "")) for item in _objects(value)]


def data_of(event: str) -> list[dict[str, Any]]:
    """Plain data first, then empty, huge and odd ones."""
    make = _MAKERS[event]
    return [make("a plain text"), make(""), make(_LONG), make(_ODD)]


def _message(number: int, role: str, text: str) -> dict[str, Any]:
    return {"entry_id": f"s1:{number}", "role": role, "chars": len(text), "content": [{"type": "text", "text": text}]}


def _messages(text: str) -> list[dict[str, Any]]:
    if not text:
        return []
    return [_message(1, "user", text), _message(2, "assistant", "yes"), _message(3, "user", "go on")]


def _prompt_start(text: str) -> dict[str, Any]:
    names = ["read", "bash"] if text else []
    about = {"prompt_id": "p1", "text": text, "image_count": 0, "source": "person"}
    return {**about, "system_prompt": text, "tools": names, "skills": []}


def _model_request(text: str) -> dict[str, Any]:
    about = {"provider": "anthropic", "model": "claude-sonnet-5-5", "reasoning": "off", "purpose": "step"}
    return {
        **about,
        "tools": ["read"] if text else [],
        "system_chars": len(text),
        "message_count": 3,
        "max_tokens": 4096,
    }


def _tool_result(text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    return {
        "tool_id": "toolu_1",
        "tool_name": "bash",
        "args": {"command": "true"},
        "content": content,
        "is_error": False,
    }


_MAKERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "input": lambda text: {"text": text, "images": 0, "source": "person", "deliver": "now"},
    "user_shell": lambda text: {"command": text, "hidden": False, "cwd": "/"},
    "prompt_start": _prompt_start,
    "context": lambda text: {"revision": 1, "messages": _messages(text)},
    "model_request": _model_request,
    "provider_payload": lambda text: {"provider": "anthropic", "api": "messages", "payload": {"text": text}},
    "tool_result": _tool_result,
    "session_before": lambda text: {"action": "fork" if text else "new", "target": text[:64]},
    "compaction": lambda text: {
        **{"compaction_id": "c1", "trigger": "manual", "focus": text, "token_estimate": 100},
        "messages": _messages(text),
    },
    "prompt_end": lambda text: {"prompt_id": "p1", "status": "completed", "text": text},
}
