"""The first minute: no credential anywhere. A server found on this machine needs none; a key is a paste away."""

from __future__ import annotations

from collections.abc import Sequence

from zot.agent.modes.interactive.dialogs.picker import Picker
from zot.provider.discovery import LocalServer
from zot.tui.sanitize import one_line
from zot.tui.widgets.select_list import Choice

LOGIN, LATER = "login", "later"
_MODELS = 5


class FirstLaunch(Picker):
    """Ends with ``login``, ``later``, or provider and model of a local server joined by a newline."""

    def __init__(self, servers: Sequence[LocalServer]) -> None:
        rows = [
            Choice(
                f"{server.provider}\n{model}", f"use {one_line(model)}", f"{server.provider} on this machine, no key"
            )
            for server in servers
            for model in server.models[:_MODELS]
        ]
        rows += [
            Choice(LOGIN, "log in with an API key", "Anthropic, OpenAI, Kimi and others"),
            Choice(LATER, "look around first", "/login when you are ready"),
        ]
        above = ["zot needs a model to talk to."]
        if not servers:
            above.append("No local server answered (ollama, LM Studio, llama.cpp, vLLM); start one and type /model.")
        super().__init__("welcome to zot", rows, filterable=False, above=above)
