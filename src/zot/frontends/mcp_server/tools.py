"""The tools that clients see, and their arguments checked."""

from __future__ import annotations

from typing import Any

from zot.errors import UsageError
from zot.frontends.json_rpc import Params

MOST_TEXT = 1_000_000  # characters of a prompt
_TEXT: Params = {"type": "string", "description": "What to do or to answer, with all that is needed to know."}
_SESSION: Params = {"type": "string", "description": "Id of a saved session."}
_CWD: Params = {
    "type": "string",
    "description": "Directory to work in: the one of the server (default), or one below it.",
}
_MODEL: Params = {"type": "string", "description": "Another model than the default, if the server allows it."}

ANSWER: Params = {
    "type": "object",
    "properties": {
        "answer": {"type": "string"},
        "session_id": {"type": "string", "description": "For `continue`; empty if sessions are not kept."},
        "stop": {"type": "string", "description": "end, or why the answer is incomplete"},
        "cwd": {"type": "string"},
        "model": {"type": "string"},
        "steps": {"type": "integer"},
        "cost_usd": {"type": "number"},
        "changed_files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "change": {"type": "string", "enum": ["created", "changed", "deleted"]},
                    "added": {"type": "integer"},
                    "removed": {"type": "integer"},
                },
                "required": ["path", "change"],
            },
        },
    },
    "required": ["answer", "session_id", "stop", "cost_usd", "changed_files"],
}


def _tool(name: str, title: str, about: str, fields: Params, *required: str, reads: bool, out: Any = None) -> Params:
    schema: Params = {"type": "object", "properties": fields, "required": [*required], "additionalProperties": False}
    annotations = {"title": title, "readOnlyHint": reads, "destructiveHint": not reads, "openWorldHint": not reads}
    tool: Params = {"name": name, "title": title, "description": about, "inputSchema": schema}
    return {**tool, "annotations": annotations, **({"outputSchema": out} if out is not None else {})}


def tool_list(*, read_only: bool, mode: str) -> list[Params]:
    """``read_only``: the agent cannot change anything."""
    may = "It can read files, not change them." if read_only else f"Its permission mode is {mode}."
    answers = f"Waits for the answer. {may}"
    return [
        _tool(
            "prompt",
            "Ask zot",
            f"Give a task or question to zot, a coding agent with its own context; it sees nothing of yours. {answers}",
            {
                "text": _TEXT,
                "cwd": _CWD,
                "model": _MODEL,
                "session": {**_SESSION, "description": "Session to go on with."},
            },
            "text",
            reads=read_only,
            out=ANSWER,
        ),
        _tool(
            "continue",
            "Go on with a session",
            f"Send another prompt to a session of `prompt`, which remembers the earlier ones. {answers}",
            {"session": _SESSION, "text": _TEXT},
            "session",
            "text",
            reads=read_only,
            out=ANSWER,
        ),
        _tool(
            "sessions_list",
            "List sessions",
            "List saved sessions of this directory and those below it, newest first.",
            {
                "offset": {"type": "integer", "minimum": 0, "description": "Skip so many (default: 0)."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Default: 20."},
            },
            reads=True,
        ),
        _tool(
            "session_read",
            "Read a session",
            "Read prompts, answers and tool calls of a saved session, in pages.",
            {
                "session": _SESSION,
                "offset": {"type": "integer", "minimum": 0, "description": "First entry (default: 0)."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Default: 20."},
            },
            "session",
            reads=True,
        ),
        _tool(
            "swarm_run",
            "Run a background agent",
            "Give a task to an agent in a process of its own and wait for its answer. In a git repository it works in "
            f"its own worktree and branch, which its user merges later. {may}",
            {"task": _TEXT, "cwd": _CWD, "model": _MODEL},
            "task",
            reads=read_only,
        ),
    ]


class Arguments:
    """The arguments of one call. UsageError names the one that is wrong."""

    def __init__(self, given: object, known: list[str]) -> None:
        if given is None:
            given = {}
        if not isinstance(given, dict):
            raise UsageError("arguments: expected an object")
        self._given: Params = given
        if unknown := [name for name in self._given if name not in known]:
            raise UsageError(f"unknown argument {str(unknown[0])[:60]!r}: expected {', '.join(known)}")

    def text(self, name: str, *, required: bool = False) -> str:
        value = self._given.get(name)
        if value is None and not required:
            return ""
        if not isinstance(value, str):
            raise UsageError(f"{name}: expected text")
        if required and not value.strip():
            raise UsageError(f"{name}: it is empty")
        if len(value) > MOST_TEXT:
            raise UsageError(f"{name}: longer than {MOST_TEXT:,} characters")
        return value

    def number(self, name: str, default: int, least: int, most: int) -> int:
        value = self._given.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise UsageError(f"{name}: expected a whole number from {least} to {most}")
        return value


def text_answer(text: str, structured: Params | None = None, *, is_error: bool = False) -> Params:
    answer: Params = {"content": [{"type": "text", "text": text}]}
    answer |= {} if structured is None else {"structuredContent": structured}
    return answer | ({"isError": True} if is_error else {})
