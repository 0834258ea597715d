"""Digests without OpenSSL, which ``hashlib`` would load (1 ms and 3 MB at each start). Falls back to ``hashlib``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO

_CHUNK = 1 << 20
_SHA256 = "_sha2" if sys.version_info >= (3, 12) else "_sha256"


def sha256(data: bytes) -> str:
    return str(_own(_SHA256, "sha256")(data).hexdigest())


def sha256_of(file: BinaryIO) -> str:
    digest = _own(_SHA256, "sha256")()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return str(digest.hexdigest())


def blake2b(data: bytes, size: int) -> str:
    return str(blake2b_maker()(data, digest_size=size).hexdigest())


def blake2b_maker() -> Callable[..., Any]:
    """For many digests: saves the lookups of ``blake2b``."""
    return _own("_blake2", "blake2b")


@cache
def _own(module: str, name: str) -> Callable[..., Any]:
    try:
        return getattr(import_module(module), name)
    except ImportError:
        return getattr(import_module("hashlib"), name)
