"""Turns a fetched body into text for the model; HTML and PDF in a child process (``page_worker``)."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from typing import TYPE_CHECKING

import msgspec

from zot.errors import ToolError
from zot.features.web.body import decode_text, kind_of

if TYPE_CHECKING:
    from zot.agent.tools.workspace import Workspace
    from zot.features.web.client import Fetched
    from zot.system.processes import ProcessTree

_WORKER_S = 20.0
_MOST_OUTPUT = 24_000_000
_PROGRAM = "import sys; sys.path[:] = sys.argv[3:]; from zot.features.web.page_worker import main; main(*sys.argv[1:3])"


class Page(msgspec.Struct, frozen=True):
    """``addresses`` are all that were requested; ``size`` is that of the body in bytes."""

    addresses: tuple[str, ...]
    status: int
    content_type: str
    size: int
    title: str
    text: str
    notes: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return self.addresses[-1]


class _Converted(msgspec.Struct, frozen=True):
    title: str = ""
    notes: tuple[str, ...] = ()
    error: str = ""


async def page_of(fetched: Fetched, workspace: Workspace) -> Page:
    """ToolError for what has no text."""
    kind = kind_of(fetched.content_type, fetched.data)
    address, size = fetched.addresses[-1], len(fetched.data)
    notes = [f"Only the first {size:,} bytes were read; the rest was not downloaded."] if fetched.is_cut else []
    title = ""
    if kind == "binary":
        raise ToolError(f"{address} is binary ({size:,} bytes), which has no text; a command can download it")
    if kind == "pdf" and fetched.is_cut:
        raise ToolError(f"{address} is a PDF of more than {size:,} bytes, which is too large to read")
    text = "" if kind == "pdf" else decode_text(fetched.data, fetched.content_type)
    if kind != "text":
        data = fetched.data if kind == "pdf" else text.encode("utf-8", "replace")
        made, text = await _convert(kind, address, data, workspace)
        if made.error:
            raise ToolError(f"{address}: {made.error}")
        title, notes = made.title, [*notes, *made.notes]
    return Page(fetched.addresses, fetched.status, fetched.content_type, size, title, text, tuple(notes))


async def _convert(kind: str, address: str, data: bytes, workspace: Workspace) -> tuple[_Converted, str]:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        tree, output = _start([kind, address], file.fileno(), workspace)
    answer = await _answer(tree, output, address)
    head, found, text = answer.partition(b"\n")
    try:
        made = msgspec.json.decode(head, type=_Converted)
    except (msgspec.DecodeError, UnicodeError):
        found, made = b"", _Converted()
    if not found:
        raise ToolError(f"{address}: the page cannot be converted to text: its converter failed on it")
    return made, text.decode("utf-8", "replace")


def _start(arguments: list[str], stdin: int, workspace: Workspace) -> tuple[ProcessTree, int]:
    from zot.system.processes import spawn

    paths = [path for path in sys.path if os.path.isabs(path)]
    argv = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM, *arguments, *paths]
    read_end, write_end = os.pipe()
    try:
        return spawn(argv, cwd=workspace.cwd, env={}, stdin=stdin, stdout=write_end, jail=workspace.jail), read_end
    except (OSError, ValueError) as error:
        os.close(read_end)
        raise ToolError(f"cannot start the page converter: {error}") from error
    finally:
        os.close(write_end)


async def _answer(tree: ProcessTree, output: int, address: str) -> bytes:
    """All output of the child, which ends with this call."""
    reader = asyncio.StreamReader()
    pieces: list[bytes] = []
    try:
        with os.fdopen(output, "rb", buffering=0) as pipe:
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), pipe
            )
            try:
                async with asyncio.timeout(_WORKER_S):
                    while sum(map(len, pieces)) < _MOST_OUTPUT and (piece := await reader.read(1 << 20)):
                        pieces.append(piece)
                    await tree.wait()
            finally:
                transport.close()
    except TimeoutError as error:
        raise ToolError(f"{address}: converting the page to text took longer than {_WORKER_S:g} s") from error
    finally:
        if tree.exit_code is None:
            await tree.stop(0)
        else:
            tree.detach()
    return b"".join(pieces)
