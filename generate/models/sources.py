"""Downloads the packages with the public model facts into ``.cache/models``, by name and pinned version."""

from __future__ import annotations

import ast
import calendar
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
CACHE = ROOT / ".cache" / "models"

# Window, output limit, prices, modalities and reasoning of the models of many providers.
PI_AI = "@earendil-works/pi-ai"
PI_AI_VERSION = "1.5.2"
# Batch prices, structured output, parallel calls and retirement dates; its other numbers only cross-check.
LITELLM = "litellm"
LITELLM_VERSION = "1.109.1"
_LITELLM_FILE = "litellm/model_prices_and_context_window_backup.json"

Rows = list[dict[str, Any]]


def pi_ai_rows() -> dict[str, Rows]:
    """The chat models of the npm package, by its provider ids."""
    directory = CACHE / f"pi-ai-{PI_AI_VERSION}"
    if not directory.exists():
        npm = shutil.which("npm") or sys.exit("make models needs npm: install Node.js")
        CACHE.mkdir(parents=True, exist_ok=True)
        print(f"==> npm pack {PI_AI}@{PI_AI_VERSION}")
        done = subprocess.run(
            [npm, "pack", "--silent", f"{PI_AI}@{PI_AI_VERSION}"], cwd=CACHE, check=True, capture_output=True, text=True
        )
        with tarfile.open(CACHE / done.stdout.split()[-1]) as archive:
            archive.extractall(directory, filter="data")
    found: dict[str, Rows] = {}
    for path in sorted((directory / "package/dist/providers/data").glob("[!.]*.json")):
        groups = json.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = [row for group in groups.values() for row in group.values() if row["type"] == "chat"]
    return found


def litellm_rows() -> dict[str, dict[str, Any]]:
    """The rows of the Python package by its ids."""
    directory = CACHE / f"litellm-{LITELLM_VERSION}"
    if not directory.exists():
        print(f"==> pip download {LITELLM}=={LITELLM_VERSION}")
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", str(CACHE), f"{LITELLM}=={LITELLM_VERSION}"], check=True)
        with zipfile.ZipFile(next(CACHE.glob(f"litellm-{LITELLM_VERSION}-*.whl"))) as wheel:
            wheel.extract(_LITELLM_FILE, directory)
    return json.loads((directory / _LITELLM_FILE).read_text(encoding="utf-8"))


def anthropic_retirements() -> dict[str, str]:
    """Dates by model id, as Anthropic's SDK package has them for its warnings."""
    import anthropic.resources.messages.messages as sdk

    tree = ast.parse(Path(sdk.__file__ or "").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DEPRECATED_MODELS":
            return {key: _iso_date(text) for key, text in ast.literal_eval(node.value).items()}
    return {}


def _iso_date(text: str) -> str:
    """``November 30th, 2026`` as ``2026-11-30``."""
    month, day, year = text.replace(",", "").split()
    return f"{year}-{list(calendar.month_name).index(month):02}-{int(day.rstrip('stndrh')):02}"
