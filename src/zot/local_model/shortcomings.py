"""What a model on this machine lacks for work with tools, told once when it has answered for the first time.

Such servers start with small windows and any model; without a word, work would only go wrong in odd ways.
"""

from __future__ import annotations

from collections.abc import Iterator

from zot.provider.model import Model

SMALL_WINDOW = 16_384
_KNOWS_GRAMMARS = ("llama.cpp",)  # whose servers take one in a request
_LARGER = {
    "ollama": "OLLAMA_CONTEXT_LENGTH=32768 ollama serve",
    "llama.cpp": "llama-server -c 32768",
    "lmstudio": "load it with a larger context length",
}


def shortcomings(model: Model) -> Iterator[str]:
    if model.tool_calls:
        return  # whoever holds it by a grammar has allowed for both
    if 0 < model.context_window < SMALL_WINDOW:
        larger = _LARGER.get(model.provider, "start its server with a larger one")
        yield (
            f"{model.id} has a window of {model.context_window} tokens here, and files and commands soon fill it;"
            f" 16k is the least that goes well: {larger}"
        )
    if model.tools is False and model.provider in _KNOWS_GRAMMARS:
        yield (
            f"{model.id} cannot call tools by itself; a grammar can hold it to actions: put"
            f' {{"providers": {{"{model.provider}": {{"tool_calls": "grammar"}}}}}} into models.json'
        )
    elif model.tools is False:
        yield f"{model.id} cannot call tools, its server says: it answers, but changes no files; /model has others"
