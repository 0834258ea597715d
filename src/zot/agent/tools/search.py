"""Searches in a child process: ``rg`` if it is on PATH, else the search worker with the same output. Both are killed
when enough was found, after a timeout or when the call is cancelled."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

import zot
from zot.agent.tools.workspace import Workspace
from zot.errors import ToolError
from zot.system.files import find_program

SEARCH_TIMEOUT = 60

_RIPGREP = ["--no-config", "--no-messages", "--hidden", "--no-ignore-global", "--no-require-git", "--null"]
_NO_GIT = ["--glob", "!.git"]
_ANYTHING = frozenset({"", "*", "**", "**/*"})
_WORKER = "import sys; sys.path.insert(0, sys.argv[1]); from zot.agent.tools.search_worker import main; "
_PACKAGES = Path(zot.__file__).parents[1]


class SearchQuery(msgspec.Struct, frozen=True):
    """A grep search; ``file`` limits it to one file of the root."""

    pattern: str
    file: str = ""
    glob: str = ""
    ignore_case: bool = False
    context: int = 0


def ripgrep() -> str | None:
    return find_program("rg")


def listing(*, ignored_too: bool = False) -> list[str]:
    """The command that prints every file below its directory, each path followed by a NUL."""
    if rg := ripgrep():
        return [rg, *_RIPGREP, "--files", *(["--no-ignore"] if ignored_too else []), *_NO_GIT, "."]
    return _worker("files", ".", *(["*"] if ignored_too else []))


def ripgrep_search(rg: str, query: SearchQuery) -> list[str]:
    only = [] if query.glob in _ANYTHING else ["--glob", query.glob]
    case = ["--ignore-case"] if query.ignore_case else ["--case-sensitive"]
    rows = ["--line-number", "--with-filename", "--no-heading", "--color", "never", "--crlf", "--sort", "path"]
    context = ["--context", str(query.context)]
    return [rg, *_RIPGREP, *rows, *case, *context, *only, *_NO_GIT, "-e", query.pattern, "--", f"./{query.file}"]


def own_search(query: SearchQuery) -> list[str]:
    only = "" if query.glob in _ANYTHING else query.glob
    case = "1" if query.ignore_case else ""
    return _worker("grep", ".", query.file, query.pattern, only, case, str(query.context))


def _worker(*arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", f"{_WORKER}sys.exit(main(sys.argv[2:]))", str(_PACKAGES), *arguments]


Take = Callable[[bytes], bool | Awaitable[bool]]


async def run_search(workspace: Workspace, argv: list[str], cwd: Path, take: Take) -> int:
    """Feed ``take`` with the output until it returns False. Returns the exit code, 0 if stopped early."""
    tree, output = workspace.start(argv, cwd, f"cannot search in {workspace.display_path(cwd)}")
    try:
        async with asyncio.timeout(SEARCH_TIMEOUT):
            return await tree.wait() if await _drain(output, take) else 0
    except TimeoutError as error:
        raise ToolError(f"the search took longer than {SEARCH_TIMEOUT} s; narrow the path or the pattern") from error
    finally:
        if tree.exit_code is None:
            await tree.stop(0)
        else:
            tree.detach()
        for remark in tree.jail_messages:  # about a command that ran at the same time
            workspace.notify(remark)


async def _drain(fd: int, take: Take) -> bool:
    """True if the output was read to its end."""
    reader = asyncio.StreamReader()
    with os.fdopen(fd, "rb", buffering=0) as pipe:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            while chunk := await reader.read(65536):
                wanted = take(chunk)
                if not (wanted if isinstance(wanted, bool) else await wanted):
                    return False
            return True
        finally:
            transport.close()


def printable(workspace: Workspace, path: Path) -> str:
    """A path for a model; a name that is not UTF-8 has replacement marks."""
    return os.fsencode(workspace.display_path(path)).decode("utf-8", "replace")
