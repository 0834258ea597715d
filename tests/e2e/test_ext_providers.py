"""Model providers of extensions in the real program: chosen by name, listed, and answering in every mode."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import toolchains
from tests.e2e.conftest import Zot
from tests.fakes.extensions import seen_of, write_extension
from tests.fakes.rpc_client import FakeRpcClient

BODY = """
hello("edition2")
time.sleep({delay})
send(type="contribute", kind="provider", name="{provider}", value={{"title": "Corp", "stream": True,
    "replace": {replace}, "models": [{{"id": "x", "context_window": 5000, "max_output": 100}}]}})
ready()
def stream(f):
    if f["method"] == "provider.stream":
        text = "answer of " + f["params"]["model"]
        send(type="progress", id=f["id"], data={{"events": [{{"text": text}}]}})
        send(type="response", id=f["id"], result={{"stop": "end_turn", "usage": {{"input_tokens": 3}}}})
serve(request=stream)
"""

SDK = """
from zot.ext import Extension

ext = Extension("sdk-ext", "1")

def stream(params, ctx):
    yield {"thinking": "…"}
    for word in ("from ", "the ", "SDK"):
        yield {"text": word}
    yield {"stop": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 3}}

ext.provider("sdk", {"title": "SDK", "models": [{"id": "m"}]}, stream=stream)
ext.run()
"""


def _write(
    parent: Path, provider: str = "corp", *, delay: float = 0, replace: bool = False, name: str = "corp-ext"
) -> Path:
    body = BODY.format(provider=provider, delay=delay, replace=replace)
    return write_extension(parent, name, body, uses=["provider"], provides={"providers": [provider]})


def _installed(zot: Zot, **options: Any) -> Path:
    return _write(zot.home / "zot" / "extensions", **options)


@pytest.mark.parametrize("mode", ["-p", "--stream"])
def test_model_of_an_extension_answers(zot: Zot, mode: str) -> None:
    """ext2-124: `--model corp/x` waits for the extension that its manifest names, also past its 3 s of start."""
    _installed(zot, delay=3.5 if mode == "-p" else 0)
    ran = zot(mode, "hi", "--model", "corp/x")
    assert (ran.code, ran.out) == (0, "answer of x\n"), ran


def test_json_reports_usage_of_the_provider(zot: Zot) -> None:
    """ext2-121: the events are those of any provider."""
    _installed(zot)
    ran = zot("--json", "hi", "--provider", "corp", "--model", "x")
    assert ran.code == 0 and ran.types[-1] == "done"
    usage = next(event for event in ran.events if event["type"] == "usage")
    assert "3" in json.dumps(usage), usage


def test_lists_show_the_last_run_and_start_nothing(zot: Zot) -> None:
    """ext2-124: `--list-models` and `zot models` know the models of the last run; removed extensions are gone."""
    directory = _installed(zot)
    assert "corp" not in zot("--list-models").out
    assert zot("-p", "hi", "--model", "corp/x").code == 0
    starts = len(seen_of(directory, "hello_ack"))
    for args in (("--list-models",), ("models", "--usable")):
        ran = zot(*args, model=False)
        (row,) = [line for line in ran.out.splitlines() if line.startswith("corp ")]
        assert "5000" in row or "5k" in row or "5.0k" in row
    assert zot("models", "show", "corp/x", model=False).code == 0
    assert len(seen_of(directory, "hello_ack")) == starts
    (directory / "extension.json").unlink()
    assert "corp" not in zot("--list-models").out


def test_unknown_model_and_default_model(zot: Zot) -> None:
    """ext2-124: without a model the first one is meant; a wrong one names those of the extension."""
    _installed(zot)
    assert zot("-p", "hi", "--model", "corp/x").code == 0
    assert zot("-p", "hi", "--provider", "corp").out == "answer of x\n"
    ran = zot("-p", "hi", "--model", "corp/wrong")
    assert ran.code == 1 and 'unknown model "wrong"; the extension corp-ext has: x' in ran.err


def test_key_and_address_flags_are_refused(zot: Zot) -> None:
    """ext2-124: `--base-url` and `--api-key` cannot belong to a provider of an extension."""
    _installed(zot)
    ran = zot("-p", "hi", "--model", "corp/x", "--base-url", "http://127.0.0.1:1")
    assert ran.code != 0 and "--base-url does not work with corp" in ran.err


def test_extension_that_does_not_offer_it(zot: Zot) -> None:
    """ext2-124: an extension that cannot start is named at once, without waiting 10 s."""
    directory = _installed(zot)
    (directory / "main.py").write_text("raise SystemExit(3)")
    ran = zot("-p", "hi", "--model", "corp/x")
    assert ran.code == 1 and "corp: the extension corp-ext is gone; see `zot ext logs corp-ext`" in ran.err, ran


def test_rpc_uses_the_model(zot: Zot) -> None:
    """ext2-121: RPC prompts run on it."""
    _installed(zot)
    client = FakeRpcClient([f"{sys.prefix}/bin/zot", "rpc", "--model", "corp/x"], zot.env(), zot.project)
    lines = client.prompt("go")
    assert any(line.get("delta") == "answer of x" or "answer of x" in json.dumps(line) for line in lines)
    assert client.close() == 0


def test_python_sdk_provides_models(zot: Zot) -> None:
    """ext2-121, ext2-159: `ext.provider` with a generator is a whole provider."""
    directory = zot.home / "zot" / "extensions" / "sdk-ext"
    directory.mkdir(parents=True)
    (directory / "main.py").write_text(SDK)
    manifest = {"name": "sdk-ext", "exec": sys.executable, "args": ["main.py"], "uses": ["provider"]}
    (directory / "extension.json").write_text(json.dumps({**manifest, "provides": {"providers": ["sdk"]}}))
    ran = zot("-p", "hi", "--model", "sdk/m")
    assert (ran.code, ran.out) == (0, "from the SDK\n"), ran


def test_project_extension_never_replaces_a_provider(zot: Zot) -> None:
    """ext2-125: a trusted extension of the project may bring a provider, but not replace one of zot."""
    extensions = zot.project / ".zot" / "extensions"
    _write(extensions, "anthropic", replace=True)
    zot.environment = {"ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    ran = zot("-p", "hi", "--provider", "anthropic", "--trust-project", "--retries", "0")
    assert ran.code == 1 and "answer of" not in ran.out
    assert "an extension of a project cannot replace the provider anthropic" in ran.err, ran.err
    _write(extensions, "corp", name="own")
    assert zot("-p", "hi", "--model", "corp/x").code != 0  # not trusted
    assert zot("-p", "hi", "--model", "corp/x", "--trust-project").out == "answer of x\n"
    assert "corp" in zot("--list-models").out
    elsewhere = zot.home / "elsewhere"
    elsewhere.mkdir()
    assert "corp" not in Zot(zot.home, elsewhere)("--list-models").out


TYPESCRIPT = """
import { Extension } from "./zot-ext/index.ts";

const ext = new Extension("ts-ext", "1");

async function* stream(params) {
  yield { thinking: "hm" };
  for (const word of ["typed ", "answer of ", params.model]) yield { text: word };
  yield { stop: "end_turn", usage: { input_tokens: 1, output_tokens: 3 } };
}

ext.provider("ts", { title: "TS", key: { login: true }, models: [{ id: "m" }] }, {
  stream,
  login: () => ({ access_token: "tok-of-typescript" }),
});
await ext.run();
"""


def test_typescript_sdk_provides_models(zot: Zot) -> None:
    """ext2-121, ext2-123, ext2-159: an async generator and a login in TypeScript are a whole provider."""
    zot.environment |= toolchains.environment()
    assert zot("ext", "new", "ts-ext", "--lang", "typescript").code == 0
    directory = zot.project / "ts-ext"
    manifest = json.loads((directory / "extension.json").read_text())
    manifest |= {"uses": ["provider"], "provides": {"providers": ["ts"]}}
    (directory / "extension.json").write_text(json.dumps(manifest))
    text = (directory / "main.ts").read_text()
    place = next(line for line in text.splitlines() if "zot-ext" in line and "from" in line).split('"')[1]
    (directory / "main.ts").write_text(TYPESCRIPT.replace("./zot-ext/index.ts", place))
    ran = zot("-p", "hi", "--model", "ts/m", "-e", str(directory))
    assert (ran.code, ran.out) == (0, "typed answer of m\n"), ran
    assert "tok-of-typescript" in (zot.home / "zot" / "auth.json").read_text()
