"""Models with weights on this machine, as free rows of the catalog."""

from __future__ import annotations

import os
from pathlib import Path

from zot.provider.model import Model

PROVIDER = "local"
WINDOW = 8192  # tokens; more would need much memory and minutes on an ordinary machine
_MAX_OUTPUT = 2048
_SUFFIX = ".gguf"


def embedded_model(model_id: str, window: int = WINDOW) -> Model:
    """``model_id`` is a name or a path; ``window`` that of its weights."""
    shown = os.path.basename(model_id)
    window = min(WINDOW, window)
    return Model(
        id=model_id,
        provider=PROVIDER,
        name=f"{shown} on this machine",
        context_window=window,
        max_output=min(_MAX_OUTPUT, window // 2),
        free=True,
        input=("text",),
        tool_calls="grammar",
    )


def installed_models(directory: Path) -> list[Model]:
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    found = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and not name.startswith(".")]
    return [embedded_model(name) for name in sorted(found, key=lambda name: (name != "small", name != "medium", name))]
