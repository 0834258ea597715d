"""Speeds up collection: workers share compiled test modules, and the garbage collector ignores collected objects."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    kept = sys.dont_write_bytecode
    gc.disable()
    try:
        worker: dict[str, Any] | None = getattr(session.config, "workerinput", None)
        if worker is not None and session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            sys.dont_write_bytecode = False  # of the tests alone; what they start is told nothing of it
            _import_share(int(worker["workerid"].removeprefix("gw")), worker["workercount"])
        return (yield)
    finally:
        sys.dont_write_bytecode = kept
        gc.enable()
        gc.freeze()


def _import_share(number: int, of: int) -> None:
    """A module that cannot be imported is reported by the collection itself."""
    for path in sorted(HERE.rglob("test_*.py"))[number::of]:
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(path.relative_to(HERE.parent).with_suffix("").parts))
