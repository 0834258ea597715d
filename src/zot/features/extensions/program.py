"""A program that zot runs for an extension: found, confined, started, its two outputs read up to a limit."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.errors import ExtensionError, ToolError, describe_error
from zot.features.extensions.requests import RequestError
from zot.system.files import find_program
from zot.system.processes import ProcessTree, spawn

if TYPE_CHECKING:
    from zot.agent.tools.workspace import Workspace
    from zot.features.extensions.child import ExtensionChild
    from zot.features.extensions.host import ExtensionHost
    from zot.system.jail.jail import Jail

_PIPE_GRACE = 0.5  # for output after the program has ended
_READ_BYTES = 65536
_LAST_READS = 64


class Program(msgspec.Struct, frozen=True):
    """``argv`` begins with an absolute path."""

    argv: list[str]
    cwd: Path
    environment: dict[str, str]
    jail: Jail | None = None


@contextmanager
def prepared(
    host: ExtensionHost, child: ExtensionChild, argv: list[str], cwd: str, added: Mapping[str, str]
) -> Generator[Program]:
    """The program as it is to run: in the session's jail, or for an extension with permissions in one that also has
    their limits. RequestError if it cannot."""
    assert host.conversation is not None
    workspace = host.conversation.workspace
    place = _directory(workspace, cwd)
    environment = {**(workspace.free_environment() if child.permissions else workspace.child_environment())}
    environment["PWD"] = str(place)
    words = [_found(argv[0], place), *argv[1:]]
    if child.permissions is None:
        yield Program(words, place, {**environment, **added}, workspace.jail)
        return
    try:
        confined = host.confine_program(child, words, environment)
    except ExtensionError as error:
        raise RequestError("unavailable", f"extension {child.name} {error}") from error
    try:
        _check_readable(confined.jail, place)
        yield Program(words, place, {**confined.environment, **added}, confined.jail)
    finally:
        confined.jail.close()


def _directory(workspace: Workspace, cwd: str) -> Path:
    try:
        place = workspace.resolve(cwd) if cwd else workspace.cwd
    except ToolError as error:
        raise RequestError("bad_params", f"cwd: {error}") from error
    if not place.is_dir():
        raise RequestError("not_found", f"cwd: no directory {cwd[:200]}")
    return place


def _found(name: str, cwd: Path) -> str:
    if "/" in name:
        path = os.path.normpath(os.path.join(cwd, os.path.expanduser(name)))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    elif path := find_program(name):
        return path
    raise RequestError("not_found", f"no program {name[:200]!r} was found")


def _check_readable(jail: Jail, cwd: Path) -> None:
    real = os.path.realpath(cwd)
    if not any(real == path or real.startswith(f"{path.rstrip('/')}/") for path in jail.policy.readable):
        raise RequestError("refused", f"the extension's permissions do not let it read {cwd}; name another cwd")


# --- running it with pipes


class Ended(msgspec.Struct, frozen=True):
    """``signal`` is the name of the signal that ended it, if any."""

    code: int
    stdout: str
    stderr: str
    truncated: bool
    signal: str = ""


class OutputReader:
    """Reads one pipe to its end and keeps its first ``most`` bytes."""

    def __init__(self, most: int, on_data: Callable[[bytes], None]) -> None:
        self._most = most
        self._on_data = on_data
        self._kept = bytearray()
        self.truncated = False
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._fd, self.writer = os.pipe()
        os.set_blocking(self._fd, False)
        self._loop.add_reader(self._fd, self._read)

    @property
    def text(self) -> str:
        return bytes(self._kept).decode("utf-8", "replace")

    def close(self) -> None:
        """Read what is there, then close."""
        for _ in range(_LAST_READS):
            if self.ended.done() or not self._read():
                break
        self._finish()

    def _read(self) -> bool:
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._finish()
            return False
        room = self._most - len(self._kept)
        self._kept += data[:room]
        self.truncated |= len(data) > room
        self._on_data(data)
        return True

    def _finish(self) -> None:
        if not self.ended.done():
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self.ended.set_result(None)


async def run(program: Program, given: bytes, most: int, on_data: Callable[[bytes], None]) -> Ended:
    """Run it to its end; nothing it started is left."""
    out, err = OutputReader(most, on_data), OutputReader(most, on_data)
    try:
        tree = _started(program, given, out.writer, err.writer)
    except (OSError, ValueError) as error:
        out.close()
        err.close()
        reason = describe_error(error) if isinstance(error, OSError) else str(error)
        raise RequestError("failed", f"cannot start {program.argv[0]}: {reason}") from error
    finally:
        os.close(out.writer)
        os.close(err.writer)
    try:
        code = await tree.wait()
        await asyncio.wait([out.ended, err.ended], timeout=_PIPE_GRACE)
    finally:
        await _stop(tree, out, err)
    if tree.jail_failed:
        raise RequestError("failed", f"the jail could not be built: {err.text.strip()[:500]}")
    name = "" if code >= 0 else signal.Signals(-code).name
    return Ended(code if code >= 0 else 128 - code, out.text, err.text, out.truncated or err.truncated, name)


def _started(program: Program, given: bytes, out: int, err: int) -> ProcessTree:
    place, environment, jail = program.cwd, program.environment, program.jail
    if not given:
        return spawn(program.argv, stdout=out, stderr=err, cwd=place, env=environment, jail=jail)
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        stdin = file.fileno()
        return spawn(program.argv, stdin=stdin, stdout=out, stderr=err, cwd=place, env=environment, jail=jail)


async def _stop(tree: ProcessTree, out: OutputReader, err: OutputReader) -> None:
    try:
        ended = out.ended.done() and err.ended.done()
        if tree.exit_code is None or tree.detach(suspicious=not ended):
            await tree.stop(_PIPE_GRACE)
    finally:
        out.close()
        err.close()
