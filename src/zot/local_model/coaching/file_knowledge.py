"""File contents known from a transcript: read whole, written, and edited since.

If a command changed a file, an edit fails; the file then counts as unknown and is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from zot.provider.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock

# The parts of the brief system prompt that are not the user's own.
OPENING = "You are a coding agent named zot."
RULES = "Look at files before you change them."
LISTED = "Files: "  # prefix of the system prompt's line of file names
_CUT = "... ["  # the read tool's mark for truncation
_EMPTY = "[the file is empty]\n"


class Step(msgspec.Struct, frozen=True):
    """One action and its result."""

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
        """The lines an edit inserts."""
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
    """Whether a file is a test, by its name."""
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
        apply_step(step, files)
    return files


def apply_step(step: Step, files: dict[str, str]) -> None:
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


# What happened since the last prompt: what was read, found, run and changed. Computed from the messages only, so the
# same request always gives the same text.

_CHANGING = ("edit", "write")
_LARGEST_PARSED = 20_000  # characters


class RunHistory(msgspec.Struct, frozen=True):
    """A command that really ran. ``changes`` is how many changes had been made before it."""

    command: str
    output: str
    failed: bool
    changes: int

    @property
    def says_nothing(self) -> bool:
        """The run has no meaning: no such program, or no test."""
        missing = "[exit 127]" in self.output[-200:] or "No module named pytest" in self.output[-500:]
        return missing or any(said in self.output[-500:] for said in ("Ran 0 tests", "no tests ran", "NO TESTS RAN"))


class TaskHistory(msgspec.Struct):
    """``files`` are the known contents now, ``before`` those first seen in this prompt, ``tries`` the number of changes
    per file, ``refused`` the calls that were denied or failed."""

    prompt: str = ""
    earlier: tuple[str, str] = ("", "")
    steps: list[Step] = []
    files: dict[str, str] = {}
    before: dict[str, str] = {}
    read: list[str] = []
    unreadable: set[str] = set()
    found: list[Step] = []
    runs: list[RunHistory] = []
    tries: dict[str, int] = {}
    refused: list[Step] = []

    def is_changed(self, path: str) -> bool:
        """Compared without empty lines and whitespace."""
        now, before = self.files.get(path), self.before.get(path, "")
        return path in self.tries and now is not None and now.split() != before.split()

    @property
    def changes(self) -> int:
        return sum(self.tries.values())

    def runs_of(self, command: str) -> list[RunHistory]:
        return [run for run in self.runs if run.command == command]


def history_of(messages: Sequence[Message]) -> TaskHistory:
    places = [number for number, message in enumerate(messages) if message.role == "user"]
    start = places[-1] if places else 0
    if not messages:
        return TaskHistory()
    earlier = _exchange(messages[places[-2] : start]) if len(places) > 1 else ("", "")
    files = known_files(steps_of(messages[:start]))
    told = TaskHistory(prompt=messages[start].text(), earlier=earlier, files=files, before=dict(files))
    for step in steps_of(messages[start:]):
        told.steps.append(step)
        name, failed = step.call.name, step.result.is_error
        apply_step(step, told.files)
        if name == "read" and failed:
            told.unreadable.add(step.path)
        elif name == "read":
            told.read.append(step.path)
            if step.path in told.files and step.path not in told.tries:
                told.before[step.path] = told.files[step.path]
        elif name in ("grep", "glob") and not failed:
            told.found.append(step)
        elif name == "bash" and "[exit " in step.text[-200:]:
            command = str(step.args.get("command", "")).strip()
            told.runs.append(RunHistory(command, step.text, failed, told.changes))
        elif name in _CHANGING and (not failed or "are the same" in step.text):
            told.tries[step.path] = told.tries.get(step.path, 0) + 1
        elif failed and name != "grep":
            told.refused.append(step)
    return told


def _exchange(messages: Sequence[Message]) -> tuple[str, str]:
    """The previous prompt and its answer."""
    said = [message.text() for message in messages if message.role == "assistant" and not message.tool_calls()]
    return messages[0].text(), said[-1] if said else ""


def broken(path: str, text: str) -> str:
    """Why a file does not parse as its name says; empty if it does or cannot be checked."""
    ending = path.rpartition(".")[2]
    if len(text) > _LARGEST_PARSED or ending not in ("py", "json", "toml"):
        return ""
    try:
        if ending == "json":
            msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
        elif ending == "toml":
            import tomllib

            tomllib.loads(text)
        else:
            import ast
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(text)
    except (SyntaxError, ValueError, msgspec.MsgspecError) as error:
        return str(error)[:200]
    except (RecursionError, MemoryError):
        return ""
    return ""
