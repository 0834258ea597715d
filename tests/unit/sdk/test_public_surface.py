"""One door: every name is there, sorted, documented, and costs nothing until it is used."""

from __future__ import annotations

import doctest
import subprocess
import sys
from importlib import import_module

import pytest

import zot.sdk


def test_every_name_is_sorted_there_and_documented() -> None:
    assert zot.sdk.__all__ == sorted(zot.sdk.__all__)
    names = [name for name in zot.sdk.__all__ if name not in ("Event",)]
    assert [name for name in names if not (getattr(zot.sdk, name).__doc__ or "").strip()] == []
    with pytest.raises(AttributeError, match="nonsense"):
        _ = zot.sdk.nonsense  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


@pytest.mark.parametrize("module", ["zot.sdk", "zot.sdk.tools", "zot.sdk.interceptors"])
def test_the_examples_in_the_docstrings_run_as_written(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0


def test_importing_the_door_loads_nothing_behind_it() -> None:
    code = "import sys, zot.sdk; print([m for m in sys.modules if m.startswith('zot.') and m != 'zot.sdk'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
