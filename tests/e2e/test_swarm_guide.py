"""The guide "Many agents at once", typed block by block: from one prompt to twenty workers whose work is merged."""

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

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "swarm.md"
PATIENCE = 10 * PATIENCE_S


def blocks() -> list[tuple[str, str]]:
    return re.findall(r"```(sh|text)\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.mark.timeout(900)
def test_every_block_of_the_guide_works(zot: Zot, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "zot"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m zot "$@"\n')
    program.chmod(0o755)
    typed = [text for kind, text in blocks() if kind == "sh"]
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
    for kind, text in blocks():
        if kind == "sh":
            shown = next(outputs)
        else:
            assert text.strip("\n") in shown, f"{text!r} is not in {shown!r}"
    rows = [json.loads(line) for line in (zot.project / "done.jsonl").read_text().splitlines()]
    assert sorted(row["item"] for row in rows) == [f"price_{number:02}.py" for number in range(1, 21)]
    assert all(row["answer"] == f"{row['item']} has one." for row in rows)
    assert (zot.project / "shop" / "notes.txt").read_text() == "buy milk\nand bread\n"
    assert "zot/" not in shown  # of `git branch`: nothing is left
    wait_until_over(zot)


def wait_until_over(zot: Zot) -> None:
    """The supervisor ends by itself."""
    state = zot.home / "zot" / "swarm" / "supervisor.json"
    wait_for(lambda: not state.exists(), lambda: "the supervisor goes on")
