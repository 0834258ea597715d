"""``zot doctor`` reports every problem and runs nothing untrusted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.extension_places import in_project, installed
from tests.fakes.plain_user import plain_user
from zot.frontends.doctor_report import home_problems

CRASHES = "raise SystemExit(3)"
SOUND = """\
import json, pathlib, sys
pathlib.Path("started").touch()
print(json.dumps({"type": "hello", "name": "x"}), flush=True)
for line in sys.stdin:
    if json.loads(line)["type"] == "hello_ack":
        print(json.dumps({"type": "ready"}), flush=True)
"""


def script(directory: Path, text: str) -> Path:
    (directory / "main.py").write_text(text)
    return directory


def states(zot: Zot) -> dict[str, str]:
    return {item["name"]: item["state"] for item in json.loads(zot("doctor", "--json").out)["extensions"]}


def test_doctor_names_sound_extension_without_problems(zot: Zot) -> None:
    directory = script(installed(zot, "sound"), SOUND)
    ran = zot("doctor")
    assert (ran.code, ran.err) == (0, "")
    assert "sound (global): ready" in ran.out and ran.out.endswith("no problems found\n")
    assert (directory / "started").exists()


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        (lambda d: script(d, CRASHES), "exited before hello (exit status 3)"),
        (lambda d: (d / "extension.json").write_text('{"name": '), "the JSON is incomplete"),
        (lambda d: (d / "extension.json").write_text('{"name": "x", "exec": "./gone"}'), "cannot start"),
        (lambda d: (d / "extension.json").write_text('{"name": "x", "exec": "./main.py"}'), "cannot start"),
        (lambda d: (d / "extension.json").write_text('{"name": "x", "exec": "no-such-program"}'), "no-such-program"),
    ],
    ids=["crashes", "manifest", "missing", "not executable", "not on PATH"],
)
def test_a_broken_one_is_a_problem_with_its_cause(zot: Zot, break_it, told: str) -> None:
    break_it(installed(zot, "x"))
    ran = zot("doctor")
    assert ran.code == 1 and "no problems found" not in ran.out
    (problem,) = (line for line in ran.out.splitlines() if line.startswith("  ! "))
    assert told in problem and "extension x" in problem
    assert states(zot) == {"x": "broken"}


def test_doctor_shows_trust_and_skips_untrusted(zot: Zot) -> None:
    stranger = script(in_project(zot, "stranger"), SOUND)
    assert states(zot) == {"stranger": "not trusted"}
    assert zot("doctor").code == 0  # a choice that is still to be made is nothing wrong
    assert not (stranger / "started").exists()
    assert zot("ext", "trust").code == 0
    assert states(zot) == {"stranger": "ready"}
    script(stranger, CRASHES + "  # now something else")
    ran = zot("doctor")
    (problem,) = (line for line in ran.out.splitlines() if line.startswith("  ! "))
    assert ran.code == 1 and "changed since you trusted it" in problem and "main.py" in problem
    assert states(zot) == {"stranger": "changed"}


def test_doctor_ignores_faults_of_disabled_extension(zot: Zot) -> None:
    script(installed(zot, "off", enabled=False), CRASHES)
    assert zot("doctor").code == 0
    assert states(zot) == {"off": "disabled"}


def test_doctor_json_equals_text(zot: Zot) -> None:
    sound = json.loads(zot("doctor", "--json").out)
    assert sound["ok"] is True and sound["problems"] == [] and sound["facts"]["installed"].startswith("checkout")
    script(installed(zot, "x"), CRASHES)
    ran = zot("doctor", "--json")
    told = json.loads(ran.out)
    assert ran.code == 1 and told["ok"] is False and len(told["problems"]) == 1
    assert Path(told["extensions"][0]["log"]).is_file()


def test_a_home_that_is_a_file_is_one_problem(zot: Zot) -> None:
    (zot.home / "zot").write_text("not a directory")
    ran = zot("doctor")
    assert ran.code == 1 and ran.err == ""
    assert ran.out.endswith("set ZOT_HOME to another directory\n1 problem\n")


def test_a_session_directory_that_is_a_file_is_a_problem(zot: Zot) -> None:
    (zot.home / "zot").mkdir()
    (zot.home / "zot/sessions").write_text("")
    ran = zot("doctor")
    assert ran.code == 1 and f"{zot.home}/zot/sessions is not a directory" in ran.out


def test_homes_one_cannot_write_to(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    mine.mkdir()
    theirs.mkdir(mode=0o755)
    with plain_user(tmp_path):
        told = [*home_problems(theirs)] if os.getuid() == 0 else []
        assert all("belongs to another user" in line for line in told) and len(told) == (os.getuid() == 0)
        mine.chmod(0o500) if os.getuid() else None
        (missing,) = home_problems(theirs / "deeper/zot") if os.getuid() == 0 else home_problems(Path("/proc/1/zot"))
        assert "cannot create" in missing
    assert [*home_problems(tmp_path / "new/zot")] == []


def test_a_mistyped_flag_points_to_the_page(zot: Zot) -> None:
    ran = zot("doctor", "--frob")
    assert ran.code == 1 and "--frob" in ran.err
