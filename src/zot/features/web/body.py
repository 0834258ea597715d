"""The body of a response: its compression undone within a limit, its kind and its charset found."""

from __future__ import annotations

import codecs
import re
import zlib
from typing import Literal

from zot.errors import ToolError

Kind = Literal["html", "pdf", "text", "binary"]

_META = re.compile(rb"<meta[^>]{0,300}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})", re.IGNORECASE)
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_HTML = (b"<!doctype html", b"<html", b"<head", b"<body")
_TEXTS = (
    *("json", "xml", "javascript", "ecmascript", "yaml", "x-yaml", "toml", "sql", "graphql", "x-sh", "x-httpd-php"),
    *("x-www-form-urlencoded", "x-ndjson", "rtf", "typescript", "x-tex", "x-latex"),
)
_SNIFFED = 1024


class Decompressor:
    """Undoes ``content-encoding`` piece by piece. A piece never grows beyond ``limit``, whatever it claims to be."""

    def __init__(self, encoding: str) -> None:
        names = [name.strip().lower() for name in encoding.split(",") if name.strip().lower() not in ("", "identity")]
        if len(names) > 1 or (names and names[0] not in ("gzip", "x-gzip", "deflate")):
            raise ToolError(f"the server used the compression {encoding[:40]!r}, which was not asked for")
        self._name = names[0] if names else ""
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16 if "gzip" in self._name else zlib.MAX_WBITS)
        self._started = False

    def feed(self, data: bytes, limit: int) -> bytes:
        """At most ``limit`` bytes of content."""
        if not self._name:
            return data[:limit]
        try:
            return self._decompress(data, limit)
        except zlib.error as error:
            raise ToolError(f"the server's {self._name} data is broken ({error})") from error

    def _decompress(self, data: bytes, limit: int) -> bytes:
        if not self._started and self._name == "deflate" and data and not _has_zlib_head(data):
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)  # many servers send it without the zlib header
        self._started = self._started or bool(data)
        return self._stream.decompress(data, max(limit, 1))


def _has_zlib_head(data: bytes) -> bool:
    return data[0] & 0x0F == 8 and (len(data) < 2 or (data[0] * 256 + data[1]) % 31 == 0)


def kind_of(content_type: str, data: bytes) -> Kind:
    """What the body is; its beginning decides only if the server does not say, or says ``octet-stream``."""
    name = content_type.partition(";")[0].strip().lower()
    start = data[:_SNIFFED].lstrip().lower()
    if name in ("text/html", "application/xhtml+xml"):
        return "html"
    if name == "application/pdf" or data.startswith(b"%PDF-"):
        return "pdf"
    if name.startswith("text/"):
        return "text"
    kind, _, rest = name.partition("/")
    if kind == "application" and (rest in _TEXTS or rest.endswith(("+json", "+xml", "+yaml"))):
        return "text"
    if name not in ("", "application/octet-stream", "binary/octet-stream"):
        return "text" if name == "image/svg+xml" else "binary"
    if start.startswith(_HTML):
        return "html"
    return "text" if _is_text(data[:_SNIFFED]) else "binary"


def _is_text(start: bytes) -> bool:
    if start.startswith(tuple(mark for mark, _ in _BOMS)):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return b"\0" not in start


def decode_text(data: bytes, content_type: str) -> str:
    """The text of a body, by its byte order mark, the header, as UTF-8, or as the page itself says."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    if name := _known_charset(_parameter(content_type)):
        return data.decode(name, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        found = _META.search(data[:4096])
        name = _known_charset(found[1].decode("ascii", "replace")) if found else ""
        return data.decode(name or _fallback(data), "replace")


def _fallback(data: bytes) -> str:
    """Mostly UTF-8 with a few broken or cut characters, or an old one-byte charset."""
    broken = data[:65536].decode("utf-8", "replace").count("\N{REPLACEMENT CHARACTER}")
    wide = sum(byte >= 0x80 for byte in data[:65536])
    return "utf-8" if broken * 4 <= wide else "windows-1252"


def _parameter(content_type: str) -> str:
    for part in content_type.split(";")[1:]:
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'")
    return ""


def _known_charset(name: str) -> str:
    """Python's name of a charset for text; empty for unknown ones. Browsers read latin-1 as windows-1252."""
    if not name or len(name) > 40 or "\0" in name:
        return ""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    if not found._is_text_encoding or found.name in (
        "utf-7",
        "idna",
        "punycode",
        "unicode_escape",
        "raw_unicode_escape",
    ):
        return ""
    return "windows-1252" if found.name in ("iso8859-1", "ascii") else found.name
