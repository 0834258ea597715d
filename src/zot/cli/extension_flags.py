"""Flags of extensions on zot's command line. Manifests are read only if a flag is not zot's own, or for ``--help``."""

from __future__ import annotations

import os

from zot.cli.flags import OWN_NAMES, Flags, UnknownFlag, parse
from zot.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from zot.features.extensions.loader.declared_flags import ExtensionFlag

_MARK = b'"flags"'


def parse_with_extensions(argv: Sequence[str]) -> Flags:
    """``parse``, with the flags of extensions if it meets an unknown one."""
    try:
        return parse(argv)
    except UnknownFlag:
        found = _flags_for(argv)
        if not found:
            raise
        return parse(argv, {name: _Reader(flag) for name, flag in found.items()})


class _Reader:
    """One flag of an extension, for the parser."""

    def __init__(self, flag: ExtensionFlag) -> None:
        self.extension = flag.extension
        self.name = flag.declared.name
        self.takes_value = flag.declared.type != "boolean"
        self.value_name = flag.declared.type.upper()
        self._declared = flag.declared

    def read(self, text: str) -> object:
        try:
            return self._declared.parse(text)
        except UsageError as error:
            raise UsageError(f"--{error}") from None


def _flags_for(argv: Sequence[str]) -> dict[str, ExtensionFlag]:
    from zot.features.extensions.loader.declared_flags import installed_flags

    return installed_flags(
        _values(argv, "--ext", "-e"),
        next(reversed(_values(argv, "--cwd")), ""),
        OWN_NAMES,
        scan="--no-ext" not in argv,
        trust_project="--trust-project" in argv,
    )


def _values(argv: Sequence[str], *names: str) -> list[str]:
    """The values of a flag on a command line that cannot be parsed yet."""
    found: list[str] = []
    for at, argument in enumerate(argv):
        if argument in names and at + 1 < len(argv):
            found.append(argv[at + 1])
        elif (name := argument.partition("=")[0]) in names and "=" in argument:
            found.append(argument[len(name) + 1 :])
    return found


def help_rows() -> list[tuple[str, str]]:
    """Flag and description of each extension's flag, for ``--help``; nothing is read without extensions."""
    from zot.system.home import zot_home_path  # light: most homes have no such extension

    if not any(map(_may_have_flags, (f"{zot_home_path()}/extensions", ".zot/extensions"))):
        return []
    return [
        (flag.label, f"{flag.declared.description or flag.declared.title} (extension {flag.extension})".strip())
        for flag in _flags_for(()).values()
    ]


def _may_have_flags(directory: str) -> bool:
    try:
        with os.scandir(directory) as entries:
            names = [entry.path for entry in entries]
    except OSError:
        return False
    return any(_mentions_flags(os.path.join(path, "extension.json")) for path in names)


def _mentions_flags(path: str) -> bool:
    from zot.system.safe_open import open_buffered

    try:
        with open_buffered(path) as file:
            return _MARK in file.read(1 << 20)
    except OSError:
        return False
