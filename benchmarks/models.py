"""``zot models`` and the model picker, with a catalogue of 2,000 rows."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import best, run, scratch_home
from benchmarks.row import Row

ZOT = [f"{sys.prefix}/bin/zot"]
ROWS = 2_000
SIZE = (120, 40)


def rows(p: float) -> Iterator[Row]:
    yield from list_models(p)
    yield from open_picker()


def list_models(p: float) -> Iterator[Row]:
    with scratch_home() as (env, cwd):
        plain = best(15, lambda: run([*ZOT, "models"], env, cwd).wall)
        _fill(Path(env["ZOT_HOME"]))
        filled = best(15, lambda: run([*ZOT, "models"], env, cwd).wall)
    note = f"{plain * 1000:.0f} ms; {filled / p:.1f} P with {ROWS:,} rows, most of them listed by a provider"
    yield Row("zot models", plain / p, 2.5, "P", note=note)


def open_picker() -> Iterator[Row]:
    with scratch_home() as (env, cwd):
        home = Path(env["ZOT_HOME"])
        _fill(home)
        first, again = asyncio.run(_open(home, cwd))
    yield Row(f"/model opens with {ROWS:,} rows", first * 1000, 50, "ms", note=f"{again * 1000:.1f} ms the second time")


async def _open(home: Path, cwd: Path) -> tuple[float, float]:
    """From the command to the first frame, in a conversation that has not read the catalogue yet."""
    from zot.agent.build import build
    from zot.agent.config import RunConfig
    from zot.frontends.terminal.dialogs.model_picker import ModelPicker
    from zot.frontends.terminal.dialogs.picker import Picker
    from zot.tui.theme import built_in
    from zot.tui.widgets import Choice

    config = RunConfig(provider="openrouter", model="z-ai/glm-5.3", api_key="k", home=home, cwd=str(cwd))
    theme = built_in("dark")
    took: list[float] = []
    Picker("any", [Choice("a", "─ a")]).lines(theme, *SIZE)  # a terminal has drawn something by then
    async with build(config) as conversation:
        for _ in range(2):
            began = time.perf_counter()
            assert len(ModelPicker(conversation).lines(theme, *SIZE)) > 10
            took.append(time.perf_counter() - began)
    return took[0], took[1]


def _fill(home: Path) -> None:
    """A provider's list of so many models that there are 2,000 with the built-in ones."""
    from zot.provider.catalog import builtin_rows

    home.mkdir(parents=True, exist_ok=True)
    missing = ROWS - len(builtin_rows())
    models = [
        {"provider": "openrouter", "id": f"vendor-{n % 40}/model-{n}", "context_window": 1 << 17, "max_output": 1 << 14}
        for n in range(missing)
    ]
    (home / "models-cache.json").write_text(json.dumps({"models": models}))
