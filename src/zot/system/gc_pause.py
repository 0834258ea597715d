"""The garbage collector waits while zot starts: importing and loading make many objects and next to no garbage.

Only the ``zot`` command does this. A program that embeds zot keeps its own ways.
"""

from __future__ import annotations

import gc


def rest() -> None:
    gc.disable()


def wake() -> None:
    """Everything is loaded; what is here now stays, so no later search for garbage has to look at it."""
    gc.freeze()
    gc.enable()
