"""Which model on this machine is meant, and what is missing before it can be used: weights, or the runtime."""

from __future__ import annotations

import msgspec

from zot.errors import NotThere
from zot.local_model.gguf import read_header
from zot.local_model.memory import ENOUGH_FOR_MEDIUM, free_memory
from zot.local_model.server_manager import missing_runtime
from zot.local_model.weights import Chosen, chosen, installed, is_path, known
from zot.provider.installed_models import embedded_model
from zot.provider.model import Model

API = "grammar"  # its models cannot call tools by themselves
FIRST = "small"  # what to install when nobody said which


class ModelSelection(msgspec.Struct, frozen=True):
    """``missing`` says in one line what to do first; empty when nothing is missing."""

    model: Model
    missing: str = ""
    notice: str = ""


def choose(typed: str, remembered: str = "") -> ModelSelection:
    """What was typed must be there or be a name of the table; what is only remembered gives way to what is there."""
    notice = ""
    if not typed and remembered:
        try:
            return _ready(chosen(remembered))
        except NotThere:
            notice = f"the local model {remembered} is not there any more"
    if not typed and (usual := default()) is not None:
        return _ready(usual, f"{notice}; using {usual.name}" if notice else "")
    wanted = typed or FIRST
    if typed and (is_path(typed) or typed not in known()):
        return _ready(chosen(typed))
    try:
        return _ready(chosen(wanted))
    except NotThere:
        return ModelSelection(
            embedded_model(wanted), f"no weights for the local model {wanted}: zot local install {wanted}"
        )


def default() -> Chosen | None:
    """Of what is installed: the better one where memory allows it."""
    here = {model.name: model for model in installed()}
    order = ("medium", "small") if free_memory() >= ENOUGH_FOR_MEDIUM else ("small", "medium")
    return next((here[name] for name in order if name in here), next(iter(here.values()), None))


def _ready(model: Chosen, notice: str = "") -> ModelSelection:
    header = read_header(model.path)
    row = embedded_model(model.name, header.window) if header.window else embedded_model(model.name)
    return ModelSelection(row, missing_runtime(), notice)
