"""The first command of the README: it works for somebody who has installed zot and nothing else."""

from __future__ import annotations

from tests.e2e.conftest import Zot
from tests.fakes.web import FakeWeb


def test_without_a_key_and_without_a_file_the_scripted_model_shows_what_zot_does(zot: Zot) -> None:
    (zot.project / "what-is-here.txt").touch()
    ran = zot("--stream", "--provider", "script", "look around")
    assert ran.code == 0
    assert "[bash] ls" in ran.err and "ANTHROPIC_API_KEY" in ran.out and "zot docs first-steps" in ran.out
    assert zot("docs", "first-steps").code == 0


def test_it_goes_on_for_as_many_prompts_as_somebody_types(zot: Zot) -> None:
    prompts = "".join(f'{{"id":"{n}","type":"prompt","message":"again"}}\n' for n in range(3))
    ran = zot("rpc", "--provider", "script", stdin=prompts)
    assert ran.out.count('"type":"done"') == 3 and '"type":"error"' not in ran.out


def test_who_has_no_key_is_told_of_it(zot: Zot) -> None:
    assert "--provider script for a demonstration" in zot("-p", "x").err


def test_who_has_no_key_but_a_server_here_is_told_its_name_in_one_line(zot: Zot) -> None:
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


def test_who_has_no_key_but_weights_here_is_told_of_them(zot: Zot) -> None:
    weights = zot.home / ".cache" / "zot" / "models" / "small.gguf"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"GGUF")
    assert "no key needed: --provider local, --provider ollama" in zot("-p", "x").err
