"""Regression cases found by the fuzzer, and a small random slice in every test run."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.reader import Reader
from fuzz.run import READERS, batch, kept, trouble

FOUND = list(kept())


@pytest.mark.parametrize(("reader", "path"), FOUND, ids=[f"{reader.name}: {path.name}" for reader, path in FOUND])
def test_fuzz_regressions_stay_fixed(reader: Reader, path: Path) -> None:
    for chance in range(20):
        assert trouble(reader, path.read_bytes(), str(chance)) == ""


@pytest.mark.parametrize("name", READERS)
def test_fuzz_a_slice_of_each_reader(name: str) -> None:
    _, _, findings = batch(name, seed=7, number=0, count=100)
    assert not findings, findings[0]


def test_the_same_seed_gives_the_same_cases() -> None:
    from random import Random

    from fuzz.cases import case

    reader = READERS["JSON"]
    assert [case(Random(n), reader.seeds, reader.words) for n in range(50)] == [
        case(Random(n), reader.seeds, reader.words) for n in range(50)
    ]
