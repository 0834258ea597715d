"""``/permissions [mode]``: which calls run without approval, the rules, and the answers saved for this project;
``/permissions why CALL``: what decides about a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zot.core.permission_modes import CYCLE, WORDS, Rule, is_wider
from zot.errors import UsageError
from zot.features.lookup import rules, saved_rules
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.dialogs.picker import Picker
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice
from zot.tui.width import wrap

if TYPE_CHECKING:
    from zot.features.rules.rule import PermissionRule

_FORGET = "forget "
_RULE = "rule "
_WHY = ("why", "check", "explain")


async def run(context: CommandContext, arguments: str) -> None:
    verb, _, rest = arguments.strip().partition(" ")
    if verb in _WHY:
        await _explain(context, rest)
        return
    if arguments:
        context.confirmations.set_mode(arguments)
        return
    while (chosen := await context.dialogs.ask(_picker(context))) is not None:
        if chosen.startswith(_RULE):
            _explain_rule(context, int(chosen.removeprefix(_RULE)))
            return
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


async def _explain(context: CommandContext, text: str) -> None:
    from zot.features.rules.explanation import explain
    from zot.frontends.terminal.dialogs.text_dialogs import TextView

    if not text.strip():
        raise UsageError("expected a command or a call: /permissions why npm test, /permissions why read .env")
    lines = [one_line(line) for line in explain(context.conversation, text)]

    def rows(theme: Theme, width: int) -> list[str]:
        paint = ("accent", "fg", *("muted" for _ in lines))
        return [
            f"  {theme.paint(colour, row)}"
            for colour, line in zip(paint, lines, strict=False)
            for row in wrap(line, max(width - 4, 8))
        ]

    await context.dialogs.ask(TextView("why", rows))


def _explain_rule(context: CommandContext, number: int) -> None:
    rule = _rules(context)[number]
    change = "change it there, or delete it with `zot permissions remove`"
    context.status.ok(one_line(f"{rule.decision} {rule.text} is a rule of {rule.file}; {change}"))


def _rules(context: CommandContext) -> list[PermissionRule]:
    feature = rules(context.conversation)
    return [] if feature is None else [rule for each in ("deny", "ask", "allow") for rule in feature.rules.of(each)]


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
        *(
            Choice(f"{_RULE}{number}", one_line(f"{rule.decision} {rule.text}"), one_line(f"rule in {rule.file}"))
            for number, rule in enumerate(_rules(context))
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
