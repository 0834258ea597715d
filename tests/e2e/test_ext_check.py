"""``zot ext check`` as an author meets it: the report, its exit status and its machine form."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.conformance.extension_kit import BROKEN, install
from tests.conformance.second_corpus import FAULTS, Fault, make
from tests.e2e.conftest import Zot


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    return install(BROKEN / "good.py", tmp_path / "sound")


def test_check_of_sound_extension_exits_zero_and_lists_skips(zot: Zot, sound: Path) -> None:
    ran = zot("ext", "check", str(sound), model=False)
    assert ran.code == 0, ran.out
    assert "PASS handshake-hello-first" in ran.out
    assert ", 0 failed, " in ran.out.splitlines()[-1]
    assert "SKIP registration-guard" in ran.out


def test_a_failure_shows_the_line_the_broken_rule_and_the_fix(zot: Zot, tmp_path: Path) -> None:
    broken = install(BROKEN / "debug_prints.py", tmp_path / "broken")
    ran = zot("ext", "check", str(broken), model=False)
    assert ran.code == 1
    told = ran.out[ran.out.index("FAIL framing-only-frames") :]
    assert "line: called with dict_keys(['text'])" in told
    assert "rule: stdout carries frames and nothing else" in told
    assert "more: zot docs rules#framing-only-frames" in told
    assert "fix:  send logs and debug output to stderr" in told


def test_tolerated_deviation_is_a_warning(zot: Zot, tmp_path: Path) -> None:
    """ext-086: an unknown level is shown as info, so that the extension still works."""
    odd = install(BROKEN / "odd_level.py", tmp_path / "odd")
    ran = zot("ext", "check", str(odd), model=False)
    assert ran.code == 0 and ", 0 failed, 1 warned, " in ran.out.splitlines()[-1]
    told = ran.out[ran.out.index("WARN notes-level") :]
    assert (
        "unknown level 'warning'" in told
        and "zot accepts it, but: a note's level is one of the four" in told
        and "fix: " in told
    )
    report = json.loads(zot("ext", "check", "--json", str(odd), "--only", "notes-level", model=False).out)
    assert report["passed"] is True
    [note] = report["checks"]
    assert note["status"] == "warn" and "fix" in note


def test_the_machine_form_has_every_check(zot: Zot, tmp_path: Path) -> None:
    broken = install(BROKEN / "numeric_ids.py", tmp_path / "broken")
    ran = zot("ext", "check", "--json", str(broken), model=False)
    report = json.loads(ran.out)
    assert (ran.code, report["passed"], report["format"], report["name"]) == (1, False, 2, "sample")
    failed = [check for check in report["checks"] if check["status"] == "fail"]
    assert report["cause"] == "answers-string-ids"
    assert [(check["id"], check["page"]) for check in failed] == [
        ("answers-string-ids", "reference/rules.md#answers-string-ids")
    ]
    assert len(report["checks"]) == len(zot("ext", "check", "--list", model=False).out.splitlines())


def test_only_limits_the_report_to_a_group_or_a_check(zot: Zot, sound: Path) -> None:
    ran = zot("ext", "check", str(sound), "--json", "--only", "tools,handshake-ready", model=False)
    assert {check["id"].partition("-")[0] for check in json.loads(ran.out)["checks"]} == {"tools", "handshake"}
    older = zot("ext", "check", str(sound), "--json", "--only", "handshake.ready", model=False)
    assert [check["id"] for check in json.loads(older.out)["checks"]] == ["handshake-ready"]


def test_only_does_not_hide_that_nothing_could_be_looked_at(zot: Zot, tmp_path: Path) -> None:
    for name, text, told in (
        ("broken", "{", "FAIL manifest-json: the JSON is incomplete"),
        ("gone", '{"name": "gone", "exec": "./gone"}', 'FAIL exec-found: exec "./gone"'),
        (
            "silent",
            '{"name": "silent", "exec": "true"}',
            "FAIL start-alive: before hello: the process ended (status 0)",
        ),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "extension.json").write_text(text)
        ran = zot("ext", "check", str(tmp_path / name), "--only", "tools", model=False)
        assert ran.code == 1 and told in ran.out, ran.out


def test_an_unknown_check_is_a_usage_error(zot: Zot, sound: Path) -> None:
    ran = zot("ext", "check", str(sound), "--only", "nonsense", model=False)
    assert (ran.code, ran.out) == (1, "")
    assert 'unknown check "nonsense"' in ran.err


def test_check_timeout_flag_scales_waits(zot: Zot, tmp_path: Path) -> None:
    silent = install(BROKEN / "silent_tool.py", tmp_path / "silent")
    ran = zot("ext", "check", str(silent), "--timeout", "3", model=False)
    assert ran.code == 1 and "tool echo: no answer within 3 s" in ran.out
    assert zot("ext", "check", str(silent), "--timeout", "soon", model=False).code == 1


def test_credentials_do_not_reach_the_extension_that_is_checked(zot: Zot, tmp_path: Path) -> None:
    """ext-020: `zot ext check` does not hand credentials to the extension it checks."""
    leaking = tmp_path / "leaking"
    leaking.mkdir()
    (leaking / "extension.json").write_text('{"name":"leaking","exec":"sh","args":["main.sh"]}')
    (leaking / "main.sh").write_text('echo "key is ${ANTHROPIC_API_KEY:-absent}, in $PWD" >&2\nexit 3\n')
    zot.environment["ANTHROPIC_API_KEY"] = "sk-very-secret"
    ran = zot("ext", "check", str(leaking), model=False)
    assert f"key is absent, in {leaking}" in ran.out
    assert "the process ended (status 3)" in ran.out


def test_check_of_extension_without_process_starts_nothing(zot: Zot, tmp_path: Path) -> None:
    """ext-098: an extension with only a theme is checked without starting anything."""
    theme = tmp_path / "dusk"
    theme.mkdir()
    (theme / "extension.json").write_text('{"name":"dusk"}')
    (theme / "theme.json").write_text("{}")
    ran = zot("ext", "check", str(theme), model=False)
    assert (ran.code, "9 passed, 0 failed" in ran.out) == (0, True)


def test_check_output_escapes_control_sequences(zot: Zot, tmp_path: Path) -> None:
    rude = tmp_path / "rude"
    rude.mkdir()
    (rude / "extension.json").write_text(
        '{"name":"rude","exec":"printf","args":["\\\\033]0;owned\\\\007\\\\033[2Jhello\\\\n"]}'
    )
    ran = zot("ext", "check", str(rude), model=False)
    assert ran.code == 1 and "hello" in ran.out
    assert "\x1b" not in ran.out


def test_every_rule_has_its_place_on_the_page(zot: Zot) -> None:
    """`python -m generate --check` compares the page with the code; this compares it with the flags."""
    names = [line.split()[0] for line in zot("ext", "check", "--list", model=False).out.splitlines()]
    page = zot("docs", "rules", model=False).out
    assert [line.removeprefix("### ") for line in page.splitlines() if line.startswith("### ")] == names
    assert len(set(names)) == len(names) > 80
    part = zot("docs", "rules#manifest-unknown-key", model=False).out
    assert part.startswith("### manifest-unknown-key\n") and "correct the spelling" in part and part.count("#") == 3
    missing = zot("docs", "rules#nope", model=False)
    assert missing.code == 1 and "rules has no part 'nope'" in missing.err


def test_lines_are_shown_with_the_spaces_they_have(zot: Zot, tmp_path: Path) -> None:
    spaced = tmp_path / "spaced"
    spaced.mkdir()
    (spaced / "extension.json").write_text('{"name":"spaced","exec":"sh","args":["main.sh"]}')
    (spaced / "main.sh").write_text('echo "two  and   three"; echo "    indented" >&2; exit 1\n')
    ran = zot("ext", "check", str(spaced), model=False)
    assert "line: two  and   three\n" in ran.out and "  |     indented\n" in ran.out


def test_trace_preserves_whitespace(zot: Zot, tmp_path: Path) -> None:
    echo = tmp_path / "echo"
    echo.mkdir()
    (echo / "extension.json").write_text(json.dumps({"name": "echo", "exec": sys.executable, "args": ["main.py"]}))
    (echo / "main.py").write_text(
        "from zot.ext import Extension, Response\next = Extension('echo')\n"
        "ext.command('say')(lambda args: Response.display(f'  {args}  !'))\next.run()\n"
    )
    ran = zot("ext", "trace", str(echo), stdin="/say one  two   three\n", model=False)
    assert '"args":"one  two   three"' in ran.out
    assert '"display":"  one  two   three  !"' in ran.out


@pytest.fixture
def second(tmp_path: Path) -> Path:
    return make(Fault("", ""), tmp_path / "second")


def test_features_words_and_modes_are_taken_away(zot: Zot, second: Path) -> None:
    """ext2-005, ext2-153, ext2-170: `--features`, `--deny` and `--modes` run it under less."""
    under = ("--features", "dialogs,progress", "--deny", "ui,dialogs", "--modes")
    ran = zot("ext", "check", str(second), *under, model=False)
    assert ran.code == 0, ran.out
    for check in ("compat-features", "compat-modes", "uses-denied"):
        assert f"PASS {check}" in ran.out


def test_an_extension_that_needs_a_feature_fails(zot: Zot, tmp_path: Path) -> None:
    """ext2-005: the features it uses are removed one by one."""
    directory = make(FAULTS["needs-dialogs"], tmp_path / "needy")
    ran = zot("ext", "check", str(directory), "--only", "compat", model=False)
    assert ran.code == 1
    assert "FAIL compat-features: without dialogs: it did not start" in ran.out
    assert zot("ext", "check", str(directory), "--only", "compat", "--features", "progress", model=False).code == 0


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--features", "dialog"), 'unknown feature "dialog"; did you mean dialogs?'),
        (("--deny", "everything"), '"everything" is no word of "uses"'),
    ],
)
def test_a_wrong_feature_or_word_is_reported(zot: Zot, second: Path, flags: tuple[str, str], reason: str) -> None:
    """ext2-170"""
    ran = zot("ext", "check", str(second), *flags, model=False)
    assert ran.code == 1
    assert reason in ran.err
