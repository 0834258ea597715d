"""Completion by extensions: of the arguments of their commands, and of words behind a trigger character.
All that were asked are shown together if they answer within 300 ms; later ones as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from zot.errors import ExtensionError
from zot.features.extensions.child import ExtensionChild, new_request_id
from zot.wire import extension_frames, limits
from zot.wire.lines import plain_text, to_line

if TYPE_CHECKING:
    from zot.features.extensions.host import ExtensionHost

_MOST = 200
_LONGEST_VALUE, _LONGEST_LABEL = 1_000, 200
_LONGEST_BEFORE = 1_000


class CompletionQuery(NamedTuple):
    """``command`` without its slash, or ``trigger``; ``before`` is the line before the cursor."""

    command: str = ""
    trigger: str = ""
    text: str = ""
    cursor: int = 0
    before: str = ""


class OfferedItem(NamedTuple):
    """``label`` is the text of ``line``. ``replace``: characters before the cursor that the value replaces; None for
    the whole word or arguments."""

    value: str
    label: str
    description: str
    replace: int | None
    extension: str
    line: Any = None


OnItems = Callable[[Sequence[OfferedItem], bool], None]  # all so far, and whether there are more


def completer(host: ExtensionHost, command: str) -> ExtensionChild | None:
    """The extension that completes the arguments of this command."""
    found = host.find_command(command)
    if found is None:
        return None
    contributed = host.contributions.find(found[0].name, "command", command.lower())
    return found[0] if contributed is not None and contributed.value.get("complete") is True else None


def find_triggers(host: ExtensionHost) -> dict[str, int]:
    """The trigger characters, and how many characters must follow at least."""
    found: dict[str, int] = {}
    for item in host.contributions.of_kind("completion"):
        least = item.value.get("min_chars") or 0
        for trigger in item.value["triggers"]:
            found[trigger] = min(found.get(trigger, least), least)
    return found


async def complete(host: ExtensionHost, query: CompletionQuery, on_items: OnItems, *, late: bool = True) -> None:
    """Ends when all have answered, or after 300 ms; cancelling tells the extensions."""
    asked = _asked(host, query)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_answer(child, query)) for child in asked]
        if tasks:
            await asyncio.wait(tasks, timeout=limits.COMPLETE_REPLY)
        while True:
            done = [task.result() for task in tasks if task.done()]
            items = [item for found, _ in done for item in found]
            on_items(items[:_MOST], any(more for _, more in done) or len(items) > _MOST)
            if len(done) == len(tasks) or not late:
                break
            await asyncio.wait([task for task in tasks if not task.done()], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


def _asked(host: ExtensionHost, query: CompletionQuery) -> list[ExtensionChild]:
    if query.command:
        child = completer(host, query.command)
        return [] if child is None else [child]
    items = host.contributions.of_kind("completion")
    return list(dict.fromkeys(item.child for item in items if query.trigger in item.value["triggers"]))


async def _answer(child: ExtensionChild, query: CompletionQuery) -> tuple[list[OfferedItem], bool]:
    """Nothing if it fails: completion must not disturb typing."""
    if query.command:
        params: dict[str, Any] = {"command": query.command, "text": query.text, "cursor": query.cursor}
    else:
        params = {"trigger": query.trigger, "text": query.text, "before": query.before[-_LONGEST_BEFORE:]}
    question = extension_frames.Request(id=new_request_id(), method="complete", params=params)
    try:
        answer: extension_frames.Response = await child.ask(question, limits.REQUEST_REPLY)
    except ExtensionError:
        return [], False
    if answer.error is not None:
        child.log.write(f"complete: {answer.error.code}: {answer.error.message}")
        return [], False
    result = cast("dict[str, Any]", answer.result) if isinstance(answer.result, dict) else {}
    given = result.get("items")
    offered = cast("list[Any]", given) if isinstance(given, list) else []
    items = [item for each in offered[:_MOST] if (item := _item(each, child.name)) is not None]
    return items, result.get("more") is True or len(offered) > _MOST


def _item(given: Any, extension: str) -> OfferedItem | None:
    if not isinstance(given, dict):
        return None
    fields = cast("dict[str, Any]", given)
    value, replace = fields.get("value"), fields.get("replace")
    if not isinstance(value, str) or not value or len(value) > _LONGEST_VALUE:
        return None
    label = plain_text(to_line(fields.get("label")))[:_LONGEST_LABEL]
    description = plain_text(to_line(fields.get("description")))[:_LONGEST_LABEL]
    counts = isinstance(replace, int) and not isinstance(replace, bool) and replace >= 0
    return OfferedItem(value, label or value, description, replace if counts else None, extension, fields.get("label"))
