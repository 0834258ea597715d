"""Whatever is done to a text, its cursor is in it, its characters are whole, and undo goes all the way back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zot.tui.text_buffer import Position, TextBuffer, Token, segmented, units_of

TEXT = st.text(st.sampled_from("ab _.\nä漢👍🏽\u0301\u200d👩💻🇩🇪🇫\t"), max_size=12)
UNITS = st.one_of(TEXT.map(units_of), st.just([Token("[a token]")]))
PLACE = st.tuples(st.floats(0, 1), st.floats(0, 1))
Step = tuple[str, tuple[float, float], tuple[float, float], list[str]]
STEP = st.tuples(st.sampled_from(["insert", "replace", "move", "undo", "redo", "type"]), PLACE, PLACE, UNITS)


def place(buffer: TextBuffer, at: tuple[float, float]) -> Position:
    line = round(at[0] * (len(buffer.lines) - 1))
    return Position(line, round(at[1] * len(buffer.lines[line])))


def apply(buffer: TextBuffer, step: Step) -> None:
    kind, one, other, units = step
    match kind:
        case "insert":
            buffer.insert(units)
        case "type":
            for unit in units:
                buffer.insert([unit], typed=True)
        case "replace":
            start, end = sorted((place(buffer, one), place(buffer, other)))
            buffer.replace(start, end, units)
        case "move":
            buffer.move(place(buffer, one))
        case "undo":
            buffer.undo()
        case _:
            buffer.redo()


@given(st.lists(STEP, max_size=12))
def test_cursor_stays_in_text_and_characters_stay_whole(steps: list[Step]) -> None:
    buffer = TextBuffer()
    for step in steps:
        apply(buffer, step)
        assert 0 <= buffer.cursor.line < len(buffer.lines)
        assert 0 <= buffer.cursor.column <= len(buffer.lines[buffer.cursor.line])
        for line in buffer.lines:
            assert list(line) == list(segmented(line))


@given(st.lists(STEP, max_size=12))
def test_undo_all_gives_the_start_and_redo_all_the_end(steps: list[Step]) -> None:
    buffer = TextBuffer()
    for step in steps:
        apply(buffer, step)
    while buffer.redo():
        pass
    end = [list(line) for line in buffer.lines]
    while buffer.undo():
        pass
    assert buffer.empty
    while buffer.redo():
        pass
    assert [list(line) for line in buffer.lines] == end


@given(TEXT, TEXT, PLACE)
def test_insert_puts_text_before_the_cursor(old: str, new: str, at: tuple[float, float]) -> None:
    buffer = TextBuffer()
    buffer.reset(units_of(old))
    where = place(buffer, at)
    offset = sum(map(len, buffer.units(Position(0, 0), where)))
    buffer.move(where)
    buffer.insert(units_of(new))
    assert buffer.text == old[:offset] + new + old[offset:]
    assert sum(map(len, buffer.units(Position(0, 0), buffer.cursor))) >= offset + len(new)


def test_typing_is_undone_by_the_word() -> None:
    buffer = TextBuffer()
    for character in "two words":
        buffer.insert([character], typed=True)
    buffer.undo()
    assert buffer.text == "two "
    buffer.undo()
    assert buffer.empty


def test_a_mark_typed_after_a_letter_joins_it() -> None:
    buffer = TextBuffer()
    buffer.insert(["e"], typed=True)
    buffer.insert(["\u0301"], typed=True)
    assert list(buffer.lines[0]) == ["e\u0301"]
    assert buffer.cursor == Position(0, 1)


def test_a_token_with_the_same_face_is_still_exchanged() -> None:
    buffer = TextBuffer()
    one, other = Token("ä[x]"), Token("ä[x]")
    buffer.insert([one])
    buffer.replace(Position(0, 0), Position(0, 1), [other])
    assert buffer.lines[0][0] is other


def test_redo_after_change_behind_cursor_restores_position() -> None:
    buffer = TextBuffer()
    apply(buffer, ("insert", (0.0, 0.0), (0.0, 0.0), [Token("[a token]")]))
    apply(buffer, ("insert", (0.0, 0.0), (0.0, 0.0), ["b"]))
    apply(buffer, ("replace", (0.0, 0.0), (0.0, 0.5), [Token("[a token]")]))
    apply(buffer, ("type", (0.0, 0.0), (0.0, 0.0), units_of("äb_")))
    end = list(buffer.lines[0])
    while buffer.undo():
        pass
    while buffer.redo():
        pass
    assert list(buffer.lines[0]) == end
