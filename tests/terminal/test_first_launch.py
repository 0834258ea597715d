"""The first screen without a credential: a model of this machine is one key away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import FakeModelServer, Say
from tests.fakes.terminal import FakeTerminal
from tests.fakes.weights_publisher import Publisher, gguf, packages, publisher, table
from tests.terminal.conftest import OpenZot

DATA = gguf()
PARTS = [1_000_000, 1_000_000, 500_000, 500_000]


@pytest.fixture
def source() -> Iterator[Publisher]:
    with publisher(DATA) as state:
        yield state


def weights(zot: Zot, source: Publisher) -> Path:
    path = table(zot.home / "weights.json", DATA, [source.source])
    zot.environment |= {"ZOT_LOCAL_WEIGHTS": str(path)}
    return zot.home / ".cache" / "zot" / "models" / "small.gguf"


def agree_to_download(terminal: FakeTerminal) -> None:
    terminal.wait_for("install a small model here")
    terminal.press("enter")
    terminal.wait_for("zot downloads")
    terminal.press("down", "enter")


def test_confirmed_download_installs_model_and_uses_it(open_zot: OpenZot, zot: Zot, source: Publisher) -> None:
    """iface-177: where no server answers, the model zot brings is the first choice. issue 29.10: a second dialog states
    the size, and nothing is downloaded before."""
    place, go_on = weights(zot, source), Event()
    source.held = lambda: go_on.wait(30)
    terminal = open_zot(model=False)
    terminal.wait_for("install a small model here")
    assert "no key, then offline" in terminal.screen
    terminal.press("enter")
    terminal.wait_for("zot downloads")
    assert source.asked == []
    terminal.press("down", "enter")
    terminal.wait_for("Apache-2.0")
    terminal.wait_for("esc stops; the next download continues")
    assert not place.exists()
    go_on.set()
    terminal.wait_for("model: small (local)")
    assert place.read_bytes() == DATA


def test_closing_dialog_stops_download_and_keeps_partial_file(open_zot: OpenZot, zot: Zot, source: Publisher) -> None:
    place, go_on = weights(zot, source), Event()
    source.held = lambda: go_on.wait(30)
    terminal = open_zot(model=False)
    agree_to_download(terminal)
    begun, half = place.with_name(".small.gguf.part"), len(DATA) // 2
    terminal.wait_until(lambda: begun.exists() and begun.stat().st_size == half, "half of the file to arrive")
    terminal.wait_for("esc stops")
    terminal.press("esc")
    terminal.wait_gone("esc stops")
    go_on.set()
    assert begun.stat().st_size == half and not place.exists()
    terminal.submit("hello")
    terminal.wait_for("no credential")


def test_a_source_that_fails_is_named(open_zot: OpenZot, zot: Zot, source: Publisher) -> None:
    weights(zot, source)
    source.status = 404
    terminal = open_zot(model=False, columns=110)
    agree_to_download(terminal)
    terminal.wait_for("http 404")
    terminal.wait_for("use a key instead: /login")


def test_the_second_source_takes_over(open_zot: OpenZot, zot: Zot, source: Publisher) -> None:
    """Packages of the Python index are unpacked in the background while the terminal draws."""
    place = weights(zot, source)
    source.status = 404
    table(zot.home / "weights.json", DATA, [source.source, packages(zot.project, DATA, PARTS)])
    zot.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(zot.project)}
    terminal = open_zot(model=False, columns=110)
    agree_to_download(terminal)
    terminal.wait_for("http 404")
    terminal.wait_for("model: small (local)", timeout=60)
    assert place.read_bytes() == DATA


def test_installed_model_is_used_at_once(open_zot: OpenZot, zot: Zot, source: Publisher) -> None:
    place = weights(zot, source)
    place.parent.mkdir(parents=True)
    place.write_bytes(DATA)
    terminal = open_zot(model=False)
    terminal.wait_for("no key, offline")
    terminal.press("enter")
    terminal.wait_for("model: small (local)")
    assert source.asked == []


def test_several_credentials_are_asked_about_once(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """issue 29.8: with several credentials and none used before, the terminal asks which provider to use."""
    serve([])
    zot.environment |= {"OPENAI_API_KEY": "a", "GROQ_API_KEY": "b", "GROQ_BASE_URL": f"{zot.url}/v1"}
    terminal = open_zot(model=False)
    terminal.wait_for("which provider?")
    terminal.press("down", "enter")
    terminal.wait_for("model: openai/gpt-oss-120b (groq)")
    terminal.wait_for("GROQ_BASE_URL: requests to groq go to 127.0.0.1")
    config = json.loads((zot.home / "zot" / "config.json").read_text())
    assert config["provider"] == "groq"


def test_prompt_typed_at_the_welcome_is_sent_with_the_model(open_zot: OpenZot, zot: Zot) -> None:
    """issue 29.10: a question typed at the welcome stays in the editor and is sent once there is a model."""
    with FakeModelServer([Say("from here")], models=("tiny-llama",)) as server:
        home = zot.home / "zot"
        home.mkdir()
        (home / "models.json").write_text(json.dumps({"providers": {"ollama": {"baseUrl": f"{server.url}/v1"}}}))
        terminal = open_zot(model=False)
        terminal.wait_for("look around first")
        terminal.submit("what is here?")
        terminal.wait_for("kept until there is a model")
        assert "what is here?" in terminal.screen and "welcome to zot" in terminal.screen
        terminal.press("enter")
        terminal.wait_for("from here")
        assert "what is here?" in str(server.requests[-1].json)
