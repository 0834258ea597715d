"""Searching sessions for words, and previews of their end."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from zot.core.session.search import MessageExcerpt, last_messages, search


def message(role: str, *content: dict[str, Any], **more: Any) -> str:
    return json.dumps({"type": "message", "message": {"role": role, "content": content, **more}}, ensure_ascii=True)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    lines = [
        json.dumps({"type": "meta", "meta": {"id": "1", "cwd": "/somewhere"}}),
        message("user", text("Where is the OAuth token kept?")),
        message("assistant", text("In a file."), {"type": "tool_call", "id": "c", "name": "bash",
                                                  "arguments": {"command": "grep -r token src/auth.py"}}),
        message("tool", {"type": "tool_result", "call_id": "c", "content": [text("a needle in the output")]}),
        "not a row with token",
        message("user", text("a summary of tokens"), meta={"compaction": "true"}),
        message("assistant", text('It says "Grüße" on\nline 3.')),
    ]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    return path


def found(path: Path, typed: str) -> MessageExcerpt | None:
    hits = list(search([str(path)], typed, bool))
    return hits[0].said if hits else None


@pytest.mark.parametrize(
    ("typed", "role"),
    [
        ("oauth TOKEN", "user"),
        ("token oauth", "user"),
        ("src/auth.py", "tool"),
        ("grüSSe", None),
        ("GRÜSSE", None),
        ("grüße", "assistant"),
        ('"grüße"', "assistant"),
        ("in file", "assistant"),
        ("needle", None),  # what tools gave back
        ("summary", None),  # nobody said it
        ("role", None),  # a name of the format
        ("oauth file", None),  # not in one message
        ("somewhere", None),
        ("", None),
    ],
)
def test_search_finds_messages_and_tool_arguments(session: Path, typed: str, role: str | None) -> None:
    said = found(session, typed)
    assert (said and said.role) == role


def test_search_result_shows_surrounding_text(session: Path) -> None:
    with session.open("a") as file:
        file.write(message("user", text("before " * 100 + "rhubarb" + " after" * 1000)) + "\n")
    said = found(session, "rhubarb")
    assert said is not None and said.text.startswith("…before") and len(said.text) < 3_000
    assert said.text.index("rhubarb") < 200


def test_missing_or_odd_files_are_skipped(session: Path, tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(b"\xff\xfe token \x00\n" + b"[" * 100_000 + b"token\n")
    hits = list(search([str(tmp_path / "gone"), str(tmp_path / "b.jsonl"), str(session)], "token", bool))
    assert [hit.path for hit in hits] == [str(session)]


def test_a_search_ends_when_it_is_given_up(session: Path) -> None:
    asked = 0

    def given_up() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2

    assert list(search([str(session)] * 50, "no such words", given_up)) == []
    assert asked < 10


def test_huge_picture_is_skipped(session: Path) -> None:
    image = {"type": "image", "mime_type": "image/png", "data": "token" * 2_000_000}
    first = session.read_text()
    session.write_text(message("user", image) + "\n" + first)
    said = found(session, "token")
    assert said is not None and said.text == "Where is the OAuth token kept?"


def test_the_end_of_a_conversation_is_read_without_the_rest(session: Path) -> None:
    assert [said.role for said in last_messages(str(session))] == ["user", "assistant", "assistant"]
    assert last_messages(str(session))[-1].text == 'It says "Grüße" on\nline 3.'
    rows = message("user", text("x" * 1_000)) + "\n"
    session.write_text(session.read_text() + rows * 60_000 + message("user", text("the last")) + "\n")
    began = time.monotonic()
    assert last_messages(str(session))[-1].text == "the last"
    assert time.monotonic() - began < 0.5


def test_an_end_of_large_rows_is_still_found(session: Path) -> None:
    result = {"type": "tool_result", "call_id": "c", "content": [text("y" * 1_000_000)]}
    session.write_text(session.read_text() + message("tool", result) + "\n")
    assert last_messages(str(session))[-1].role == "assistant"
