"""What a GGUF file says about itself at its beginning: that it is one, and for which architecture.

Only the first keys are read, and never more than a fixed number of bytes: the rest is the runtime's business.
"""

from __future__ import annotations

import struct
from pathlib import Path

import msgspec

from zot.errors import NotThere
from zot.system.safe_open import read_beginning

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
        data = read_beginning(path, _READ)
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
