"""The first command of the README works in a fresh installation."""

from __future__ import annotations

from tests.e2e.conftest import Zot
from tests.fakes.web import FakeWeb


def test_demo_without_key_or_file_uses_scripted_model(zot: Zot) -> None:
    (zot.project / "what-is-here.txt").touch()
    ran = zot("--stream", "--provider", "script", "look around")
    assert ran.code == 0
    assert "[bash] ls" in ran.err and "ANTHROPIC_API_KEY" in ran.out and "zot docs first-steps" in ran.out
    assert zot("docs", "first-steps").code == 0


def test_demo_answers_every_typed_prompt(zot: Zot) -> None:
    prompts = "".join(f'{{"id":"{n}","type":"prompt","message":"again"}}\n' for n in range(3))
    ran = zot("rpc", "--provider", "script", stdin=prompts)
    assert ran.out.count('"type":"done"') == 3 and '"type":"error"' not in ran.out


def test_run_without_key_suggests_demo(zot: Zot) -> None:
    assert "--provider script for a demonstration" in zot("-p", "x").err


def test_run_without_key_names_local_server(zot: Zot) -> None:
    zot.environment["OLLAMA_BASE_URL"] = zot.environment["VLLM_BASE_URL"] = "http://127.0.0.1:1"
    zot.environment["LLAMA_BASE_URL"] = "http://127.0.0.1:1"
    models = '{"object":"list","data":[{"id":"qwen 3"}]}'
    with FakeWeb({"/v1/models": (200, models)}) as server:
        zot.environment["LMSTUDIO_BASE_URL"] = f"{server.url}/v1"
        ran = zot("-p", "x")
    (line,) = ran.err.splitlines()
    assert ran.code == 1
    assert "no key needed: --provider lmstudio --model 'qwen 3' (it answers on this machine), zot local install" in line
    zot.environment["LMSTUDIO_BASE_URL"] = "http://127.0.0.1:1"
    (line,) = zot("-p", "x").err.splitlines()
    assert line.endswith(
        "no key needed: zot local install small && zot --provider local, --provider ollama --model NAME, or"
        " --provider script for a demonstration"
    )


def test_run_without_key_names_installed_weights(zot: Zot) -> None:
    weights = zot.home / ".cache" / "zot" / "models" / "small.gguf"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"GGUF")
    assert "no key needed: --provider local, --provider ollama" in zot("-p", "x").err
