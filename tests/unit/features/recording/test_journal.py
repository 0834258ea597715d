"""Writing a recording: batched, soon, and independent lines."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from zot.features.recording.journal_file import JournalFile, RecordingWriter
from zot.features.recording.reader import Recording, read_recording

HEADER = {"format": 2}


class _Unwilling:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.zotrec"


def journal(path: Path, *secrets: str) -> RecordingWriter:
    made = RecordingWriter(JournalFile(path, "--record", pytest.fail, secrets))
    made.put("header", HEADER)
    return made


def whole(path: Path) -> Recording:
    recording = read_recording(path)
    assert recording.damage == "" and recording.ended
    return recording


@pytest.mark.parametrize("bad", ["\ud800", _Unwilling()])
def test_line_that_is_not_json_is_named_and_skipped(path: Path, bad: Any) -> None:
    made = journal(path)
    for type, value in (("before", "é"), ("bad", bad), ("after", "x"), ("end", "")):
        made.put(type, {"value": value})
    made.close()
    lines = whole(path).lines
    assert [line.type for line in lines] == ["header", "before", "bad", "after", "end"]
    assert "value" not in lines[2].fields and lines[2].fields["lost"].endswith("Error")
    assert lines[1].fields["value"] == "é"


def test_multi_line_secret_is_removed_and_lines_stay_separate(path: Path) -> None:
    made = journal(path, "first line\nsecond line", '"}\n{"type":')
    made.put("told", {"text": "a key: first line\nsecond line."})
    made.put("end", {})
    made.close()
    assert [line.fields.get("text") for line in whole(path).lines] == [None, "a key: [removed].", None]


def test_lines_are_written_soon_without_waiting(path: Path) -> None:
    async def wait_for(text: bytes) -> None:
        for _ in range(6000):
            if text in path.read_bytes():
                return
            await asyncio.sleep(0.005)
        pytest.fail(f"{text!r} did not come")

    async def run() -> None:
        made = journal(path)
        for round in range(3):  # each after a silence, in which no clock runs
            made.put("told", {"text": f"line {round}"})
            await wait_for(f'"line {round}"'.encode())
        made.put("end", {})
        made.close()

    asyncio.run(run())
    assert [line.type for line in whole(path).lines] == ["header", "told", "told", "told", "end"]


def test_more_than_fits_is_written_at_once(path: Path) -> None:
    async def run() -> None:
        made = journal(path)
        for number in range(5000):
            made.put("told", {"n": number})
        assert path.read_bytes().count(b"\n") > 3000
        made.put("end", {})
        made.close()

    asyncio.run(run())
    assert [line.fields["n"] for line in whole(path).lines if line.type == "told"] == list(range(5000))
