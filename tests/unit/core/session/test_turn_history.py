"""Usage by model and by turn, from the rows of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from zot.core.session.turn_history import cost_of, turns_of


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def meta(model: str) -> dict[str, Any]:
    return {"type": "meta", "meta": {"id": "i", "provider": "p", "model": model}}


def said(role: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}], **more}}


def used(tokens: int, cost: float) -> dict[str, Any]:
    return {"type": "usage", "usage": {"input_tokens": tokens, "cost_usd": cost}, "cumulative": {}}


def test_call_belongs_to_last_model_and_its_turn(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        *(meta("a"), said("user", "one"), used(10, 0.1), said("assistant", "x"), used(5, 0.2)),
        *(meta("b"), said("user", "two"), used(7, 0.5)),
    )
    report = cost_of(path)
    assert [(spent.label, spent.usage.input_tokens, spent.calls) for spent in report.models] == [
        ("p/b", 7, 1),
        ("p/a", 15, 2),
    ]
    assert [(spent.label, spent.usage.input_tokens) for spent in report.turns] == [("one", 15), ("two", 7)]


def test_unreadable_lines_are_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", meta("a"), said("user", "one"), used(10, 0.1))
    path.write_text(path.read_text() + "{broken\n")
    assert cost_of(path).turns[0].usage.input_tokens == 10


def test_turns_have_their_row_before_a_compaction(tmp_path: Path) -> None:
    summary = {"role": "user", "content": [{"type": "text", "text": "sum"}], "meta": {"compaction": "true"}}
    path = write(
        tmp_path / "s.jsonl",
        *(meta("a"), said("user", "one"), said("assistant", "x")),
        {"type": "compaction", "keep_tail": 0, "message": summary},
        *(said("user", "two"), said("assistant", "y")),
    )
    assert [(turn.row, turn.prompt.text()) for turn in turns_of(path)] == [(0, "one"), (2, "two")]


def test_cost_and_rewind_count_the_same_turns(tmp_path: Path) -> None:
    """issue 29.15: a replaced prompt, a note of zot and a shell command are no turns of their own."""
    path = write(
        tmp_path / "s.jsonl",
        *(meta("a"), said("user", "failed"), used(3, 0.1), said("user", "instead", meta={"replaces": "true"})),
        *(said("assistant", "x"), used(5, 0.1), said("user", "note", meta={"synthetic": "true"})),
        *(said("user", "ls", meta={"shell": "true"}), said("user", "two", meta={"origin": "x"}), used(7, 0.1)),
    )
    costs = cost_of(path).turns
    assert [spent.label for spent in costs] == [turn.prompt.text() for turn in turns_of(path)] == ["instead", "two"]
    assert [spent.usage.input_tokens for spent in costs] == [8, 7]
