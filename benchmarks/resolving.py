"""What it takes to know whom to ask: settings, catalogue and ``auth.json`` read, a model decided on."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row

# In a process of its own each time: what is read once is cached, and what is loaded for it counts, too.
RESOLVE = """
import sys, time
from pathlib import Path
import zot.agent.model_resolver
home = Path(sys.argv[1])
began = time.perf_counter()
from zot.agent.model_resolver import ModelQuery, resolve
from zot.agent.settings import Settings
from zot.provider.auth.auth_store import AuthStore
from zot.provider.catalog import Catalog
found = resolve(ModelQuery(model=sys.argv[2]), Settings(home), Catalog(home), AuthStore(home), {})
assert found.credential is not None
print(time.perf_counter() - began)
"""
FILES = {
    "config.json": {"provider": "anthropic", "model": "claude-sonnet-5-5", "model_names": {"fast": "claude-haiku-4-5"}},
    "auth.json": {"anthropic": {"api_key": "sk-bench"}, "openai": {"api_key": "sk-bench"}},
}


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="zot-bench-") as directory:
        home = Path(directory)
        for name, value in FILES.items():
            (home / name).write_text(json.dumps(value))
            (home / name).chmod(0o600)
        stored, named = (min(_seconds(home, model) for _ in range(15)) for model in ("", "fast"))
    note = f"{named * 1000:.1f} ms with a name of one's own"
    yield Row("resolve credential and model, with settings and auth.json", stored * 1000, 5, "ms", note=note)


def _seconds(home: Path, model: str) -> float:
    done = subprocess.run([sys.executable, "-c", RESOLVE, str(home), model], capture_output=True, text=True, check=True)
    return float(done.stdout)
