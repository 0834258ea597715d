"""``/permissions [mode]``: which calls run without approval, and the answers saved for this project."""

from __future__ import annotations

from collections.abc import Sequence

from zot.core.permission_modes import CYCLE, WORDS, Rule, is_wider
from zot.errors import UsageError
from zot.features.lookup import saved_rules
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.dialogs.picker import Picker
from zot.tui.sanitize import one_line
from zot.tui.widgets import Choice

_FORGET = "forget "


async def run(context: CommandContext, arguments: str) -> None:
    if arguments:
        context.confirmations.set_mode(arguments)
        return
    while (chosen := await context.dialogs.ask(_picker(context))) is not None:
        if not chosen.startswith(_FORGET):
            context.confirmations.set_mode(chosen)
            return
        number = int(chosen.removeprefix(_FORGET))
        kept = saved_rules(context.conversation)
        rules = dict(_saved(context))
        if kept is None or number not in rules:
            raise UsageError("that answer is no longer saved")
        kept.forget(rules[number])
        context.status.ok(f"deleted: {_named(rules[number])}; answers of this session still apply")


def complete(context: CommandContext, typed: str) -> Sequence[Choice]:
    return _modes(context)


def _modes(context: CommandContext) -> list[Choice]:
    gate = context.conversation.gate
    return [Choice(mode, mode, WORDS[mode]) for mode in CYCLE if gate is not None and not is_wider(mode, gate.limit)]


def _picker(context: CommandContext) -> Picker:
    rows = [
        *_modes(context),
        *(
            Choice(f"{_FORGET}{number}", _named(rule), "saved for this project; enter deletes it")
            for number, rule in _saved(context)
        ),
    ]
    hint = "enter picks · shift+tab switches directly · esc closes"
    return Picker("which calls run without approval?", rows, selected=context.confirmations.mode, hint=hint)


def _saved(context: CommandContext) -> list[tuple[int, Rule]]:
    kept = saved_rules(context.conversation)
    return list(enumerate(kept())) if kept is not None else []


def _named(rule: Rule) -> str:
    words = f"`{' '.join(rule.prefix)} …`" if rule.prefix else ""
    owner = f"({rule.extension})" if rule.extension else ""
    return one_line(" ".join(filter(None, ("always", words or rule.tool, owner))))
