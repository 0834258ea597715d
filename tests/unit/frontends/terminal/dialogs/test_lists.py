"""Lists to choose from: filters, ages, badges, paging."""

from __future__ import annotations

import pytest

from zot.core.session.summary import Summary
from zot.core.session.turn_history import PromptTurn, turns_in
from zot.frontends.terminal.dialogs.model_picker import model_row
from zot.frontends.terminal.dialogs.picker import Picker, TurnPicker, YesNo
from zot.frontends.terminal.dialogs.sessions_list import SessionsList, age
from zot.frontends.terminal.dialogs.text_dialogs import Pager
from zot.provider.messages import Message, TextBlock, ToolCallBlock, user_message
from zot.provider.model import Model
from zot.tui.fuzzy import Pattern
from zot.tui.keys import Key
from zot.tui.theme import built_in
from zot.tui.widgets import Choice, filtered
from zot.tui.width import cells, visible

THEME = built_in()


def keys(*names: str) -> list[Key]:
    return [Key(name, name if len(name) == 1 else "") for name in names]


@pytest.mark.parametrize(
    ("query", "id", "found"),
    [
        ("opus46", "claude-opus-4-6", True),
        ("opus46", "claude-opus-4-5", False),
        ("OPUS 4.6", "claude-opus-4-6", True),
        ("anth opus", "claude-opus-4-5", True),
        ("gpt", "claude-opus-4-5", False),
    ],
)
def test_models_are_filtered_with_punctuation_ignored(query: str, id: str, found: bool) -> None:
    """iface-181: `opus46` finds the ids that contain `opus-4-6`."""
    row = model_row(Model(id=id, provider="anthropic"))
    assert bool(filtered(Pattern(query), [row])) is found


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "just now"), (61, "1 min ago"), (7200, "2 h ago"), (3 * 86_400, "3 d ago"), (30 * 86_400, "1970-")],
)
def test_age_is_formatted_in_words(seconds: int, text: str) -> None:
    assert age(1000.0, 1000.0 + seconds).startswith(text)


async def test_a_dialog_moves_stops_at_the_ends_and_ends_with_the_row() -> None:
    picker = Picker("p", [Choice(str(n), f"row {n}") for n in range(30)])
    for key in keys("up", "down", "down"):
        picker.key(key)
    assert picker.list.chosen is not None and picker.list.chosen.value == "2"
    picker.key(Key("end"))
    picker.key(Key("down"))
    picker.key(Key("enter"))
    assert await picker.answer() == "29"


async def test_rows_are_cut_by_cells_and_list_shows_remaining_count() -> None:
    """iface-279: rows of a list are cut by cells, and the list shows how many more there are."""
    picker = Picker("p", [Choice(str(n), f"日本語のタイトル👩‍👩‍👧 {n}" * 3) for n in range(30)])
    lines = picker.lines(THEME, 21, 12)
    assert all(cells(line) <= 21 for line in lines)
    assert any("more" in visible(line) for line in lines)


async def test_the_safe_answer_of_a_question_is_selected() -> None:
    question = YesNo("delete", "really?", "yes")
    question.key(Key("enter"))
    assert await question.answer() == "no"


def summary(path: str, title: str) -> Summary:
    return Summary(
        path=path, id=path, parent="", cwd="/", started="", modified=0, model="m", provider="p", messages=2,
        first_text=title, cost_usd=0.5, title="",
    )  # fmt: skip


@pytest.mark.parametrize("word", ["delta", "rename me", "rd"])
async def test_every_letter_searches_also_the_first(word: str) -> None:
    listed = SessionsList([summary("a", "apples"), summary("b", word)], "", everywhere=False)
    for key in keys(*word):
        listed.key(key)
    assert listed.list.filter == word
    listed.key(Key("enter"))
    act = await listed.answer()
    assert act is not None and (act.kind, act.path) == ("open", "b")


@pytest.mark.parametrize("typed", ["", "app"])
async def test_list_actions_use_ctrl_keys_while_searching(typed: str) -> None:
    listed = SessionsList([summary("a", "apples"), summary("b", "pears")], "", everywhere=False)
    for key in keys(*typed, "ctrl+r", "N", "ew", "enter"):
        listed.key(key)
    act = await listed.answer()
    assert act is not None and (act.kind, act.path, act.title) == ("rename", "a", "N")
    listed = SessionsList([summary("a", "apples"), summary("b", "pears")], "", everywhere=False)
    for key in keys(*typed, "ctrl+d"):
        listed.key(key)
    act = await listed.answer()
    assert act is not None and (act.kind, act.path, act.title) == ("delete", "a", "apples")


async def test_matches_stay_sorted_by_time_and_escape_ends_search() -> None:
    titles = ("the long story of the apples", "apples", "pears")
    listed = SessionsList([summary(str(n), title) for n, title in enumerate(titles)], "", everywhere=False)
    listed.key(Key("down"))
    for key in keys(*"apples"):
        listed.key(key)
    assert listed.list.chosen is not None and listed.list.chosen.value == "0"
    assert listed.key(Key("esc")) and listed.list.filter == ""
    assert listed.list.chosen.value == "1"
    assert not listed.key(Key("esc"))


def test_turns_begin_with_the_user_prompt() -> None:
    call = Message("assistant", (ToolCallBlock("1", "bash"), ToolCallBlock("2", "bash")))
    shell = Message("user", (TextBlock("ran"),), meta={"shell": "true"})
    messages = [user_message("one"), call, shell, user_message("two")]
    turns = turns_in(list(enumerate(messages)))
    assert [(turn.row, turn.prompt.text(), turn.tools) for turn in turns] == [(0, "one", 2), (3, "two", 0)]


async def test_a_turn_shows_its_number_and_the_tools_it_used() -> None:
    many = tuple(Message("assistant", (ToolCallBlock(str(i), "x"),)) for i in range(120))
    picker = TurnPicker("jump", [PromptTurn(0, user_message("first line\nsecond"), many)])
    text = "\n".join(visible(line) for line in picker.lines(THEME, 60, 10))
    assert "#1" in text and "99+t" in text and "first line" in text and "second" not in text


def test_pages_stay_inside_their_rows() -> None:
    pages = Pager()
    rows = [str(n) for n in range(50)]
    assert pages.show(rows, 10)[0] == "0"
    pages.key(Key("end"))
    assert pages.show(rows, 10)[-1] == "49"
    pages.key(Key("pagedown"))
    assert pages.show(rows, 10)[-1] == "49"
    assert pages.place == "41–50 of 50"
