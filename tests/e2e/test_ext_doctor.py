"""``zot ext doctor``: lists loaded and missing extensions with reasons and changes nothing."""

from __future__ import annotations

from tests.e2e.conftest import Ran, Zot
from tests.e2e.extension_places import extension, in_project, installed, untrusted


def test_ext_doctor_lists_loaded_hidden_and_missing(zot: Zot) -> None:
    """ext-134: doctor lists loaded, hidden and missing extensions with reasons, and changes nothing."""
    installed(zot, "first")
    installed(zot, "second")
    installed(zot, "off", enabled=False)
    installed(zot, "broken", exec=None)
    installed(zot, "dies", args=["-c", "import sys; sys.exit('no such luck')"])
    in_project(zot, "stranger")
    before = snapshot(zot)
    ran = zot("ext", "doctor")
    assert ran.code == 1
    first, second = section(ran, "first"), section(ran, "second")
    assert "ready" in first[0]
    assert "permissions unconfined: it runs with all your rights" in first[2]
    assert "commands    /shared" in first[3]
    assert "/shared (hidden by another)" in second[3]
    assert "bash (hidden by another)" in first[4]
    assert any("log" in line and "ext-first.log" in line for line in first)
    dead = section(ran, "dies")
    assert "not running" in dead[0]
    assert any("no such luck" in line for line in dead)
    assert "off is disabled" in ran.out
    assert 'expected "exec"' in ran.out
    assert [line.split()[0] for line in untrusted(zot)] == ["stranger"]
    assert not (zot.project / ".zot" / "extensions" / "stranger" / "started").exists()
    assert snapshot(zot) == before


def section(ran: Ran, name: str) -> list[str]:
    lines = ran.out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(f"{name} "))
    end = next((place for place, line in enumerate(lines[start + 1 :], start + 1) if line[0] != " "), len(lines))
    return [line.strip() for line in lines[start:end]]


def snapshot(zot: Zot) -> dict[str, bytes]:
    """Every file except the logs and the files written by this test's extensions."""
    files = [path for root in (zot.home, zot.project) for path in root.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files if "logs" not in path.parts and path.name != "started"}


def test_doctor_names_withheld_variables_and_never_their_values(zot: Zot) -> None:
    """ext-145: doctor names the variables that are withheld, and never their values."""
    installed(zot, "x")
    zot.environment |= {"OPENAI_API_KEY": "sk-very-secret", "ANTHROPIC_API_KEY": "sk-also-secret"}
    (zot.home / "zot" / "config.json").write_text('{"env_passthrough": ["ANTHROPIC_API_KEY"]}')
    for command in (("ext", "doctor"), ("doctor",)):
        out = zot(*command).out
        [line] = [line for line in out.splitlines() if "env_passthrough" in line]
        assert "OPENAI_API_KEY" in line
        assert "ANTHROPIC_API_KEY" not in line
        assert "secret" not in out


def test_zot_doctor_shows_extension_problems_runs_no_untrusted(zot: Zot) -> None:
    installed(zot, "broken", exec=None)
    installed(zot, "lost", exec="no-such-program-here")
    stranger = in_project(zot, "stranger")
    ran = zot("doctor")
    assert ran.code == 1
    assert 'expected "exec"' in ran.out
    assert "no-such-program-here" in ran.out
    assert "stranger, which is not trusted" in ran.out
    assert not (stranger / "started").exists()


def test_ext_doctor_names_leftovers_of_killed_install(zot: Zot) -> None:
    left_over = zot.home / "zot" / "extensions" / ".installing-12345678"
    left_over.mkdir(parents=True)
    assert str(left_over) in zot("ext", "doctor").out
    assert "no extensions found" in zot("ext", "doctor").out


def test_ext_doctor_reports_that_none_is_installed(zot: Zot) -> None:
    ran = zot("ext", "doctor")
    assert (ran.code, ran.out) == (0, "no extensions found\n")


def test_ext_doctor_with_path_or_name_reports_only_that_one(zot: Zot) -> None:
    """Every extension is loaded, because another one may be the cause; only the named one is reported."""
    installed(zot, "broken", exec=None)
    installed(zot, "other")
    installed(zot, "first")
    extension(zot.project / "mine")
    ran = zot("ext", "doctor", "./mine")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "mine - (explicit process): ready")
    assert not any(line.startswith(("first", "other", "problems")) for line in ran.out.splitlines())
    assert f"data        {zot.home / 'zot' / 'data'}" in ran.out
    ran = zot("ext", "doctor", "other")
    assert ran.out.splitlines()[0] == "other - (global process): ready"
    assert "/shared (hidden by another)" in ran.out
    assert not any(line.startswith(("first", "mine")) for line in ran.out.splitlines())
    ran = zot("ext", "doctor", "broken")
    assert (ran.code, 'expected "exec"' in ran.out) == (1, True)
    ran = zot("ext", "doctor", "./nowhere")
    assert (ran.code, "no such directory" in ran.out) == (1, True)


def test_ext_doctor_reports_missing_hello(zot: Zot) -> None:
    directory = installed(zot, "mute")
    (directory / "main.py").write_text("import sys\nsys.stdin.read()\n")
    ran = zot("ext", "doctor")
    assert ran.code == 1
    assert "sent no hello in time" in ran.out.split("problems:")[1]
    extension(zot.project / "mine")
    assert zot("ext", "doctor", "./mine").code == 0  # asked about another one
