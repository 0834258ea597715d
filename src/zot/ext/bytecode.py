"""Loads modules of an extension from the bytecode that zot compiled at installation (``ZOT_BYTECODE``). Changed
modules are compiled from source; other modules load as usual."""

from __future__ import annotations

import os
import sys
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)

_PLACE = os.environ.get("ZOT_BYTECODE", "")
_ROOT = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "")


class _Loader(SourceFileLoader):
    def get_data(self, path: str) -> bytes:
        """Python looks up bytecode in ``__pycache__`` and compares it with the source itself."""
        if path.endswith(".pyc"):
            path = os.path.join(_PLACE + os.path.dirname(os.path.abspath(self.path)), os.path.basename(path))
        return super().get_data(path)


def _is_ours(path: str) -> bool:
    return (path + os.sep).startswith(_ROOT)


def _finder(path: str) -> FileFinder:
    if not _is_ours(path):
        raise ImportError(path)
    return FileFinder(
        path,
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (_Loader, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )


if _PLACE and os.path.isdir(_PLACE + _ROOT):
    sys.path_hooks.insert(0, _finder)
    for known in [path for path in sys.path_importer_cache if _is_ours(path)]:
        del sys.path_importer_cache[known]
