"""The question before a tool runs, without a terminal around it."""

from __future__ import annotations

from typing import Any

import pytest

from zot.core.permission_gate import Answer, ApprovalQuestion
from zot.frontends.terminal.dialogs import confirm
from zot.frontends.terminal.dialogs.call_details import call_rows, nothing_there
from zot.frontends.terminal.dialogs.confirm import ConfirmDialog, is_dangerous
from zot.provider.messages import ToolCallBlock
from zot.tui.keys import Key
from zot.tui.markdown import Painter
from zot.tui.theme import built_in
from zot.tui.width import visible

PAINTER = Painter.of(built_in())


class FakeConfirmations:
    waiting = 2

    def __init__(self) -> None:
        self.escapes = 0
        self.existing = nothing_there

    def escaped(self) -> None:
        self.escapes += 1


def dialog(args: Any, tool: str = "bash", prefix: tuple[str, ...] = (), *, or_all: bool = True) -> ConfirmDialog:
    question = ApprovalQuestion(ToolCallBlock("t1", tool).with_args(args), "", "", prefix, or_all)
    return ConfirmDialog(question, PAINTER, FakeConfirmations())  # pyright: ignore[reportArgumentType]


def shown(asked: ConfirmDialog, height: int = 20) -> str:
    return "\n".join(visible(row) for row in asked.lines(PAINTER.theme, 60, height))


def test_overwriting_write_shows_size_and_whole_new_file() -> None:
    def rows(before: bytes, content: str) -> list[str]:
        made = call_rows("write", {"path": "f", "content": content}, PAINTER, 50, lambda path: before)
        return [visible(row) for row in made]

    assert rows(b"a\nb\n", "a\nc\u202e\n") == [
        *["f", "replaces a file (+1 \N{MINUS SIGN}1)", "  a", "- b", "+ c⟨U+202E⟩"],
        *["the whole file after the change", "   1 a", "   2 c⟨U+202E⟩"],
    ]
    assert rows(b"a\n", "a\n")[1] == "the file already has exactly this content"
    assert rows(b"\0", "a\n")[1] == "this replaces a file that is not text"


def test_edit_shows_surrounding_lines_with_numbers() -> None:
    before = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"

    def rows(*edits: tuple[str, str], file: bytes | None = before) -> list[str]:
        changes = [{"oldText": old, "newText": new} for old, new in edits]
        made = call_rows("edit", {"path": "f", "edits": changes}, PAINTER, 50, lambda path: file)
        return [visible(row) for row in made]

    context = ["f", "   2   two", "   3   three", "   4   four"]
    assert rows(("five", "5\u202e")) == [
        *[*context, "   5 - five", "   5 + 5⟨U+202E⟩"],
        *["   6   six", "   7   seven"],
    ]
    plain = ["f", "- two", "+ 2"]
    assert rows(("two", "2"), file=None) == plain, "nobody knows the file"
    assert rows(("two", "2"), file=b"two two") == plain, "it would be refused"
    assert rows(("two", "2"), file=b"\xfftwo") == plain, "it is not text"
    assert len(rows(("one", "1"), ("seven", "7"))) == 1 + 7 + 2
    assert rows(("a", "b"), ("a\n", "c"), file=b"a\n")[1] == "edit 1 of 2", "they overlap"


async def test_a_key_that_comes_with_the_dialog_is_ignored() -> None:
    """§4.6: typing does not approve."""
    asked = dialog({"command": "ls"})
    shown(asked)
    for key in ("1", "enter", "esc"):
        assert asked.key(Key(key, key))
    assert not asked.done


async def test_a_key_that_comes_before_the_dialog_was_drawn_is_ignored() -> None:
    asked = dialog({"command": "ls"})
    asked.key(Key("1", "1"))
    assert not asked.done


@pytest.mark.parametrize(("key", "decision"), [("1", "once"), ("2", "tool"), ("3", "all"), ("4", "deny")])
async def test_each_digit_is_an_answer(monkeypatch: pytest.MonkeyPatch, key: str, decision: str) -> None:
    """iface-198: each of the keys 1 to 4 gives its own answer."""
    monkeypatch.setattr(confirm, "DEAF_S", 0.0)
    asked = dialog({"x": "ls"}, "weather")
    shown(asked)
    asked.key(Key(key, key))
    assert await asked.answer() == (Answer(decision), False)  # pyright: ignore[reportArgumentType]


async def test_pending_question_count_is_shown() -> None:
    assert "run bash? (2 more waiting)" in shown(dialog({"command": "ls"}))


@pytest.mark.parametrize(
    "command",
    ["rm -rf build", "sudo ls", "git push --force", "git reset --hard", "curl x | sh", "dd if=/dev/zero of=x"],
)
def test_irreversible_commands_are_recognised(command: str) -> None:
    """§4.6: "no" is selected for these."""
    assert is_dangerous({"command": command})


@pytest.mark.parametrize("command", ["ls -l", "git push", "rm file", "curl x > y", "echo format"])
def test_everyday_commands_are_not(command: str) -> None:
    assert not is_dangerous({"command": command})


async def test_enter_denies_dangerous_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirm, "DEAF_S", 0.0)
    asked = dialog({"command": "rm -rf /"})
    shown(asked)
    asked.key(Key("enter"))
    assert (await asked.answer()) == (Answer("deny"), False)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["2"], (Answer("prefix"), False)),
        (["right", "2"], (Answer("prefix"), True)),
        (["right", "right", "enter"], (Answer("tool"), False)),
        (["left", "enter"], (Answer("tool"), True)),
    ],
)
async def test_always_means_prefix_first_then_session(
    monkeypatch: pytest.MonkeyPatch, keys: list[str], answer: object
) -> None:
    monkeypatch.setattr(confirm, "DEAF_S", 0.0)
    asked = dialog({"command": "git status"}, prefix=("git", "status"))
    assert "2  yes, and always `git status …` in this session" in shown(asked)
    for key in keys:
        asked.key(Key(key, key))
    assert await asked.answer() == answer


async def test_no_is_the_fourth_also_where_everything_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirm, "DEAF_S", 0.0)
    asked = dialog({"path": "/etc/hosts"}, "read", or_all=False)
    assert "everything" not in shown(asked) and "4  no" in shown(asked)
    asked.key(Key("3", "3"))
    assert not asked.done
    asked.key(Key("4", "4"))
    assert await asked.answer() == (Answer("deny"), False)


def rows(tool: str, args: Any) -> str:
    return "\n".join(visible(row) for row in call_rows(tool, args, PAINTER, 50))


def test_edit_shows_old_and_new_text() -> None:
    """iface-201: the question about an edit shows the old and the new text in full."""
    edits = [{"oldText": "a\nb", "newText": "c"}, {"oldText": "x", "newText": "y"}]
    text = rows("edit", {"path": "f.py", "edits": edits})
    assert text.splitlines() == ["f.py", "edit 1 of 2", "- a", "- b", "+ c", "edit 2 of 2", "- x", "+ y"]


def test_unchanged_lines_of_an_edit_are_not_marked() -> None:
    edit = {"oldText": "## Unreleased\n", "newText": "## Unreleased\n\n- a line\n"}
    assert rows("edit", {"path": "f", "edits": [edit]}).splitlines() == ["f", "  ## Unreleased", "+ ", "+ - a line"]


def test_final_newline_is_not_a_line() -> None:
    assert rows("write", {"path": "f", "content": "one\ntwo\n"}).split() == ["f", "1", "one", "2", "two"]


def test_a_long_line_is_wrapped_and_never_cut() -> None:
    """iface-201: a long line is wrapped, so that its end can be read before approving."""
    content = "x" * 200 + "END"
    assert "END" in rows("write", {"path": "f.txt", "content": content}).replace("\n", "").replace(" ", "")


def test_every_argument_of_another_tool_is_shown() -> None:
    assert rows("weather", {"city": "Oslo", "days": 3}).splitlines() == ["city: Oslo", "days: 3"]


def test_escapes_in_arguments_are_not_executed() -> None:
    text = "\n".join(call_rows("bash", {"command": "a\x1b[2J\x1b]52;c;x\x07b\rc"}, PAINTER, 50))
    assert "\x1b[2J" not in text and "\x1b]52" not in text and "\r" not in text
