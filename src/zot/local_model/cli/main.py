"""``zot local …``: install, list and remove weights; run the server. Results go to stdout, progress to stderr."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from zot.cli.arguments import ParsedArguments, parse, verb_of
from zot.cli.output import print_escaped, print_notice, print_result
from zot.cli.verb_table import options
from zot.errors import NotThere, UsageError, ZotError, describe_error
from zot.frontends.console import EXIT_CODES, run_loop
from zot.local_model.memory import ENOUGH_FOR_MEDIUM, format_bytes, free_memory
from zot.local_model.runtime_dir import all_rooms
from zot.local_model.selection import default
from zot.local_model.server_manager import LocalServerManager
from zot.local_model.weights import (
    ModelFile,
    Weights,
    digest_of,
    find_model_file,
    installed,
    is_path,
    known,
    name_for,
    place_of,
)
from zot.system.safe_open import read_prefix


def run(argv: list[str]) -> int:
    """The exit status of ``zot local ARGV``."""
    verb, rest = verb_of("local", argv, _VERBS)
    command, least, most = _VERBS[verb]
    try:
        return command(parse(rest, options(f"local {verb}"), least=least, most=most, what="MODEL"))
    except NotThere:
        raise
    except UsageError as error:
        raise ZotError(f"{error}; see `zot local {verb} --help`") from error


# --- install


def _install(arguments: ParsedArguments) -> int:
    word = arguments.word(0)
    if not word:
        free = free_memory()
        word = "medium" if free >= ENOUGH_FOR_MEDIUM else "small"
        print_notice(f"{format_bytes(free)} of memory free: choosing {word}" if free >= 0 else word)
    if is_path(word):
        name = _install_file(Path(word).expanduser())
    elif (weights := known().get(word)) is not None:
        name = _install_known(weights)
    else:
        names = ", ".join(known())
        raise NotThere(f'unknown model "{word}": expected {names}, or the path of a GGUF file')
    print_result(f"{name} is installed: {place_of(name)}")
    from zot.local_model.server_manager import missing_runtime

    if missing := missing_runtime():
        print_notice(f"zot: {missing}")
    else:
        print_notice(f'zot: try it: zot -p --provider local --model {name} "what is in this directory?"')
    return 0


def _install_known(weights: Weights) -> str:
    from zot.agent.settings import Settings
    from zot.frontends.console import run_loop
    from zot.local_model.download import download
    from zot.system.files import zot_home

    place = place_of(weights.name)
    if place.is_file() and _is_pinned(place, weights):
        return weights.name
    free = free_memory()
    if 0 <= free < weights.memory:
        print_notice(
            f"zot: {weights.name} needs about {format_bytes(weights.memory)} of memory; {format_bytes(free)} are free"
        )
    print_notice(f"{weights.title} by {weights.by}, {format_bytes(weights.bytes)}, licence {weights.licence}")
    proxy = Settings(zot_home()).values.http_proxy
    try:
        run_loop(download(weights, place, notify=lambda text: print_notice(f"zot: {text}"), proxy=proxy))
    except KeyboardInterrupt:
        print_notice(f"zot: interrupted; continue with `zot local install {weights.name}`")
        raise
    return weights.name


def _install_file(path: Path) -> str:
    """Installed under the name of matching weights, else of the file."""
    from zot.local_model.download import DownloadProgress, PartialDownload, SourceFailed, copy
    from zot.local_model.weights import read_header

    header = read_header(path)
    try:
        found, size = digest_of(path), path.stat().st_size
    except OSError as error:
        raise ZotError(describe_error(error)) from error
    own = Weights(name=name_for(path), title=header.name, bytes=size, sha256=found, memory=0)
    weights = next((row for row in known().values() if (row.bytes, row.sha256) == (size, found)), own)
    if weights.name in known() and weights is own:
        raise ZotError(f"{path}: {own.name} is already the name of another model; rename the file")
    with PartialDownload(place_of(weights.name), weights) as partial:
        partial.cut(0)
        partial.check_room()
        progress = DownloadProgress(weights.name, size)
        try:
            copy(path, weights, partial, progress)
            if not partial.is_complete():
                raise SourceFailed("changed during the copy")
        except SourceFailed as error:
            partial.cut(0)
            raise ZotError(f"{path}: {error}") from error
        finally:
            progress.close()
        partial.settle()
    return weights.name


def _is_pinned(place: Path, weights: Weights) -> bool:
    if place.stat().st_size == weights.bytes and digest_of(place) == weights.sha256:
        return True
    print_notice(f"zot: {place} is damaged; downloading it again")
    return False


# --- list, remove


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    """``path`` is empty if not installed; ``bytes`` on disk, ``memory`` in use."""

    name: str
    title: str
    licence: str
    bytes: int
    memory: int
    path: str


def _list(arguments: ParsedArguments) -> int:
    here = {model.name: model for model in installed()}
    table = known()
    names = [*table, *(name for name in here if name not in table)]
    if arguments.has("--json"):
        print_escaped(json.dumps({"models": [msgspec.to_builtins(_facts(name, table, here)) for name in names]}))
        return 0
    for name in names:
        facts = _facts(name, table, here)
        state = "installed" if name in here else "not installed"
        words = (f"{name:<8}", f"{state:<13}", f"{format_bytes(facts.bytes):>7}", facts.title, facts.path)
        print_result("  ".join(words).rstrip())
    if not here:
        print_notice("zot: install one with `zot local install small`, or use a GGUF file with --model PATH")
    return 0


def _facts(name: str, table: dict[str, Weights], here: dict[str, ModelFile]) -> _Facts:
    row, model = table.get(name), here.get(name)
    return _Facts(
        name=name,
        title=row.title if row is not None else "your own",
        licence=row.licence if row is not None else "",
        bytes=model.path.stat().st_size if model is not None else row.bytes if row is not None else 0,
        memory=model.memory if model is not None else row.memory if row is not None else 0,
        path=str(model.path) if model is not None else "",
    )


def _remove(arguments: ParsedArguments) -> int:
    for word in arguments.words:
        if is_path(word):
            raise NotThere(f"{word} is your own file and is not deleted; name a model of `zot local list`")
        part = place_of(word).with_name(f".{place_of(word).name}.part")
        begun = word in known() and part.is_file()
        path = part if begun and not place_of(word).is_file() else find_model_file(word).path
        path.unlink()
        part.unlink(missing_ok=True)
        print_result(f"removed {word}")
    return 0


# --- the server


def _serve(arguments: ParsedArguments) -> int:

    return serve(arguments.word(0))


def _status(arguments: ParsedArguments) -> int:

    return status(as_json=arguments.has("--json"))


_VERBS: dict[str, tuple[Callable[[ParsedArguments], int], int, int | None]] = {  # function, least and most words
    "install": (_install, 0, 1),
    "list": (_list, 0, 0),
    "remove": (_remove, 1, None),
    "serve": (_serve, 0, 1),
    "status": (_status, 0, 0),
}


# --- serve and status: the server in the foreground, and what runs

_LOOK_S = 0.5


class _Server(msgspec.Struct, frozen=True, kw_only=True):
    """A running server. ``users`` are zot processes; ``memory`` is in bytes."""

    model: str
    path: str
    pid: int
    address: str
    key_file: str
    memory: int
    seconds: int
    users: list[int]


def serve(word: str | None) -> int:
    """Runs until a signal, or until the server ends."""
    model = find_model_file(word) if word else default()
    if model is None:
        raise NotThere("no local model is installed; run `zot local install small`")
    return run_loop(_serve_until_stopped(LocalServerManager(model)))


async def _serve_until_stopped(runtime: LocalServerManager) -> int:
    """Registers as a user of the server."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int | ZotError] = loop.create_future()
    for number, code in EXIT_CODES.items():
        loop.add_signal_handler(number, _end, ended, code)
    try:
        async with asyncio.TaskGroup() as group:
            holding = group.create_task(_serving(runtime, ended))
            how = await ended
            holding.cancel()
    finally:
        runtime.release()
    if isinstance(how, ZotError):
        raise how
    return how


def _end(ended: asyncio.Future[int | ZotError], how: int | ZotError) -> None:
    if not ended.done():
        ended.set_result(how)


async def _serving(runtime: LocalServerManager, ended: asyncio.Future[int | ZotError]) -> None:
    try:
        running = await runtime.ensure()
    except ZotError as error:
        return _end(ended, error)
    print_result(f"{running.model} at {running.address} (process {running.pid})")
    print_result(f"key: {runtime.room.key_file}")
    sys.stdout.flush()
    print_notice("zot: running until you press Ctrl+C")
    while runtime.room.is_alive():
        runtime.note_use()
        await asyncio.sleep(_LOOK_S)
    _end(ended, ZotError(f"the server has ended; see {runtime.room.log}"))


def status(*, as_json: bool) -> int:
    """Every server of this user on this machine."""
    found = list(_servers())
    if as_json:
        print_escaped(json.dumps({"servers": msgspec.to_builtins(found)}))
        return 0
    if not found:
        print_result("no local model is running")
    for server in found:
        users = ", ".join(map(str, server.users)) or "no process"
        memory = format_bytes(server.memory) if server.memory else ""
        words = (
            server.model,
            f"process {server.pid}",
            server.address,
            memory,
            f"for {server.seconds} s",
            f"used by {users}",
        )
        print_result("  ".join(filter(None, words)))
    return 0


def _servers() -> Iterator[_Server]:
    for room in all_rooms():
        if (running := room.running()) is not None:
            yield _Server(
                model=running.model,
                path=running.path,
                pid=running.pid,
                address=running.address,
                key_file=str(room.key_file),
                memory=_memory(running.pid),
                seconds=max(0, int(time.time() - running.started)),
                users=sorted({user.pid for user in room.users()}),
            )


def _memory(pid: int) -> int:
    """Memory of the process in bytes; 0 if unknown."""
    try:
        return int(read_prefix(f"/proc/{pid}/statm", 200).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
