"""An index of extensions: one JSON file that anybody can host. Format 1; ``docs/guides/publishing-extensions.md``."""

# No ``from __future__ import annotations`` here: msgspec would have to compile every annotation at each start.
import re
from datetime import datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec

from zot.errors import ExtensionError, ZotError
from zot.features.extensions.contributions import imitates_zot
from zot.features.extensions.loader.declared_permissions import Permissions, describe_permissions, read_permissions
from zot.features.extensions.loader.declared_uses import describe_uses, is_word, read_uses
from zot.features.extensions.loader.manifest import check_name
from zot.system import strict_json

FORMAT = 1
LARGEST = 16 * 1024 * 1024
_TREE = re.compile(r"sha256:[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_CONDITION = re.compile(r"(>=|<=|==|!=|>|<)?\s*(\d[\w.+-]*)")
_MOST = 20_000


class SourceFields(msgspec.Struct, frozen=True, omit_defaults=True):
    """Either ``git`` with ``rev``, or ``archive``: an address, or a path relative to the index."""

    git: str = ""
    rev: str = ""
    path: str = ""
    archive: str = ""


class VersionFields(msgspec.Struct, frozen=True, omit_defaults=True):
    version: str
    source: SourceFields
    tree: str
    size: int = 0
    zot: str = ""
    permissions: Any = None
    uses: tuple[str, ...] = ()
    guard: bool = False
    yanked: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        return version_key(self.version)

    @property
    def granted(self) -> Permissions | None:
        """Its permissions; None for all rights. Checked by ``problems_of``."""
        return None if self.permissions is None else read_permissions(self.permissions)[0]

    @property
    def described(self) -> list[str]:
        """What it may do, in words for the user."""
        lines = [*describe_permissions(self.granted), *describe_uses(self.uses)]
        return ["is a guard: it may deny calls", *lines] if self.guard else lines


class ExtensionFields(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    description: str = ""
    homepage: str = ""
    license: str = ""
    keywords: tuple[str, ...] = ()
    versions: tuple[VersionFields, ...] = ()

    def newest(self, zot: str) -> VersionFields | None:
        """The newest version that fits this zot and was not withdrawn."""
        fitting = [each for each in self.versions if not each.yanked and fits(each.zot, zot)]
        return max(fitting, key=lambda each: each.key, default=None)

    def matches(self, words: list[str]) -> bool:
        text = " ".join((self.name, self.description, *self.keywords)).lower()
        return all(word.lower() in text for word in words)


class Index(msgspec.Struct, frozen=True, omit_defaults=True):
    """``key`` is the public key that its signature can be checked with, in base64."""

    format: int
    name: str
    updated: str
    key: str = ""
    extensions: tuple[ExtensionFields, ...] = ()

    def find(self, name: str) -> ExtensionFields | None:
        return next((each for each in self.extensions if each.name == name), None)

    @property
    def time(self) -> float:
        return _time(self.updated)


def decode_index(data: bytes, where: str) -> Index:
    """A whole and correct index; ZotError names the first problems."""
    if len(data) > LARGEST:
        raise ZotError(f"{where}: larger than {LARGEST >> 20} MiB, which no index is")
    try:
        value = strict_json.loads(data)
        if isinstance(value, dict) and (version := value.get("format")) != FORMAT:  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]  any object
            raise ZotError(f"{where}: format {str(version)[:40]}: this zot reads format {FORMAT}; update zot")  # pyright: ignore[reportUnknownArgumentType]
        index = msgspec.convert(value, Index)
    except (msgspec.ValidationError, ValueError) as error:
        raise ZotError(f"{where}: not an index: {error}") from error
    if problems := problems_of(index):
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise ZotError(f"{where}: {'; '.join(problems[:3])}{more}")
    return index


def problems_of(index: Index) -> list[str]:
    found = [] if index.name.strip() and index.name.isprintable() else ["name: missing"]
    try:
        _time(index.updated)
    except ValueError:
        found.append('updated: expected a time such as "2026-01-31T12:00:00Z"')
    if len(index.extensions) > _MOST:
        found.append(f"more than {_MOST:,} extensions")
    names: set[str] = set()
    for extension in index.extensions[:_MOST]:
        found += (f"{extension.name[:60]}: {problem}" for problem in _extension_problems(extension))
        if extension.name.casefold() in names:
            found.append(f"{extension.name[:60]}: is there twice")
        names.add(extension.name.casefold())
    return found


def _extension_problems(extension: ExtensionFields) -> list[str]:
    try:
        check_name(extension.name)
    except ExtensionError as error:
        return [str(error)]
    found: list[str] = []
    if imitates_zot(extension.name):
        found.append("the name could be taken for zot's; choose another")
    versions = [each.version for each in extension.versions]
    found += (
        f"version {each} is there twice" for each in sorted({each for each in versions if versions.count(each) > 1})
    )
    for version in extension.versions:
        found += (f"{version.version[:40] or 'version'}: {problem}" for problem in _version_problems(version))
    return found


def _version_problems(version: VersionFields) -> list[str]:
    found: list[str] = []
    if not version.version or not version.version[:1].isdecimal() or not version.version.isprintable():
        found.append("expected a version such as 1.2.0")
    if not _TREE.fullmatch(version.tree):
        found.append("tree: expected sha256: and 64 hexadecimal digits")
    if version.size < 0:
        found.append("size: expected a number of bytes")
    source = version.source
    if bool(source.git) == bool(source.archive):
        found.append("source: expected git with rev, or archive")
    if source.git and not _COMMIT.fullmatch(source.rev):
        found.append("source.rev: expected 40 hexadecimal digits")
    if ".." in source.path.split("/") or source.path.startswith("/"):
        found.append("source.path: expected a directory of the repository")
    if not is_range(version.zot):
        found.append(f"zot: {version.zot[:40]!r} is no range such as >=0.2,<1")
    if unknown := [word for word in version.uses if not is_word(word)]:
        found.append(f"uses: unknown word {unknown[0][:40]!r}")
    try:
        read_uses(version.uses, version.guard)
        _ = version.granted
    except ExtensionError as error:
        found.append(str(error))
    return found


def locate(place: str, base: str) -> str:
    """An archive's or repository's address: absolute, or relative to the index. A remote index names no local files."""
    if not is_url(base):
        return place if is_url(place) else _local(place, base)
    found = urljoin(base, place)
    if urlsplit(found).scheme != "https":
        raise ZotError(f"{place[:200]}: an index at an address may only name https:// addresses")
    return found


def _local(place: str, base: str) -> str:
    import os

    return os.path.normpath(os.path.join(os.path.dirname(base), place))


def is_url(place: str) -> bool:
    return "://" in place


# --- versions


def version_key(version: str) -> tuple[Any, ...]:
    """Sorts versions: numbers first, a pre-release before its release.

    >>> sorted(["1.10", "1.9", "1.10rc1", "1.10.1"], key=version_key)
    ['1.9', '1.10rc1', '1.10', '1.10.1']
    """
    plain = version.partition("+")[0]
    release = re.match(r"\d+(?:\.\d+)*", plain)
    numbers = [int(part[:18]) for part in release[0].split(".")] if release else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    rest = plain[len(release[0]) if release else 0 :].lstrip("-._")
    suffix = [(0, int(part[:18]), "") if part.isdecimal() else (1, 0, part) for part in re.findall(r"\d+|[a-z]+", rest)]
    return (tuple(numbers), not rest, tuple(suffix))


def is_range(text: str) -> bool:
    return text.strip() in ("", "*") or all(_CONDITION.fullmatch(part.strip()) for part in text.split(","))


def fits(text: str, version: str) -> bool:
    """True if ``version`` is in a range such as ``>=0.2,<1``; empty is any."""
    if text.strip() in ("", "*"):
        return True
    key = version_key(version)
    for part in text.split(","):
        found = _CONDITION.fullmatch(part.strip())
        if found is None:
            return False
        other = version_key(found[2])
        holds = {
            ">=": key >= other,
            "<=": key <= other,
            ">": key > other,
            "<": key < other,
            "!=": key != other,
        }.get(found[1] or "==", key == other)
        if not holds:
            return False
    return True


def _time(text: str) -> float:
    """ValueError if it is no RFC 3339 time with an offset."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None or len(text) < len("2026-01-01T00:00:00Z"):
        raise ValueError("no offset")
    try:
        return found.timestamp()
    except OverflowError:
        raise ValueError("out of range") from None
