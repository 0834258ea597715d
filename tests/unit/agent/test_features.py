"""The table of features: its order, that each row loads, and that a feature that is not used is not imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from zot.agent.build import build
from zot.agent.config import FrontEnd, RunConfig
from zot.agent.feature import Feature
from zot.agent.features import FEATURES, FeatureRow
from zot.core.interceptors import Interceptor


@pytest.mark.parametrize("row", FEATURES, ids=lambda row: row.name)
def test_row_names_a_feature_of_that_name(row: FeatureRow) -> None:
    kind = row.load()
    assert issubclass(kind, Feature) and kind.name == row.name


def test_order_is_the_order_in_which_prompts_and_calls_pass() -> None:
    """Text is expanded before hooks review it; hooks come before the front end, and that before extensions."""
    names = [row.name for row in FEATURES]
    assert names == [
        *("limits", "recording", "jail", "checkpoints", "budget", "mcp", "templates", "local_model"),
        *("hooks", "rules", "front_end", "permissions", "plan", "ask_user", "todo"),
        *("extensions", "plugins", "skills", "swarm"),
        *(
            "editor_terminal",
            "telemetry",
            "model_refresh",
            "web",
            "jobs",
            "answer_schema",
            "agents",
            "more_tools",
            "fallback",
        ),
        *("model_roles", "state"),
    ]


async def test_interceptors_join_in_table_order(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    extension = home / "extensions" / "quiet"
    extension.mkdir(parents=True)
    (extension / "extension.json").write_text('{"name": "quiet", "exec": "./run.sh"}')
    (extension / "run.sh").write_text("#!/bin/sh\nexec sleep 60\n")
    (extension / "run.sh").chmod(0o755)
    (home / "hooks.json").write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}')

    class Own(Interceptor):
        pass

    config = RunConfig(provider="script", home=home, cwd=str(project), keep_session=False)
    async with build(config, FrontEnd(interceptors=(Own(),))) as conversation:
        kinds = [type(each).__name__ for each in conversation.agent.interceptors]
        assert kinds[1] == "Own" and kinds[0].startswith("Hook") and len(kinds) == 3
        subscribed = [feature.name for feature in conversation.features]
        assert subscribed == sorted(subscribed, key=[row.name for row in FEATURES].index)


def test_run_without_features_imports_none_of_their_packages(tmp_path: Path) -> None:
    """A feature that is not used costs nothing at the start."""
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from zot.agent.build import build\nfrom zot.agent.config import RunConfig\n"
        "async def main():\n"
        "    config = RunConfig(provider='script', home=Path(sys.argv[1]), cwd=sys.argv[1])\n"
        "    async with build(config): print(*(m for m in sys.modules if m.startswith('zot.')))\n"
        "asyncio.run(main())\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    used = {name.split(".")[2] for name in ran.stdout.split() if name.startswith("zot.features.")}
    assert used <= {"budget", "checkpoints", "lookup", "more_tools", "skills", "templates"}
    assert not [
        name for name in ran.stdout.split() if name.startswith(("zot.swarm", "zot.local_model", "zot.frontends"))
    ]
