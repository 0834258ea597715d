"""What a model is told about each built-in tool: the one source of names, descriptions and schemas.

Kept apart from the tools themselves, so that a run which calls none of them does not import any.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec

from zot.agent.tools.limits import Limits


class Spec(msgspec.Struct, frozen=True):
    description: str
    schema: dict[str, Any]
    read_only: bool = False


READ = Spec(
    (
        "Read a text file or an image. Text comes without line numbers, at most 2000 lines or 50 KiB at a time; "
        "use offset and limit for the rest."
    ),
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File to read, relative to the working directory."},
            "offset": {"type": "integer", "description": "First line to return, counted from 1."},
            "limit": {"type": "integer", "description": "Number of lines to return."},
        },
        "required": ["path"],
    },
    read_only=True,
)
WRITE = Spec(
    "Create a file, or replace the whole content of one; missing directories are created.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File to write, relative to the working directory."},
            "content": {"type": "string", "description": "The complete new content."},
        },
        "required": ["path", "content"],
    },
)
EDIT = Spec(
    "Replace exact pieces of text in a file; each oldText must occur exactly once.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File to change, relative to the working directory."},
            "edits": {
                "type": "array",
                "description": "Replacements, each matched against the original file; they must not overlap.",
                "items": {
                    "type": "object",
                    "properties": {
                        "oldText": {"type": "string", "description": "Exact text, found once in the file."},
                        "newText": {"type": "string", "description": "The text to put in its place."},
                    },
                    "required": ["oldText", "newText"],
                },
            },
        },
        "required": ["path", "edits"],
    },
)
GLOB = Spec(
    "Find files by path pattern, newest first; ignored files and .git are left out.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "Path pattern such as **/*.py; * stays in one directory."},
            "path": {"type": "string", "description": "Directory to search; the working directory unless given."},
        },
        "required": ["pattern"],
    },
    read_only=True,
)
GREP = Spec(
    "Search file contents by regular expression; ignored files, .git and binary files are left out.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "Regular expression, matched within single lines."},
            "path": {"type": "string", "description": "File or directory; the working directory unless given."},
            "glob": {"type": "string", "description": "Only files matching this pattern, such as *.py."},
            "ignore_case": {"type": "boolean", "description": "Match letters of either case."},
            "context": {"type": "integer", "description": "Lines to show before and after each match."},
        },
        "required": ["pattern"],
    },
    read_only=True,
)


def bash(shell: str, limits: Limits) -> Spec:
    """The shell is named, because commands written for one may fail in another."""
    return Spec(
        f"Run a shell command ({os.path.basename(shell)}) in the working directory and return its "
        "output and exit code. Input is empty; long output keeps its head and tail.",
        {
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command line."},
                "timeout": {
                    "type": "integer",
                    "description": (
                        f"Seconds until it is killed: {limits.bash_timeout_s} unless given, "
                        f"{limits.bash_max_timeout_s} at most."
                    ),
                },
            },
            "required": ["command"],
        },
    )
