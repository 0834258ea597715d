"""Parses the words and switches after a verb: ``zot ext …``, ``zot sessions …``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from zot.errors import UsageError, closest_match


class ParsedArguments(msgspec.Struct, frozen=True):
    """``values`` has the last value of each switch, ``every`` all of them in order."""

    words: tuple[str, ...]
    values: dict[str, str]
    every: dict[str, list[str]] = {}

    def all(self, *switches: str) -> tuple[str, ...]:
        """All values of a repeatable switch, under any of its names."""
        return tuple(value for switch in switches for value in self.every.get(switch, ()))

    def word(self, place: int) -> str | None:
        return self.words[place] if place < len(self.words) else None

    def has(self, *switches: str) -> bool:
        return any(switch in self.values for switch in switches)

    def seconds(self, switch: str, default: float) -> float:
        typed = self.values.get(switch)
        try:
            seconds = default if typed is None else float(typed)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= 86_400:
            raise UsageError(f'{switch} "{typed}": expected seconds above 0')
        return seconds


def verb_of(group: str, argv: Sequence[str], verbs: Collection[str]) -> tuple[str, list[str]]:
    """The verb after ``zot GROUP`` (default: ``list``) and the rest. UsageError for an unknown one."""
    if not argv or argv[0].startswith("-"):
        return "list", list(argv)
    verb = argv[0]
    if verb not in verbs:
        match = closest_match(verb, verbs)
        hint = f"did you mean {match}" if match else f"one of {', '.join(verbs)}"
        raise UsageError(f'unknown command "zot {group} {verb}": {hint}')
    return verb, list(argv[1:])


def _is_number(argument: str) -> bool:
    """``-1`` and ``-0.5`` are words, not flags."""
    return argument[1:].replace(".", "", 1).isdecimal()


def parse(
    argv: list[str], options: Mapping[str, bool], *, least: int = 0, most: int | None = None, what: str = ""
) -> ParsedArguments:
    """``options`` maps each switch to whether it takes a value; ``what`` names the required word."""
    words: list[str] = []
    values: dict[str, str] = {}
    every: dict[str, list[str]] = {}
    rest = iter(argv)
    for argument in rest:
        if argument == "--":
            words.extend(rest)
        elif argument.startswith("-") and argument != "-" and not _is_number(argument):
            name, equals, value = argument.partition("=")
            if name not in options:
                raise UsageError(f'unknown flag "{name}"')
            if options[name] and not equals:
                value = next(rest, "")
            if options[name] and not value:
                raise UsageError(f"{name} needs a value")
            if equals and not options[name]:
                raise UsageError(f"{name} takes no value")
            values[name] = value
            every.setdefault(name, []).append(value)
        else:
            words.append(argument)
    if len(words) < least:
        raise UsageError(f"{what} is missing")
    if most is not None and len(words) > most:
        raise UsageError(f'unexpected argument "{words[most]}"')
    return ParsedArguments(tuple(words), values, every)
