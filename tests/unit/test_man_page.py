"""The manual page equals the tables, and a formatter accepts it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from zot.cli.flags import FLAGS
from zot.cli.verb_table import VERBS

PAGE = Path(__file__).parents[2] / "share/man/man1/zot.1"


def formatted() -> str:
    command = ["groff", "-man", "-Tutf8", "-P-cbou", "-rLL=200n", "-ww", str(PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_every_flag_and_verb_is_on_the_page_without_warnings() -> None:
    text = re.sub(r"\s+", " ", formatted())
    assert [flag.label for flag in FLAGS if flag.label not in text] == []
    assert [verb.usage for verb in VERBS if verb.usage not in text] == []
    assert all(switch.label in text for verb in VERBS for switch in verb.switches)


def test_page_begins_in_indexable_format() -> None:
    lines = PAGE.read_text("ascii").splitlines()
    assert lines[1].startswith(".TH ZOT 1 ") and lines[2:4] == [".SH NAME", r"zot \- a coding agent for the terminal"]
