"""``zot ext deny`` and ``allow``: take a word of ``uses`` away from an extension, or give it back."""

from __future__ import annotations

from zot.agent.settings import Settings
from zot.cli.arguments import parse
from zot.cli.output import print_notice
from zot.errors import UsageError, ZotError, closest_match
from zot.features.extensions.install.installed import find
from zot.features.extensions.loader.declared_uses import describe_uses, is_word
from zot.system.files import zot_home


def deny(argv: list[str]) -> int:
    return _change(argv, denied=True)


def allow(argv: list[str]) -> int:
    return _change(argv, denied=False)


def _change(argv: list[str], *, denied: bool) -> int:
    name, word = parse(argv, {}, least=2, most=2, what="a name and a word of its uses").words
    item = find(name, print_notice)
    declared = item.manifest.uses if item.manifest is not None else ()
    if word not in declared:
        raise ZotError(_not_declared(item.name, word, declared))
    settings = Settings(zot_home())
    known = dict(settings.values.extension_denied)
    words = [each for each in known.get(item.name, ()) if each != word]
    known[item.name] = (*words, word) if denied else tuple(words)
    settings.save(extension_denied={name: taken for name, taken in known.items() if taken} or None)
    verb = "no longer" if denied else "again"
    print_notice(f"{item.name} {verb} {describe_uses([word])[0]}, from the next start of zot")
    return 0


def _not_declared(name: str, word: str, declared: tuple[str, ...]) -> str:
    if not declared:
        return f'{name} declares no "uses": it has no power over zot to take away'
    near = closest_match(word, declared)
    guess = f"; did you mean {near}?" if near else ""
    if not is_word(word):
        raise UsageError(f'"{word}" is no word of uses{guess or "; " + name + " has: " + ", ".join(declared)}')
    return f"{name} does not use {word}{guess}; it uses: {', '.join(declared)}"
