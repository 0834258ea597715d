"""Words and switches of one ``zot ext`` command. Names typed by hand must not lead out of the directories."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from zot.agent.extensions.manifest import check_name
from zot.errors import ExtensionError, UsageError


class Arguments(msgspec.Struct, frozen=True):
    words: tuple[str, ...]
    values: dict[str, str]

    def has(self, *switches: str) -> bool:
        return any(switch in self.values for switch in switches)


def parse(argv: list[str], options: Mapping[str, bool], *, least: int, most: int, what: str = "") -> Arguments:
    """``options`` says of each switch whether it takes a value; ``what`` names the word that may be missing."""
    words: list[str] = []
    values: dict[str, str] = {}
    rest = iter(argv)
    for argument in rest:
        if argument == "--":
            words.extend(rest)
        elif argument.startswith("-") and argument != "-":
            name, equals, value = argument.partition("=")
            if name not in options:
                raise UsageError(f'unknown flag "{name}"')
            if options[name] and not equals:
                value = next(rest, "")
            if options[name] != bool(value):
                raise UsageError(f"{name} needs a value" if options[name] else f"{name} takes no value")
            values[name] = value
        else:
            words.append(argument)
    if len(words) < least:
        raise UsageError(f"{what} is missing")
    if len(words) > most:
        raise UsageError(f'unexpected argument "{words[most]}"')
    return Arguments(tuple(words), values)


def typed_name(name: str) -> str:
    """A name as typed after a verb; one with separators is refused before any path is made of it."""
    try:
        return check_name(name)
    except ExtensionError as error:
        raise UsageError(f"{name!r} is not the name of an extension: names have no path separators") from error
