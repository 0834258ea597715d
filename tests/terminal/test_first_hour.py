"""The first hour, as in the film of the documentation: from a start without a key to a resumed session."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from docs import first_hour
from tests.fakes.model_server import FakeModelServer
from tests.fakes.terminal import FakeTerminal


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
def test_first_hour_runs_at_this_size(tmp_path: Path, columns: int, rows: int) -> None:
    project = first_hour.create_project(tmp_path)
    with FakeModelServer(first_hour.turns(0.001)) as server:
        env = first_hour.environment(tmp_path, server.url)
        with FakeTerminal(
            first_hour.SHELL, cwd=project, env=env, columns=columns, rows=rows, first_start=True
        ) as terminal:

            def look(seconds: float) -> None:
                ends = time.monotonic() + seconds / 10
                while (left := ends - time.monotonic()) > 0:
                    terminal.pump(left)

            first_hour.play(terminal, look, terminal.type)
            for width in (60, columns):  # so fast that zot sees the last size only
                terminal.resize(width, rows)
            terminal.wait_for("─" * columns)
            assert terminal.everything.count("plans only") == 1
    assert not (project / "taxes.py").exists()
    texts = [str(request.json["messages"]) for request in server.requests]
    assert "def total(items)" in texts[0], "the file came with the prompt"
    assert len(server.requests) == 7
