"""What a transcript tells of the files it speaks of: what was read whole, written, and edited since.

Commands may change files behind its back; then an edit fails, its file is not known any more, and is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from zot.provider.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock

# The parts of the brief system prompt that are not the user's own.
OPENING = "You are a coding agent named zot."
RULES = "Look at files before you change them."
LISTED = "Files: "  # how the line of a system prompt begins that names them, with commas between
_CUT = "... ["  # how the read tool marks what it left out
_EMPTY = "[the file is empty]\n"


class Step(msgspec.Struct, frozen=True):
    """One action and what came of it."""

    call: ToolCallBlock
    result: ToolResultBlock

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.result.content if isinstance(block, TextBlock))

    @property
    def args(self) -> dict[str, Any]:
        return self.call.args or {}

    @property
    def new_lines(self) -> list[str]:
        """The lines an edit puts in."""
        edits = self.args.get("edits")
        texts = [edit.get("newText") for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []  # pyright: ignore
        return [line for text in texts if isinstance(text, str) for line in text.split("\n")]  # pyright: ignore

    @property
    def is_unknown_command(self) -> bool:
        """The shell did not find the program."""
        return "[exit 127]" in self.text[-200:]

    @property
    def ran_no_tests(self) -> bool:
        return any(said in self.text[-500:] for said in ("Ran 0 tests", "no tests ran", "NO TESTS RAN"))

    @property
    def path(self) -> str:
        path = self.args.get("path")
        return path if isinstance(path, str) else ""


def listed_files(system: str) -> list[str]:
    """The files the system prompt names."""
    for line in system.splitlines():
        if line.startswith(LISTED):
            return line[len(LISTED) :].split(", ")
    return []


def is_test(path: str) -> bool:
    """By its name, as most languages have it."""
    *folders, name = path.lower().split("/")
    stem = name.partition(".")[0]
    named = (
        stem.startswith(("test_", "test-")) or stem.endswith(("_test", "-test", "_spec")) or stem in ("test", "tests")
    )
    return named or ".test." in name or ".spec." in name or any(part in ("test", "tests") for part in folders)


def steps_of(messages: Sequence[Message]) -> list[Step]:
    """The calls of these messages that have a result, in order."""
    calls: dict[str, ToolCallBlock] = {}
    found: list[Step] = []
    for message in messages:
        calls.update({call.id: call for call in message.tool_calls()})
        found += [Step(calls[result.call_id], result) for result in message.tool_results() if result.call_id in calls]
    return found


def known_files(steps: Sequence[Step]) -> dict[str, str]:
    """The content of files by path as the model wrote it, the one it saw last at the end."""
    files: dict[str, str] = {}
    for step in steps:
        known_after(step, files)
    return files


def known_after(step: Step, files: dict[str, str]) -> None:
    before = files.pop(step.path, None)
    now = _after(step, before)
    if now is not None:
        files[step.path] = now


def _after(step: Step, before: str | None) -> str | None:
    failed = step.result.is_error
    match step.call.name:
        case "read" if not failed:
            return before if {"offset", "limit"} & step.args.keys() else _read(step)
        case "write" if not failed:
            content = step.args.get("content")
            return content if isinstance(content, str) else None
        case "edit" if not failed:
            return None if before is None else _edited(before, step.args.get("edits"))
        case "edit":
            return before if "are the same" in step.text else None
        case _:
            return before


def _read(step: Step) -> str | None:
    text = step.text
    cut = any(line.startswith(_CUT) for line in text.rstrip("\n").split("\n")[-3:])
    whole = len(step.result.content) == 1 and isinstance(step.result.content[0], TextBlock)
    if not whole or cut:
        return None
    return "" if text == _EMPTY else text


def _edited(text: str, edits: Any) -> str | None:
    for edit in cast("list[Any]", edits) if isinstance(edits, list) else []:
        old, new = (edit.get("oldText"), edit.get("newText")) if isinstance(edit, dict) else (None, None)  # pyright: ignore
        if not isinstance(old, str) or not isinstance(new, str) or text.count(old) != 1:
            return None
        text = text.replace(old, new)
    return text
