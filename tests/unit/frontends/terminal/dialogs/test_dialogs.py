"""Which keys a question that opened by itself takes as answers, on a clock that jumps."""

from __future__ import annotations

import asyncio

import pytest

from zot.frontends.terminal.dialogs import dialog as module
from zot.frontends.terminal.dialogs.dialog import TYPED_S, TYPING_S, UNREAD_S, Dialog, Dialogs
from zot.tui.keys import Key
from zot.tui.theme import Theme, built_in


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Question(Dialog[str]):
    unasked, takes_text, answers = True, False, frozenset("12")

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        return ["1 yes"]

    def key(self, key: Key) -> bool:
        self.finish(key.name)
        return True


@pytest.mark.parametrize(
    ("typed_ago", "shown_for", "at_once"),
    [
        (TYPED_S + 0.1, UNREAD_S + 0.1, True),
        (60.0, UNREAD_S + 0.1, True),
        (TYPED_S + 0.1, UNREAD_S - 0.1, False),
        (TYPED_S - 0.1, UNREAD_S + 0.1, False),
        (TYPED_S - 0.1, 60.0, False),
    ],
)
async def test_letter_counts_at_once_unless_it_may_be_text(
    monkeypatch: pytest.MonkeyPatch, typed_ago: float, shown_for: float, at_once: bool
) -> None:
    """A letter waits for a second one if the user typed shortly before, or the question has just appeared."""
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    typed: list[Key] = []
    dialogs = Dialogs(lambda: None, type_on=typed.append)
    question = Question()
    asked = asyncio.ensure_future(dialogs.ask(question))
    await asyncio.sleep(0)
    end = clock.now + 100
    for moment, act in sorted(
        [
            (end - typed_ago, lambda: dialogs.typed(Key("enter", "\n"))),
            (end - shown_for, lambda: question.lines(built_in(), 40, 10)),
        ],
        key=lambda each: each[0],
    ):
        clock.now = moment
        act()
    clock.now = end
    assert dialogs.key(Key("1", "1"))
    assert question.done is at_once
    if not at_once:
        clock.now += 0.1
        assert not dialogs.key(Key("x", "x")), "the second letter goes to the editor"
        assert [key.name for key in typed] == ["1"] and not question.done
        question.finish("")
    await asked


async def test_letter_goes_to_the_editor_while_the_user_types(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    dialogs, question = Dialogs(lambda: None), Question()
    asked = asyncio.ensure_future(dialogs.ask(question))
    await asyncio.sleep(0)
    question.lines(built_in(), 40, 10)
    clock.now += 60
    dialogs.typed(Key("a", "a"))
    clock.now += TYPING_S - 0.1
    assert not dialogs.key(Key("1", "1")) and not question.done
    question.finish("")
    await asked
