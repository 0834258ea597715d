"""Typical mistakes of a new user: the error names the cause and the fix."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.fakes.terminal import FakeTerminal


@pytest.mark.parametrize(
    ("typed", "meant"), [("--modle=x", "; did you mean --model?"), ("--lst-models", "; did you mean --list-models?")]
)
def test_a_mistyped_flag_is_answered_with_the_likely_one(zot: Zot, typed: str, meant: str) -> None:
    ran = zot("-p", "hi", typed)
    assert ran.code == 1 and meant in ran.err


def test_a_flag_like_no_other_is_answered_without_a_guess(zot: Zot) -> None:
    ran = zot("-p", "hi", "--qqqqqq")
    assert ran.code == 1 and 'unknown flag "--qqqqqq"' in ran.err and "did you mean" not in ran.err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("sesions", "sessions"), ("docter", "doctor"), ("auht", "auth"), ("mpc list", "mcp list"), ("auht ", "auth")],
)
def test_a_mistyped_verb_is_answered_with_the_likely_one(zot: Zot, typed: str, meant: str) -> None:
    """issue 29.12: one word close to a verb is not a prompt, nor is one before a verb of it."""
    with FakeTerminal([f"{sys.prefix}/bin/zot", *typed.split(" ")], cwd=zot.project, env=zot.env()) as terminal:
        assert terminal.wait_exit() == 1
        assert f'unknown command "{typed}"; did you mean zot {meant}?' in terminal.screen.replace("\n", "")


def test_an_unknown_tool_is_answered_with_the_known_ones(zot: Zot, serve: Any) -> None:
    serve([Say("ok")])
    ran = zot("-p", "hi", "--tools", "reed")
    assert "no tool named reed; available: " in ran.err and " bash, edit, " in ran.err


@pytest.mark.parametrize("broken", ['{"permission_mode": "plan', "{", None], ids=["cut off", "no JSON", "a directory"])
def test_unreadable_settings_deny_calls_without_approval(zot: Zot, serve: Any, broken: str | None) -> None:
    path = zot.home / "zot" / "config.json"
    path.parent.mkdir(exist_ok=True)
    if broken is None:
        path.mkdir()
    else:
        path.write_text(broken)
    touch = CallTools([("bash", {"command": "touch made"})])
    serve([touch, Say("done"), touch, Say("done")])
    ran = zot("-p", "hi")
    assert (ran.code, ran.out) == (0, "done\n") and not (zot.project / "made").exists()
    assert "until it is fixed, zot uses default settings and asks before it acts" in ran.err
    assert zot("-p", "--permission-mode", "everything", "hi").code == 0
    assert (zot.project / "made").exists(), "what was said on the command line holds"


@pytest.mark.parametrize("name", ["config.json", "models.json", "auth.json"])
def test_a_file_that_ends_too_early_is_named_with_the_reason(zot: Zot, serve: Any, name: str) -> None:
    serve([Say("ok")])
    file = zot.home / "zot" / name
    file.parent.mkdir()
    file.write_text('{"a": {')
    ran = zot("-p", "hi", model=name != "auth.json")  # with a key on the command line nobody looks into auth.json
    assert f"{name}: the JSON is incomplete" in ran.err and "fix" in ran.err


def test_a_script_that_ends_too_early_is_named_with_the_reason(zot: Zot, tmp_path: Path) -> None:
    (tmp_path / "half.json").write_text('{"turns": [')
    ran = zot("-p", "hi", "--provider", "script", "--script", str(tmp_path / "half.json"))
    assert ran.code == 1 and "half.json: not a script: the JSON is incomplete" in ran.err


def test_check_and_replay_of_missing_path_are_errors(zot: Zot, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    checked = zot("ext", "check", nowhere)
    assert checked.code == 1 and "no such directory" in checked.out
    assert "SKIP 120 checks: the manifest cannot be used" in checked.out
    replayed = zot("ext", "replay", "run.jsonl", nowhere)
    assert replayed.code == 1 and f"{nowhere} is not an extension: no such directory" in replayed.err


def test_doctor_names_a_mistyped_setting_and_no_foreign_one(zot: Zot) -> None:
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "config.json").write_text('{"provder": "openai", "telegram": {}}')
    ran = zot("doctor")
    assert ran.code == 1 and "config.json: provder is not a setting; did you mean provider?" in ran.out
    assert "telegram" not in ran.out


def test_mistyped_mention_names_the_likely_file(zot: Zot, serve: Any) -> None:
    """issue 29.13: the user and the model see which file may be meant; words that are no paths stay words."""
    (zot.project / "src").mkdir()
    (zot.project / "src" / "main.py").write_text("x = 1\n")
    server = serve([Say("ok")])
    zot("-p", "compare @src/mian.py, @app.route and @param")
    sent = str(server.requests[0].json["messages"])
    assert "src/mian.py" in sent and "not included: no such file; did you mean src/main.py?" in sent
    assert sent.count("<file path=") == 1
