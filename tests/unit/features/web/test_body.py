"""issue 32.1: kind and charset of a body."""

from __future__ import annotations

import pytest

from zot.features.web.body import Decompressor, decode_text, kind_of


@pytest.mark.parametrize(
    ("content_type", "data", "kind"),
    [
        ("text/html; charset=utf-8", b"", "html"),
        ("application/xhtml+xml", b"", "html"),
        ("text/plain", b"<html>", "text"),
        ("application/json", b"{}", "text"),
        ("application/ld+json", b"{}", "text"),
        ("APPLICATION/PDF", b"%PDF-1.7", "pdf"),
        ("application/octet-stream", b"%PDF-1.7", "pdf"),
        ("", b"  <!DOCTYPE HTML>", "html"),
        ("", b"plain words", "text"),
        ("", b"\x89PNG\r\n\x1a\n", "binary"),
        ("application/zip", b"text", "binary"),
        ("image/png", b"\x89PNG", "binary"),
        ("image/svg+xml", b"<svg>", "text"),
        ("text/html/../..", b"x", "text"),
    ],
)
def test_kind(content_type: str, data: bytes, kind: str) -> None:
    assert kind_of(content_type, data) == kind


@pytest.mark.parametrize(
    ("data", "content_type", "text"),
    [
        ("grün".encode(), "text/html", "grün"),
        ("grün".encode("latin-1"), "text/html; charset=ISO-8859-1", "grün"),
        ("“grün”".encode("cp1252"), "text/html; charset=latin1", "“grün”"),
        ("grün".encode("latin-1"), "text/html", "grün"),
        ("日本".encode("shift_jis"), "text/html; charset=shift_jis", "日本"),
        (b'<meta charset="euc-jp">' + "日本".encode("euc-jp"), "text/html", '<meta charset="euc-jp">日本'),
        (b"\xff\xfe" + "hi".encode("utf-16-le"), "text/html; charset=utf-8", "hi"),
        (b"\xef\xbb\xbfhi", "text/html; charset=latin-1", "hi"),
        (b"hi", "text/html; charset=no-such-charset", "hi"),
        (b"hi", "text/html; charset=base64", "hi"),
        (b"+AGkALA-", "text/html; charset=utf-7", "+AGkALA-"),
        ("grün".encode(), 'text/html; charset="UTF-8"', "grün"),
        ("grün".encode() * 9 + b"\xff", "text/html", "grün" * 9 + "\ufffd"),
    ],
)
def test_charset(data: bytes, content_type: str, text: str) -> None:
    assert decode_text(data, content_type) == text


def test_decompressor_never_exceeds_its_limit() -> None:
    import zlib

    packed = zlib.compress(bytes(5_000_000))
    assert len(Decompressor("deflate").feed(packed, 1_000)) == 1_000
