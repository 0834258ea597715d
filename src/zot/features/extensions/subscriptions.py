"""What an extension observes and intercepts: the ``subscribe`` frame, its filters and the words it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from zot.wire import extension_frames

if TYPE_CHECKING:
    from zot.features.extensions.child import ExtensionChild

RequireWord = Callable[["ExtensionChild", str, str], None]

# Words of ``uses`` for interceptions and events of the second edition.
INTERCEPT_WORDS = {
    "input": "input",
    "user_shell": "input",
    "prompt_start": "context",
    "context": "context",
    "model_request": "context",
    "provider_payload": "payload",
    "tool_result": "results",
    "session_before": "session.hold",
    "compaction": "context",
    "prompt_end": "chat",
}
EVENT_WORDS = {"message_delta": "deltas"}

_EVENTS = frozenset((*extension_frames.CLASSIC_EVENTS, *extension_frames.LATER_EVENTS))
_EVENTS2 = frozenset(extension_frames.EDITION2_EVENTS)


def subscribe(child: ExtensionChild, frame: extension_frames.Subscribe, require_word: RequireWord) -> None:
    """Add the subscriptions of this frame."""
    if child.edition2:
        _drop(child, frame.drop)
    known = _allowed(child, _known_intercepts(child, frame.intercept), require_word)
    if child.edition2:
        _set_options(child, frame.options, {*known, *frame.events})
    _observe(child, frame.events, require_word)
    child.intercepts |= known
    child.guarded |= known


def _known_intercepts(child: ExtensionChild, wanted: Iterable[str]) -> set[str]:
    names = extension_frames.INTERCEPTS
    if child.edition2:
        names = (*names, *extension_frames.EDITION2_INTERCEPTS)
    known = {name for name in wanted if name in names}
    if unknown := sorted(set(wanted) - known):
        shown = ", ".join(name[:40] for name in unknown[:5])
        child.fault("unknown intercept", f"cannot intercept {shown}; expected {', '.join(names)}")
    return known


def _allowed(child: ExtensionChild, known: set[str], require_word: RequireWord) -> set[str]:
    """Those that its permissions and the words of its manifest allow."""
    allowed = set(known)
    if child.permissions is not None:
        refused = sorted(name for name in known if not child.permissions.may_intercept(name))
        allowed.difference_update(refused)
        if refused:
            why = 'not allowed by "intercept" of its permissions, ignored'
            child.fault("permissions", f"cannot intercept {', '.join(refused)}: {why}")
    return {name for name in allowed if _has_word(child, INTERCEPT_WORDS.get(name, ""), name, require_word)}


def _has_word(child: ExtensionChild, word: str, name: str, require_word: RequireWord) -> bool:
    """False, with a diagnostic, without the word."""
    if not word:
        return True
    from zot.features.extensions.requests import RequestError  # only the second edition has words

    try:
        require_word(child, word, f"subscribe {name}")
    except RequestError:
        return False
    return True


def _observe(child: ExtensionChild, wanted: Iterable[str], require_word: RequireWord) -> None:
    known = _EVENTS.intersection(wanted)
    late = _EVENTS2.intersection(wanted)
    if late and not child.edition2:
        names = ", ".join(sorted(late))
        child.fault("second edition", f'subscribed to {names}: needs "edition2" in the capabilities of its hello')
    elif late:
        known |= {name for name in late if _has_word(child, EVENT_WORDS.get(name, ""), name, require_word)}
    child.events.update(known)
    if unknown := set(wanted) - _EVENTS - _EVENTS2:
        child.log.write(f"subscribed to unknown events: {', '.join(sorted(unknown))[:500]}")


def _drop(child: ExtensionChild, names: Iterable[str]) -> None:
    for name in names:
        child.events.discard(name)
        if name in child.intercepts and child.guard:
            child.fault("dropped guard", f"a guard cannot drop {name}, which it guards")
        else:
            child.intercepts.discard(name)
            child.guarded.discard(name)


def _set_options(child: ExtensionChild, options: Any, named: set[str]) -> None:
    """``tools`` of several frames are joined; a subscription without it removes the filter."""
    given: dict[str, Any] = cast("dict[str, Any]", options) if isinstance(options, dict) else {}
    for name in named:
        own: Any = given.get(name)
        chosen = cast("dict[str, Any]", own) if isinstance(own, dict) else {}
        tools: Any = chosen.get("tools")
        child.filter_tools(name, _texts(cast("list[Any]", tools)) if isinstance(tools, list) else None)
        child.options[name] = {**child.options.get(name, {}), **chosen}


def _texts(values: list[Any]) -> frozenset[str]:
    return frozenset(value for value in values if isinstance(value, str))


def matches(tools: frozenset[str], name: str) -> bool:
    """``*`` as the last character matches any rest."""
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in tools)
