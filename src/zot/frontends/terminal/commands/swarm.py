"""``/swarm``: shows workers, starts one with a task, or acts on one with a verb.
Flags are read only before the task."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from zot.errors import UsageError, ZotError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.system.visible_text import escape_invisible

if TYPE_CHECKING:
    from zot.frontends.terminal.swarm.dashboard import WorkerAction
    from zot.tui.widgets import Choice
    from zot.wire.swarm_frames import SwarmMerge, SwarmMerged, SwarmStart, WorkerInfo

_MODES = {"--worktree": "worktree", "--shared": "shared"}
_VALUES = {"--model": "model", "--provider": "provider", "--name": "name"}
_SWITCHES = {"--write": "write", "--no-yolo": "ask", "--include-dirty": "include_dirty"}
_FLAG = re.compile(r"(--[a-z-]+)(?:=(\S*))?(?:\s+|$)")
_WORD = re.compile(r"(\S+)(?:\s+|$)")


async def run(context: CommandContext, arguments: str) -> None:
    word = _WORD.match(arguments)
    handler = _HANDLERS.get(word[1].lower() if word is not None else "")
    await (_new(context, arguments) if handler is None else handler(context, arguments[word.end() :] if word else ""))


# --- the list


async def _list(context: CommandContext, rest: str) -> None:
    """``--all``: also those of other conversations."""
    if rest not in ("", "--all", "-a"):
        raise UsageError(f"/swarm list takes no arguments; start a worker with /swarm new list {rest[:40]}")
    from zot.frontends.terminal.swarm.dashboard import SwarmDashboard

    workers = context.swarm
    workers.everyone = bool(rest)
    await workers.watch()
    measuring = context.ui.spawn(workers.measure())
    workers.shown = True
    chosen = ""
    try:
        while (act := await context.dialogs.ask(SwarmDashboard(workers, context.status, chosen))) is not None:
            chosen = act.worker
            await _tried(context, _act(context, act))
    finally:
        workers.shown = False
        measuring.cancel()


async def _act(context: CommandContext, act: WorkerAction) -> None:
    """Slow actions run beside the list, which shows their progress."""
    id = act.worker
    match act.verb:
        case "new":
            await _compose(context)
        case "read":
            await _read(context, id)
        case "prompt":
            from zot.frontends.terminal.swarm.worker_view import MessageEditor
            from zot.wire.rpc_frames import Image

            name = _named(context, id).name
            title, hint = f"message to {escape_invisible(name)}", "what the worker should do next"
            typed = await context.dialogs.ask(MessageEditor(title, context.editor.around, hint))
            if typed is not None:
                images = tuple(Image(mime_type=image.mime_type, data=image.data) for image in typed.images)
                await context.swarm.service.send(id, typed.text, images)
                context.status.ok(f"sent to {name}")
        case "diff":
            await _diff(context, id)
        case "merge":
            await _ask_to_merge(context, id)
        case "stop":
            context.ui.spawn(_stop(context, id))
        case "resume":
            context.ui.spawn(_resume(context, id))
        case "remove":
            from zot.frontends.terminal.dialogs.picker import YesNo

            name = escape_invisible(_named(context, id).name)
            if await context.dialogs.ask(YesNo(f"remove {name}?", "its log is deleted", "remove it")) == "yes":
                context.ui.spawn(_remove(context, id))


async def _tried(context: CommandContext, work: Awaitable[None]) -> None:
    """Errors are shown, and the list stays open."""
    try:
        await work
    except ZotError as error:
        context.status.error(str(error))


# --- starting


async def _new(context: CommandContext, text: str) -> None:
    if not text:
        await _compose(context)
        return
    await _start(context, spec_from_request(text))


async def _start(context: CommandContext, order: SwarmStart) -> None:
    context.status.ok("starting a worker …")
    info = await context.swarm.start(order)
    where = f"on branch {info.branch}" if info.branch else "and writes here" if order.write else "and only reads"
    context.status.ok(f"started {info.name} {where} · /swarm shows it")


async def _compose(context: CommandContext) -> None:
    from zot.frontends.terminal.swarm.worker_view import MessageEditor

    hint = "task of the worker; choose the model with --model M before it"
    typed = await context.dialogs.ask(MessageEditor("a new worker", context.editor.around, hint))
    if typed is not None:
        if typed.images:
            raise UsageError("a task is text only; send the image to the worker after it started")
        context.ui.spawn(_start(context, spec_from_request(typed.text)))


def spec_from_request(text: str) -> SwarmStart:
    """The flags before a task, and the task verbatim."""
    from zot.wire.swarm_frames import SwarmStart

    given: dict[str, Any] = {}
    while (match := _FLAG.match(text)) is not None:
        flag, value, text = match[1], match[2], text[match.end() :]
        if flag in _VALUES:
            if value is None:
                word = _WORD.match(text)
                value, text = (word[1], text[word.end() :]) if word is not None else ("", "")
            if not value:
                raise UsageError(f"/swarm new {flag}: expected a value")
            given[_VALUES[flag]] = value
        elif flag in _MODES and given.get("mode", _MODES[flag]) == _MODES[flag] and value is None:
            given["mode"] = _MODES[flag]
        elif flag in _SWITCHES and value is None:
            given[_SWITCHES[flag]] = True
        else:
            known = ", ".join((*_VALUES, *_MODES, *_SWITCHES))
            raise UsageError(f"/swarm new {flag}: unknown flag or conflict; expected {known}")
    if not text.strip():
        raise UsageError("/swarm new: expected a task")
    return SwarmStart(task=text.strip(), **given)


# --- one worker


async def _read(context: CommandContext, typed: str, *, typing: bool = False) -> None:
    from zot.frontends.terminal.swarm.worker_view import WorkerView

    workers, id = context.swarm, _named(context, typed).id
    await workers.watch()
    while True:
        view = WorkerView(workers, id, context.ui, context.editor.around, typing=typing)
        listening = context.ui.spawn(workers.subscribe(id, view.hear))
        try:
            act = await context.dialogs.ask(view)
        finally:
            listening.cancel()
            await workers.unsubscribe(id)
        if act is None:
            return
        typing = False
        await _tried(context, _act(context, act))


async def _attach(context: CommandContext, typed: str) -> None:
    await _read(context, typed, typing=True)


async def _send(context: CommandContext, rest: str) -> None:
    """Everything after the name is one message, including line breaks."""
    word = _WORD.match(rest)
    text = rest[word.end() :].strip() if word is not None else ""
    if word is None or not text:
        raise UsageError("/swarm send: expected a worker and a message")
    worker = _named(context, word[1])
    await context.swarm.service.send(worker.id, text)
    context.status.ok(f"sent to {worker.name}")


async def _stop(context: CommandContext, typed: str) -> None:
    if typed in ("all", "--all"):
        count = len(context.swarm.at_work())
        await context.swarm.stop_own()
        context.status.ok(f"stopped {count} worker{'s' * (count != 1)}")
        return
    worker = _named(context, typed)
    context.status.ok(f"stopping {worker.name} …")
    await context.swarm.service.stop(worker.id)
    context.status.ok(f"stopped {worker.name}; continue it with /swarm resume {worker.name}")


async def _resume(context: CommandContext, typed: str) -> None:
    if not typed:
        await _list(context, "")
        return
    info = await context.swarm.resume(_named(context, typed).id)
    context.status.ok(f"{info.name} continues")


async def _remove(context: CommandContext, typed: str) -> None:
    """Asks first if it has changes that are nowhere else."""
    from zot.frontends.terminal.dialogs.picker import YesNo
    from zot.swarm.worker_operations import UnmergedChanges

    name, _, flag = typed.partition(" ")
    worker = _named(context, name)
    try:
        left = await context.swarm.service.remove(worker.id, force=flag.strip() == "--force")
    except UnmergedChanges as error:
        reason = str(error).partition("; --force")[0]
        question = YesNo(f"remove {escape_invisible(worker.name)}?", reason, "remove it and lose its changes")
        if await context.dialogs.ask(question) != "yes":
            context.status.ok(f"{worker.name} was not removed")
            return
        left = await context.swarm.service.remove(worker.id, force=True)
    await context.swarm.refresh()
    if left:
        raise ZotError(f"removed {worker.name}, except: {'; '.join(left)}")
    context.status.ok(f"removed {worker.name}")


# --- changes


async def _diff(context: CommandContext, typed: str) -> None:
    from zot.frontends.terminal.dialogs.text_dialogs import TextView
    from zot.frontends.terminal.swarm.worker_summary import rows_of

    worker, ui = _named(context, typed), context.ui
    text = await context.swarm.service.diff(worker.id)
    if not text.strip():
        context.status.ok(f"{worker.name} has no changes")
        return
    title = f"changes of {escape_invisible(worker.name)}"
    await context.dialogs.ask(TextView(title, lambda theme, width: rows_of(text, ui.painter, width)))


async def _ask_to_merge(context: CommandContext, id: str) -> None:
    from zot.frontends.terminal.dialogs.picker import Picker
    from zot.tui.widgets import Choice
    from zot.wire.swarm_frames import SwarmMerge

    worker = _named(context, id)
    if worker.tree is None:
        raise ZotError(f"{worker.name} has no worktree: its changes are already in {worker.spec.cwd}")
    stat = context.swarm.stats.get(worker.id)
    rows = [
        Choice("squash", "into your files, for you to review and commit", str(stat or "")),
        Choice("no-ff", "with a merge commit"),
        Choice("patch", f"as a file, {worker.name}.patch"),
    ]
    how = await context.dialogs.ask(Picker(f"merge changes of {escape_invisible(worker.name)}", rows, filterable=False))
    if how is not None:
        command = SwarmMerge(worker=worker.id, how=cast("Any", how))  # one of the rows
        context.ui.spawn(_merge_as(context, command, worker.name))


async def _merge(context: CommandContext, rest: str) -> None:
    """``/swarm merge WORKER [--squash|--no-ff|--patch] [--into BRANCH] [--check "COMMAND"] [--repair]``."""
    import shlex

    from zot.wire.swarm_frames import SwarmMerge

    try:
        name, *words = shlex.split(rest) or [""]
    except ValueError as error:
        raise UsageError(f"/swarm merge: {error}") from error
    given: dict[str, Any] = {}
    while words:
        word = words.pop(0)
        flag, _, value = word.partition("=")
        if word in ("--squash", "--no-ff", "--patch"):
            given["how"] = word[2:]
        elif word == "--repair":
            given["repair"] = True
        elif flag in ("--into", "--check") and (value or words):
            given[flag[2:]] = value or words.pop(0)
        else:
            raise UsageError(
                f'/swarm merge {word}: expected --squash, --no-ff, --patch, --repair, --into BRANCH, --check "COMMAND"'
            )
    worker = _named(context, name)
    await _merge_as(context, SwarmMerge(worker=worker.id, **given), worker.name)


async def _merge_as(context: CommandContext, command: SwarmMerge, name: str) -> None:
    context.status.ok(f"merging {name} …")
    merged = await context.swarm.service.merge(command)
    await context.swarm.refresh()
    context.swarm.note(name, merged.left)
    if merged.conflicts:
        mending = merged.mending or await _offer_repair(context, merged, command, name)
        context.status.ok(f"{name} resolves {', '.join(mending)} in its worktree; merge it again when it is done")
        return
    if command.how == "patch":
        words = f"wrote {merged.patch}" if merged.patch else f"{name} has no changes"
    elif not merged.files:
        words = f"{name} has no changes that are missing in {merged.into}"
    else:
        count = f"{len(merged.files)} file{'s' * (len(merged.files) != 1)}"
        how = "with a merge commit" if command.how == "no-ff" else "not committed"
        words = f"merged {name} into {merged.into}: {count}, {how}"
    context.status.ok(words)


async def _offer_repair(
    context: CommandContext, merged: SwarmMerged, command: SwarmMerge, name: str
) -> tuple[str, ...]:
    """A conflict changes nothing; the worker can resolve it. ZotError if the user declines."""
    from zot.frontends.terminal.dialogs.picker import YesNo

    conflict = f"{name} conflicts with {merged.into} in {', '.join(merged.conflicts)}: nothing was changed"
    explanation = "To resolve it, the worker gets both sides in its worktree; your files do not change."
    question = YesNo(
        escape_invisible(f"merge {name}?"),
        f"{escape_invisible(conflict)}.\n{explanation}",
        f"have {escape_invisible(name)} resolve it",
    )
    if await context.dialogs.ask(question) != "yes":
        raise ZotError(f"{conflict}; have the worker resolve it: /swarm merge {name} --repair")
    mending = await context.swarm.service.repair(command.worker, command.into)
    await context.swarm.watch()
    return mending


# --- look-up


def _named(context: CommandContext, typed: str) -> Any:
    """The record of a worker by id, id prefix or name."""
    if not typed:
        raise UsageError("/swarm: expected a worker; list them with /swarm")
    return context.swarm.service.named(typed)


_HANDLERS: dict[str, Callable[[CommandContext, str], Awaitable[None]]] = {
    **dict.fromkeys(("", "list", "ls", "ps"), _list),
    **dict.fromkeys(("new", "spawn"), _new),
    **dict.fromkeys(("kill", "stop"), _stop),
    **dict.fromkeys(("remove", "rm"), _remove),
    **dict.fromkeys(("logs", "log", "view"), _read),
    **dict.fromkeys(("send", "prompt", "msg"), _send),
    **dict.fromkeys(("resume", "reattach", "reopen"), _resume),
    "attach": _attach,
    "diff": _diff,
    "merge": _merge,
}
_OFFERED = {
    "new": "start a worker: [--model M] [--provider P] [--worktree|--shared] [--write] task",
    "list": "list workers",
    "attach": "open one",
    "logs": "read the log of one",
    "send": "send a message",
    "stop": "stop one",
    "resume": "resume one",
    "diff": "show changes of one",
    "merge": "merge changes of one",
    "remove": "remove one",
}
_ONLY: dict[str, tuple[str, ...]] = {
    "send": ("queued", "running", "waiting", "idle"),
    "stop": ("queued", "running", "waiting", "idle"),
    "resume": ("done", "failed", "stopped", "lost"),
    "remove": ("idle", "done", "failed", "stopped", "lost"),
}


def complete(context: CommandContext, typed: str) -> list[Choice]:
    """The verbs; after a verb, the workers it applies to."""
    from zot.tui.widgets import Choice

    verb, space, _ = typed.partition(" ")
    if not space:
        return [Choice(f"{name} " if name != "list" else name, name, summary) for name, summary in _OFFERED.items()]
    name = next((name for name in _OFFERED if _HANDLERS.get(verb.lower()) is _HANDLERS[name]), "")
    if name in ("", "new", "list"):
        return []
    statuses = _ONLY.get(name)
    rows = [info for info in context.swarm.remembered() if statuses is None or info.status in statuses]
    return [_choice(verb, info, behind=" " * (name == "send")) for info in rows]


def _choice(verb: str, info: WorkerInfo, behind: str) -> Choice:
    from zot.frontends.terminal.swarm.worker_summary import current_activity
    from zot.tui.widgets import Choice

    return Choice(
        f"{verb} {info.name}{behind}",
        f"{verb} {escape_invisible(info.name)}",
        f"{info.status} · {current_activity(info)}"[:200],
    )
