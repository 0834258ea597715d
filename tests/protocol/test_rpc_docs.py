"""``docs/rpc.md`` and its reference state the protocol's rules, and the first example runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

from tests.e2e.conftest import Zot
from zot.frontends.rpc import writer
from zot.wire import rpc_frames, swarm_frames

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_the_first_example_runs_as_written(zot: Zot, tmp_path: Path) -> None:
    """rpc-008: the first example of the guide runs unchanged and streams through to `done`."""
    [block] = re.findall(r"```sh\n(.*?)```", (DOCS / "rpc.md").read_text(), re.DOTALL)
    (tmp_path / "zot").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m zot "$@"\n')
    (tmp_path / "zot").chmod(0o755)
    env = zot.env()
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    ran = subprocess.run(
        ["sh", "-e", "-c", block], cwd=zot.project, env=env, capture_output=True, text=True, timeout=30
    )
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert (ran.returncode, ran.stderr) == (0, "")
    assert lines[0]["type"] == "response" and lines[-1] == {"type": "done"}
    assert "".join(line.get("delta", "") for line in lines) == "Hello from zot."


def test_compact_done_rule_is_documented_at_both_places() -> None:
    """rpc-077: guide and reference both state the rule at `compact` and at `done`."""
    guide, reference = (DOCS / "rpc.md").read_text(), (DOCS / "reference" / "rpc.md").read_text()
    assert guide.count("`compact_done` and no `done`") == 1 and "`compact_done`, and no `done` follows" in guide
    for heading in ("### `compact`", "### `compact_done`", "### `done`"):
        section = reference.split(heading)[1].split("###")[0]
        assert "`compact_done`" in section or "in place of `done`" in section


def test_every_command_and_capability_is_named_in_the_guide() -> None:
    guide = (DOCS / "rpc.md").read_text()
    for struct in (*get_args(rpc_frames.AnyCommand), *get_args(swarm_frames.SwarmCommand)):
        assert f"`{struct.__struct_config__.tag}`" in guide
    for name in rpc_frames.CAPABILITIES:
        assert f"**{name}.**" in guide


def test_guide_numbers_equal_code() -> None:
    guide = (DOCS / "rpc.md").read_text()
    megabyte = 1024 * 1024
    for value in (rpc_frames.MAX_LINE, writer.MERGE_ABOVE, writer.RESPONSES_MAX, writer.GIVE_UP_ABOVE):
        assert f"{value // megabyte} MiB" in guide
