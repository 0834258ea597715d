"""Command-line flags that manifests declare. zot's own win; a flag of two extensions belongs to neither."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from zot.features.extensions.loader.discovery import DiscoveredExtension, discover
from zot.features.extensions.loader.extension_settings import Declared

if TYPE_CHECKING:
    from zot.features.extensions.loader.manifest import Manifest

WORD = "flags"


class ExtensionFlag(NamedTuple):
    extension: str
    declared: Declared

    @property
    def name(self) -> str:
        return f"--{self.declared.name}"

    @property
    def label(self) -> str:
        value = self.declared.type.upper()
        return self.name if self.declared.type == "boolean" else f"{self.name} {value}"


def usable_flags(
    entries: Iterable[DiscoveredExtension], own: Collection[str] = ()
) -> tuple[dict[str, ExtensionFlag], list[str]]:
    """By name with its dashes, and a line for each flag that cannot be used. ``own`` are zot's."""
    found: dict[str, ExtensionFlag] = {}
    refused: set[str] = set()
    problems: list[str] = []
    for entry in entries:
        for declared in _declared(entry.manifest):
            flag = ExtensionFlag(entry.manifest.name, declared)
            if flag.name in own:
                problems.append(f"extension {flag.extension}: {flag.name} is a flag of zot; its own is not available")
            elif flag.name in refused:
                continue
            elif (other := found.pop(flag.name, None)) is not None:
                refused.add(flag.name)
                both = f"{other.extension} and {flag.extension}"
                problems.append(f"extensions {both} both declare {flag.name}; it is available to neither")
            else:
                found[flag.name] = flag
    return found, problems


def _declared(manifest: Manifest) -> tuple[Declared, ...]:
    return manifest.flags if WORD in manifest.uses and manifest.has_process else ()


def installed_flags(
    ext: Iterable[str], cwd: str, own: Collection[str], *, scan: bool, trust_project: bool
) -> dict[str, ExtensionFlag]:
    """The flags of the extensions that a run with this command line would start. Nothing is started."""
    from zot.agent.build import working_directory
    from zot.features.extensions.loader.extension_trust import ExtensionTrust
    from zot.system.files import zot_home

    home = zot_home()
    found = discover(
        explicit=[Path(path).expanduser() for path in ext],
        cwd=working_directory(cwd),
        home=home,
        scan=scan,
        trust=ExtensionTrust(home),
        trust_project=trust_project,
    )
    return usable_flags(found.entries, own)[0]
