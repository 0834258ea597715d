"""The swarm guide and the tutorial, typed block by block."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.swarm_home import PATIENCE_S, wait_for

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
PATIENCE = 10 * PATIENCE_S


def type_through(zot: Zot, page: Path) -> str:
    """Run every ``sh`` block of a page and compare each ``text`` block with the output before it; the last output."""
    program = zot.project.parent / "bin" / "zot"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m zot "$@"\n')
    program.chmod(0o755)
    blocks = re.findall(r"```(sh|text)\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    typed = [text for kind, text in blocks if kind == "sh"]
    script = "set -eu\n" + "".join(f"echo '@@@'\n{text}" for text in typed)
    environment = {**zot.env(), "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=zot.project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE,
    )
    said = done.stdout.decode()
    assert done.returncode == 0, said
    outputs = iter(said.split("@@@\n")[1:])
    shown = ""
    for kind, text in blocks:
        if kind == "sh":
            shown = next(outputs)
        else:
            assert text.strip("\n") in shown, f"{text!r} is not in {shown!r}"
    return shown


@pytest.mark.timeout(900)
def test_every_block_of_the_swarm_guide_works(zot: Zot) -> None:
    shown = type_through(zot, GUIDES / "swarm.md")
    rows = [json.loads(line) for line in (zot.project / "done.jsonl").read_text().splitlines()]
    assert sorted(row["item"] for row in rows) == [f"price_{number:02}.py" for number in range(1, 21)]
    assert all(row["answer"] == f"{row['item']} has one." for row in rows)
    assert (zot.project / "shop" / "notes.txt").read_text() == "buy milk\nand bread\n"
    assert "zot/" not in shown  # of `git branch`: nothing is left
    wait_until_over(zot)


@pytest.mark.timeout(900)
def test_every_block_of_the_tutorial_works(zot: Zot) -> None:
    type_through(zot, GUIDES / "tutorial.md")
    project = zot.project / "cart"
    assert "sum(prices) - discount" in (project / "cart.py").read_text()
    assert (project / "README.md").read_text() == "# Cart\n"
    wait_until_over(zot)


def wait_until_over(zot: Zot) -> None:
    """The supervisor ends by itself."""
    state = zot.home / "zot" / "swarm" / "supervisor.json"
    wait_for(lambda: not state.exists(), lambda: "the supervisor goes on")
