"""Weights: the table ``weights.json``, pinned by size and SHA-256, the files in the cache, and GGUF headers."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import msgspec

from zot.errors import ConfigError, NotThere, closest_match
from zot.system.files import cache_home
from zot.system.safe_open import open_buffered, read_prefix, read_whole

TABLE = "ZOT_LOCAL_WEIGHTS"  # another table, for mirrors and tests
SUFFIX = ".gguf"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_BESIDE = 400_000_000  # what a model needs beside its weights: the window, the prompt cache, the server itself


class Address(msgspec.Struct, frozen=True, tag_field="kind", tag="address"):
    """A file at an address."""

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
    """A local file, such as on a mounted mirror."""

    path: str

    @property
    def label(self) -> str:
        return self.path


Source = Address | Packages | File


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """``memory`` is the server's use in bytes; ``sources`` are tried in order."""

    name: str
    title: str
    by: str = ""
    licence: str = ""
    architecture: str = ""
    bytes: int
    sha256: str
    memory: int
    sources: list[Source] = []


class ModelFile(msgspec.Struct, frozen=True):
    """A file to run, by name."""

    name: str
    path: Path

    @property
    def memory(self) -> int:
        """Expected memory of the server in bytes."""
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
    """The path of the weights with that name."""
    return models_dir() / f"{name}{SUFFIX}"


def installed() -> list[ModelFile]:
    """Cached weights: known ones in the table's order, then the user's own."""
    try:
        files = sorted(entry for entry in models_dir().iterdir() if entry.name.endswith(SUFFIX))
    except OSError:
        return []
    found = {file.name.removesuffix(SUFFIX): file for file in files if not file.name.startswith(".")}
    order = [name for name in known() if name in found]
    return [ModelFile(name, found[name]) for name in (*order, *(name for name in found if name not in order))]


def is_path(word: str) -> bool:
    """Whether the word is a path, not a name."""
    return os.sep in word or word.endswith(SUFFIX) or word.startswith("~")


def find_model_file(word: str) -> ModelFile:
    """Resolves ``--model WORD``; NotThere with the fix."""
    if is_path(word):
        path = Path(os.path.abspath(os.path.expanduser(word)))
        if not path.is_file():
            raise NotThere(f"{path}: no such file")
        return ModelFile(word, path)
    place = place_of(word)
    if _NAME.fullmatch(word) and place.is_file():
        return ModelFile(word, place)
    if word in known():
        raise NotThere(f"the model {word} is not installed; run `zot local install {word}`")
    names = list(dict.fromkeys([*known(), *(model.name for model in installed())]))
    hint = (
        f"; did you mean {closest}?" if (closest := closest_match(word, names)) else f": {', '.join(names)}, or a path"
    )
    raise NotThere(f'no local model "{word}"{hint}')


def digest_of(path: Path) -> str:
    """The SHA-256 of a large file, by OpenSSL because it is faster."""
    import hashlib

    with open_buffered(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def name_for(path: Path) -> str:
    """The name a file of the user's own is installed under."""
    name = re.sub(r"[^a-z0-9._-]+", "-", path.name.lower().removesuffix(SUFFIX)).strip("-.")[:64]
    return name or "own"


_READ = 1 << 18
_MOST_KEYS = 200
_STRING, _ARRAY = 8, 9
_SIZES = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
# Architectures without chat: embedding and image models.
_NO_CHAT = {
    *("bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "modern-bert"),
    *("t5encoder", "gemma-embedding", "clip", "whisper", "wavtokenizer-dec"),
}


class Header(msgspec.Struct, frozen=True):
    architecture: str = ""
    name: str = ""
    window: int = 0  # tokens it was trained for; 0 if unknown


def read_header(path: Path) -> Header:
    """NotThere with the file if zot cannot run these weights."""
    try:
        data = read_prefix(path, _READ)
    except OSError as error:
        raise NotThere(f"{path}: cannot be read: {error.strerror or error}") from error
    if data[:4] != b"GGUF":
        raise NotThere(f"{path} is not a GGUF file")
    version = int.from_bytes(data[4:8], "little")
    if version not in (2, 3):
        swapped = int.from_bytes(data[4:8], "big") in (2, 3)
        what = "was made for machines of another byte order" if swapped else f"has version {version} of the format"
        raise NotThere(f"{path}: the GGUF file {what}; supported: versions 2 and 3, little-endian")
    header = header_of(data)
    if not header.architecture:
        raise NotThere(f"{path}: the GGUF file names no architecture; it may be truncated")
    if header.architecture in _NO_CHAT:
        raise NotThere(f"{path}: weights of the architecture {header.architecture} are not chat models")
    return header


def header_of(data: bytes) -> Header:
    found: dict[str, str | int] = {}
    at = 24
    try:
        count = min(struct.unpack_from("<Q", data, 16)[0], _MOST_KEYS)
        for _ in range(count):
            key, at = _text(data, at)
            kind = struct.unpack_from("<I", data, at)[0]
            if kind == _ARRAY or key.startswith("tokenizer."):
                break  # long lists begin
            value, at = _value(data, at + 4, kind)
            found[key] = value
    except (struct.error, KeyError, IndexError):
        pass  # end of the bytes read; earlier values are valid
    architecture = str(found.get("general.architecture", ""))
    window = found.get(f"{architecture}.context_length", 0)
    return Header(architecture, str(found.get("general.name", "")), window if isinstance(window, int) else 0)


def _text(data: bytes, at: int) -> tuple[str, int]:
    size = struct.unpack_from("<Q", data, at)[0]
    if size > len(data) - at - 8:
        raise IndexError
    return data[at + 8 : at + 8 + size].decode("utf-8", "replace"), at + 8 + size


def _value(data: bytes, at: int, kind: int) -> tuple[str | int, int]:
    if kind == _STRING:
        return _text(data, at)
    form = _SIZES[kind]
    value = struct.unpack_from(form, data, at)[0]
    return (value if isinstance(value, int) else 0), at + struct.calcsize(form)
