"""Chooses the local model of a run; offers and installs one, with its runtime, if there is none."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from importlib import invalidate_caches

import msgspec

from zot.errors import NotThere, ZotError
from zot.local_model.memory import ENOUGH_FOR_MEDIUM, format_bytes, free_memory
from zot.local_model.server_manager import how_to_install_runtime, missing_runtime
from zot.local_model.weights import ModelFile, find_model_file, installed, is_path, known, place_of, read_header
from zot.provider.installed_models import embedded_model
from zot.provider.model import Model
from zot.system.files import find_program
from zot.system.temp_files import scratch_directory

API = "grammar"  # its models have no tool calling
FIRST = "small"  # installed by default


class ModelSelection(msgspec.Struct, frozen=True):
    """``missing`` is the first step in one line; empty if nothing is missing."""

    model: Model
    missing: str = ""
    notice: str = ""


def select_model(typed: str, remembered: str = "") -> ModelSelection:
    """A typed model must exist or be in the table; a remembered one falls back to an installed one."""
    notice = ""
    if not typed and remembered:
        try:
            return _ready(find_model_file(remembered))
        except NotThere:
            notice = f"the local model {remembered} is not installed any more"
    if not typed and (usual := default()) is not None:
        return _ready(usual, f"{notice}; using {usual.name}" if notice else "")
    wanted = typed or FIRST
    if typed and (is_path(typed) or typed not in known()):
        return _ready(find_model_file(typed))
    try:
        return _ready(find_model_file(wanted))
    except NotThere:
        return ModelSelection(
            embedded_model(wanted), f"the local model {wanted} is not installed; run `zot local install {wanted}`"
        )


def default() -> ModelFile | None:
    """The best installed model that fits into memory."""
    here = {model.name: model for model in installed()}
    order = ("medium", "small") if free_memory() >= ENOUGH_FOR_MEDIUM else ("small", "medium")
    return next((here[name] for name in order if name in here), next(iter(here.values()), None))


def _ready(model: ModelFile, notice: str = "") -> ModelSelection:
    header = read_header(model.path)
    row = embedded_model(model.name, header.window) if header.window else embedded_model(model.name)
    return ModelSelection(row, missing_runtime(), notice)


_RUNTIME_BYTES = 34_000_000


class InstallOffer(msgspec.Struct, frozen=True):
    """``model`` is what ``--model`` takes; ``download`` is 0 when nothing has to be fetched."""

    model: str
    title: str
    download: int = 0
    command: str = ""  # command that installs the runtime first

    @property
    def detail(self) -> str:
        if not self.download:
            return "no key, offline"
        return f"{format_bytes(self.download)} once, no key, then offline; for small tasks"


def offer() -> InstallOffer:
    """What to offer on this machine now."""
    table, command = known(), how_to_install_runtime() if missing_runtime() else ""
    here = default()
    name = here.name if here is not None else FIRST
    row = table.get(name)
    bytes = (0 if here is not None or row is None else row.bytes) + (_RUNTIME_BYTES if command else 0)
    return InstallOffer(name, row.title if row is not None else name, bytes, command)


async def install(
    offer: InstallOffer,
    *,
    notify: Callable[[str], None],
    complain: Callable[[str], None],
    show: Callable[[str], None],
    proxy: str = "",
) -> None:
    """Downloads what the offer needs; after a ZotError the downloaded part stays for the next attempt.

    ``complain`` receives each failed source, ``show`` the progress of the download."""
    from zot.local_model.download import SourceFailed, download
    from zot.local_model.package_source import run_quietly

    if offer.command:
        notify(f"$ {offer.command}")
        words = shlex.split(offer.command)
        program = words[0] if os.sep in words[0] else find_program(words[0])
        if program is None:
            raise ZotError(f"{offer.command}: {words[0]} is not on PATH")
        with scratch_directory("runtime") as place:
            try:
                code, reason = await run_quietly([program, *words[1:]], place)
            except SourceFailed as error:
                raise ZotError(f"{offer.command}: {error}") from error
        if code:
            raise ZotError(f"{offer.command}: {reason or f'exit code {code}'}")
        invalidate_caches()  # find newly installed packages
    if offer.model in (table := known()) and not place_of(offer.model).is_file():
        weights = table[offer.model]
        notify(f"{weights.title} by {weights.by}, licence {weights.licence}")
        await download(weights, place_of(offer.model), notify=complain, show=show, proxy=proxy)
