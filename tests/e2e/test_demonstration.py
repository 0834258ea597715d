"""The first command of the README: it works for somebody who has installed zot and nothing else."""

from __future__ import annotations

from tests.e2e.conftest import Zot


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
