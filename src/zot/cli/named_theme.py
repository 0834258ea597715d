"""``--theme`` names a theme by hand: one that is not there is an error in every mode.

A theme of the settings or of ``ZOT_THEME`` is not: it may have gone with an extension, and must not stop zot. Nor may
one that is there and has a mistake in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from zot.cli.flags import Flags
from zot.errors import NotThere
from zot.frontends.terminal.themes import Themes

if TYPE_CHECKING:
    from zot.features.extensions.loader.discovery import Entry


def check(flags: Flags) -> None:
    """NotThere when it is none; extensions are asked for theirs only when no other theme has the name."""
    from zot.system.files import zot_home

    home = zot_home()
    if Themes(home).has(flags.theme):
        return
    themes = Themes(home, _extensions(flags, home))
    if not themes.has(flags.theme):
        names = ", ".join(choice.label for choice in themes.choices())
        raise NotThere(f"--theme {flags.theme}: there is no such theme; there are {names}, or the path of a .json file")


def _extensions(flags: Flags, home: Path) -> list[Entry]:
    from zot.agent.build import working_directory
    from zot.features.extensions.loader.discovery import discover
    from zot.features.extensions.loader.extension_trust import ExtensionTrust

    found = discover(
        explicit=[Path(path) for path in flags.ext],
        cwd=working_directory(flags.cwd),
        home=home,
        scan=not flags.no_ext,
        trust=ExtensionTrust(home),
        trust_project=flags.trust_project,
    )
    return found.entries
