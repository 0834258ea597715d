"""Who is evaluated: a model that was named, the reference solutions, or every installed local model in both ways.

A contender has the flags zot is started with, and says how its tool calls are made, in the words of the table. The
server of a local model is held for all of its tasks: what is measured is a warm one.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

GRAMMAR = "by grammar"
PLAIN = "the server's own"
ZOT = (sys.executable, "-m", "zot")


class Contender(msgspec.Struct, frozen=True):
    """``reference`` plays each task's solution; ``environment`` is what zot gets beside the user's variables."""

    model: str
    calls: str = ""
    flags: tuple[str, ...] = ()
    reference: bool = False
    environment: dict[str, str] = {}

    @property
    def title(self) -> str:
        return f"{self.model}, tool calls {self.calls}" if self.calls else self.model

    @property
    def name(self) -> str:
        """As files are called."""
        return self.model.replace("/", "-") + {GRAMMAR: "-grammar", PLAIN: "-plain"}.get(self.calls, "")


REFERENCE = Contender("reference", reference=True)


def named(provider: str, model: str) -> Contender:
    flags = ("--provider", provider, *(("--model", model) if model else ()))
    return Contender("/".join(filter(None, (provider, model))), flags=flags)


def local(model: str, ways: tuple[str, ...]) -> Iterator[Contender]:
    """The local model, or without a name each that is installed, in each of the ways."""
    models = [model] if model else _installed()
    if not models:
        sys.exit("evaluation: no local model is installed; run `zot local install small`")
    for name in models:
        with _served(name) as (address, key):
            for calls in ways:
                if calls == GRAMMAR:
                    yield Contender(f"local/{name}", calls, ("--provider", "local", "--model", name))
                else:
                    with _plain_home(name, address) as home:
                        flags, own = ("--provider", "plain", "--model", name), {"ZOT_HOME": home, "PLAIN_API_KEY": key}
                        yield Contender(f"local/{name}", calls, flags, environment=own)


def _installed() -> list[str]:
    done = subprocess.run([*ZOT, "local", "list", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return [model["name"] for model in json.loads(done.stdout)["models"] if model["path"]]


@contextmanager
def _served(model: str) -> Iterator[tuple[str, str]]:
    """Address and key of its server, which stays while this lasts."""
    serve = subprocess.Popen([*ZOT, "local", "serve", model], stdout=subprocess.PIPE, text=True)
    assert serve.stdout is not None
    try:
        if not serve.stdout.readline():
            sys.exit(f"evaluation: {model} cannot be served")
        key_file = serve.stdout.readline().partition(": ")[2].strip()
        status = subprocess.run([*ZOT, "local", "status", "--json"], capture_output=True, text=True, check=True)
        server = next(one for one in json.loads(status.stdout)["servers"] if one["key_file"] == key_file)
        yield server["address"], Path(key_file).read_text("utf-8").strip()
    finally:
        serve.send_signal(signal.SIGTERM)
        serve.wait()
        serve.stdout.close()


@contextmanager
def _plain_home(model: str, address: str) -> Iterator[str]:
    """A home in which the same server is one of OpenAI's kind, which calls tools by itself."""
    with tempfile.TemporaryDirectory(prefix="zot-eval-home-") as home:
        row = {"id": model, "contextWindow": 8192, "maxTokens": 1024, "tools": True}  # our word: nobody finds out
        plain = {"baseUrl": address, "api": "openai", "models": [row]}
        Path(home, "models.json").write_text(json.dumps({"providers": {"plain": plain}}), "utf-8")
        yield home
