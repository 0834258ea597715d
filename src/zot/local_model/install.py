"""The model on this machine for somebody who has no other: what it is, and everything that is needed to run it.

Weights that are installed already are offered as they are. Otherwise one word of the person fetches the runtime with
the command zot would name, and then the small weights.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from importlib import invalidate_caches

import msgspec

from zot.errors import ZotError
from zot.local_model.download import SourceFailed, fetch
from zot.local_model.memory import amount
from zot.local_model.package_source import run_quietly
from zot.local_model.selection import FIRST, default
from zot.local_model.server_manager import how_to_install_runtime, missing_runtime
from zot.local_model.weights import known, place_of
from zot.system.files import find_program
from zot.system.temp_files import scratch_directory

_RUNTIME_BYTES = 34_000_000


class InstallOffer(msgspec.Struct, frozen=True):
    """``model`` is what ``--model`` takes; ``download`` is 0 when nothing has to be fetched."""

    model: str
    title: str
    download: int = 0
    command: str = ""  # that fetches the runtime first

    @property
    def detail(self) -> str:
        if not self.download:
            return "no key, nothing leaves this machine"
        return f"{amount(self.download)} once, no key, then offline; good for small tasks"


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
    tell: Callable[[str], None],
    complain: Callable[[str], None],
    show: Callable[[str], None],
    proxy: str = "",
) -> None:
    """What is offered can run when this returns; ZotError says what went wrong, and what was fetched stays for the next
    time. ``complain`` hears of each source that failed, ``show`` how far the download is."""
    if offer.command:
        tell(f"$ {offer.command}")
        words = shlex.split(offer.command)
        program = words[0] if os.sep in words[0] else find_program(words[0])
        if program is None:
            raise ZotError(f"{offer.command}: there is no {words[0]} on PATH")
        with scratch_directory("runtime") as place:
            try:
                code, reason = await run_quietly([program, *words[1:]], place)
            except SourceFailed as error:
                raise ZotError(f"{offer.command}: {error}") from error
        if code:
            raise ZotError(f"{offer.command}: {reason or f'exit code {code}'}")
        invalidate_caches()  # so that what was just installed can be found
    if offer.model in (table := known()) and not place_of(offer.model).is_file():
        weights = table[offer.model]
        tell(f"{weights.title} by {weights.by}, licence {weights.licence}")
        await fetch(weights, place_of(offer.model), tell=complain, show=show, proxy=proxy)
