"""One door: every name is there, sorted, documented, and costs nothing until it is used."""

from __future__ import annotations

import doctest
import subprocess
import sys
from importlib import import_module

import pytest

DOORS = ["zot.sdk", "zot.client"]


@pytest.mark.parametrize("door", DOORS)
def test_every_name_is_sorted_there_and_documented(door: str) -> None:
    module = import_module(door)
    assert module.__all__ == sorted(module.__all__)
    names = [name for name in module.__all__ if name not in ("Event",)]
    assert [name for name in names if not (getattr(module, name).__doc__ or "").strip()] == []
    with pytest.raises(AttributeError, match="nonsense"):
        _ = module.nonsense


@pytest.mark.parametrize("door", [*DOORS, "zot.ext"])
def test_help_and_dir_list_public_names(door: str) -> None:
    code = f"import {door}; print(dir({door})); help({door})"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    listed, _, page = shown.partition("\n")
    names = import_module(door).__all__
    assert [name for name in names if repr(name) not in listed] == []
    assert [name for name in names if name not in page] == []


@pytest.mark.parametrize("module", ["zot.sdk", "zot.sdk.tools", "zot.sdk.interceptors", "zot.client"])
def test_the_examples_in_the_docstrings_run_as_written(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0


@pytest.mark.parametrize("door", DOORS)
def test_import_of_sdk_loads_no_other_module(door: str) -> None:
    code = f"import sys, {door}; print([m for m in sys.modules if m.startswith('zot.') and m != '{door}'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
