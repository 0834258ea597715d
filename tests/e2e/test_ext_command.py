"""``zot ext …`` as a user types it, on real files, real git repositories and real children."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Ran, Zot

RAW = """\
import json, pathlib, sys
pathlib.Path("started").touch()
print(json.dumps({"type": "hello", "name": "x"}), flush=True)
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello_ack":
        print(json.dumps({"type": "register_command", "name": "shared"}))
        print(json.dumps({"type": "register_tool", "name": "bash", "schema": {"type": "object"}}))
        print(json.dumps({"type": "ready"}), flush=True)
    if frame["type"] == "shutdown":
        break
"""


def extension(directory: Path, /, **fields: Any) -> Path:
    directory.mkdir(parents=True)
    (directory / "main.py").write_text(RAW)
    manifest = {"name": directory.name, "exec": sys.executable, "args": ["main.py"], **fields}
    (directory / "extension.json").write_text(json.dumps({k: v for k, v in manifest.items() if v is not None}))
    return directory


def installed(zot: Zot, folder: str, /, **fields: Any) -> Path:
    return extension(zot.home / "zot" / "extensions" / folder, **fields)


def in_project(zot: Zot, folder: str, /, **fields: Any) -> Path:
    return extension(zot.project / ".zot" / "extensions" / folder, **fields)


def left(zot: Zot) -> list[str]:
    """What lies in the user's extensions."""
    place = zot.home / "zot" / "extensions"
    return sorted(os.listdir(place)) if place.exists() else []


def git(*words: str, cwd: Path) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *words], cwd=cwd, check=True, capture_output=True)


def repository(directory: Path, *, manifest: bool = True) -> Path:
    if manifest:
        extension(directory)
    else:
        directory.mkdir(parents=True)
        (directory / "README").write_text("no extension")
    git("init", "-q", cwd=directory)
    git("add", ".", cwd=directory)
    git("commit", "-q", "-m", "first", cwd=directory)
    return directory


# --- help


@pytest.mark.parametrize("words", [(), ("help",), ("-h",), ("--help",), ("install", "--help")])
def test_help_goes_to_stderr_and_succeeds(zot: Zot, words: tuple[str, ...]) -> None:
    """iface-061"""
    ran = zot("ext", *words)
    assert (ran.code, ran.out) == (0, "")
    for verb in ("list", "install", "remove", "enable", "logs", "trust", "doctor", "new", "check", "trace", "replay"):
        assert verb in ran.err


def test_an_unknown_verb_shows_the_help_and_fails(zot: Zot) -> None:
    """iface-061"""
    ran = zot("ext", "foo")
    assert ran.code == 1
    assert "Usage: zot ext" in ran.err
    assert ran.err.endswith('zot: unknown command "zot ext foo"\n')


def test_the_main_help_names_installing_and_the_flag(zot: Zot) -> None:
    """iface-312"""
    out = zot("--help").out
    assert "zot ext install" in out
    assert "--ext PATH" in out


# --- list


def test_nothing_installed_is_a_hint_on_stderr(zot: Zot) -> None:
    """iface-062"""
    ran = zot("ext", "list")
    assert (ran.code, ran.out) == (0, "")
    assert "zot ext install" in ran.err


def test_the_list_has_all_columns_project_first_and_starts_nothing(zot: Zot) -> None:
    """ext-136 iface-304"""
    directory = installed(zot, "b", version="1.2", description="does b", language="python")
    installed(zot, "a", enabled=False)
    in_project(zot, "z")
    installed(zot, "broken", name=None)
    ran = zot("ext", "list")
    header, *rows = [line.split() for line in ran.out.splitlines()]
    assert header == ["SCOPE", "NAME", "VERSION", "ENABLED", "LANGUAGE", "DESCRIPTION", "KIND", "DIR"]
    assert [row[:2] for row in rows] == [["project", "z"], ["global", "a"], ["global", "b"]]
    assert rows[0][2:7] == ["-", "yes", "-", "-", "process"]
    assert rows[1][3] == "no"
    assert rows[2][2:] == ["1.2", "yes", "python", "does", "b", "process", str(directory)]
    assert not (directory / "started").exists()


def test_kinds_tell_themes_and_processes_apart(zot: Zot) -> None:
    theme = installed(zot, "theme", exec=None, args=None)
    (theme / "theme.json").write_text("{}")
    both = installed(zot, "zboth")
    (both / "theme.json").write_text("{}")
    assert [line.split()[6] for line in zot("ext", "list").out.splitlines()[1:]] == ["theme", "process+theme"]


def test_on_a_terminal_a_long_description_is_cut_between_wide_characters(zot: Zot) -> None:
    installed(zot, "x", description="日本語の説明がここにありますしかもとても長いですよ\x1b[2J")
    out = on_a_terminal(zot, "ext", "list")
    assert "日本語の説明がここにあります…  process" in out
    assert "\x1b[2J" not in out


def on_a_terminal(zot: Zot, *words: str, stream: str = "stdout") -> str:
    """What the program writes to a stream that is a terminal."""
    import pty

    primary, secondary = pty.openpty()
    try:
        done = subprocess.Popen(zot.argv(words), cwd=zot.project, env=zot.env(), **{stream: secondary})
        os.close(secondary)
        output = b""
        while chunk := _read_terminal(primary):
            output += chunk
        assert done.wait(30) == 0
        return output.decode()
    finally:
        os.close(primary)


def _read_terminal(primary: int) -> bytes:
    try:
        return os.read(primary, 4096)
    except OSError:
        return b""


# --- install


def test_a_directory_is_copied_with_its_modes_and_a_second_time_refused(zot: Zot) -> None:
    """iface-063"""
    source = extension(zot.project / "x")
    script = source / "bin" / "run"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o750)
    assert zot("ext", "install", "./x").code == 0
    copy = zot.home / "zot" / "extensions" / "x"
    assert (copy / "bin" / "run").stat().st_mode & 0o777 == 0o750
    assert (copy / "main.py").read_text() == RAW
    (copy / "marker").touch()
    again = zot("ext", "install", "./x")
    assert again.code == 1
    assert "already exists" in again.err
    assert (copy / "marker").exists()
    assert left(zot) == ["x"]


def test_a_directory_without_a_manifest_leaves_nothing_behind(zot: Zot) -> None:
    """ext-102 iface-064"""
    (zot.project / "x").mkdir()
    ran = zot("ext", "install", "x")
    assert ran.code == 1
    assert "no extension.json" in ran.err
    assert left(zot) == []


def test_a_manifest_that_cannot_be_used_is_rolled_back(zot: Zot) -> None:
    extension(zot.project / "x", exec=None)
    ran = zot("ext", "install", "x")
    assert ran.code == 1
    assert "rolled back" in ran.err
    assert left(zot) == []


def test_a_copy_that_breaks_half_way_leaves_nothing_behind(zot: Zot) -> None:
    """ext-102"""
    source = extension(zot.project / "x")
    (source / "big").write_bytes(b"x" * 3_000_000)
    limited = [
        "sh",
        "-c",
        'ulimit -f 2000; exec "$@"',
        "sh",
        *zot.argv(["ext", "install", "x"]),
    ]  # files up to 1 or 2 MB
    ran = subprocess.run(limited, cwd=zot.project, env=zot.env(), capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert "rolled back" in ran.stderr
    assert left(zot) == []


@pytest.mark.parametrize("typed", [".", "./", "../x/", "../x/."])
def test_the_real_directory_name_is_used(zot: Zot, typed: str) -> None:
    """iface-065"""
    source = extension(zot.project / "x")
    zot.project = source
    assert zot("ext", "install", typed).code == 0
    assert left(zot) == ["x"]


def test_a_theme_only_directory_can_be_installed(zot: Zot) -> None:
    source = extension(zot.project / "x", exec=None, args=None)
    (source / "theme.json").write_text("{}")
    assert zot("ext", "install", "x").code == 0


def test_links_are_copied_as_links_that_still_lead_to_the_same_thing(zot: Zot) -> None:
    source = extension(zot.project / "x")
    (zot.project / "outside.txt").write_text("outside")
    (source / "inside").symlink_to("main.py")
    (source / "absolute").symlink_to(source / "main.py")
    (source / "out").symlink_to("../outside.txt")
    (source / "loop").symlink_to(".")
    (source / "dangling").symlink_to("nowhere")
    os.mkfifo(source / "pipe")
    ran = zot("ext", "install", "x")
    assert ran.code == 0
    assert "left out" in ran.err
    copy = zot.home / "zot" / "extensions" / "x"
    links = {name: os.readlink(copy / name) for name in ("inside", "absolute", "out", "loop", "dangling")}
    assert links == {
        "inside": "main.py",
        "absolute": "main.py",
        "out": str(zot.project / "outside.txt"),
        "loop": ".",
        "dangling": "nowhere",
    }
    assert not os.path.lexists(copy / "pipe")


def test_a_directory_that_contains_the_destination_is_refused(zot: Zot) -> None:
    (zot.home / "extension.json").write_text('{"name":"x","exec":"sh"}')
    ran = zot("ext", "install", str(zot.home))
    assert ran.code == 1
    assert "contains the place" in ran.err
    assert left(zot) == []


def test_a_big_copy_counts_on_a_terminal(zot: Zot) -> None:
    source = extension(zot.project / "x")
    for number in range(450):
        (source / f"{number}.txt").write_text("x")
    shown = on_a_terminal(zot, "ext", "install", "x", stream="stderr")
    assert "copying" in shown
    assert "400 files" in shown
    assert "452 files" in shown


@pytest.mark.parametrize("form", ["file://{}", "{}.git"])
def test_a_git_url_is_cloned_and_a_plain_path_copied(zot: Zot, form: str, tmp_path: Path) -> None:
    """ext-142 iface-305"""
    source = repository(tmp_path / "repos" / "tool")
    if form.endswith(".git"):
        source.rename(tmp_path / "repos" / "tool.git")
    ran = zot("ext", "install", form.format(source))
    assert ran.code == 0, ran.err
    assert "cloning" in ran.err
    assert left(zot) == ["tool"]
    assert (zot.home / "zot" / "extensions" / "tool" / ".git").is_dir()
    assert "already exists" in zot("ext", "install", form.format(source)).err


@pytest.mark.parametrize("url", ["ssh://host/a/tool.git", "http://host/tool", "git@host:a/tool.git", "tool.git"])
def test_every_form_of_a_url_goes_to_git_behind_two_dashes(zot: Zot, url: str, tmp_path: Path) -> None:
    """ext-142 iface-305"""
    assert git_words(zot, tmp_path, url)[:-1] == ["clone", "--depth", "1", "--quiet", "--", url]
    assert left(zot) == []


def test_a_url_that_begins_with_a_dash_is_never_an_option_of_git(zot: Zot, tmp_path: Path) -> None:
    """ext-142"""
    assert zot("ext", "install", "--upload-pack=touch evil://x").code == 1
    words = git_words(zot, tmp_path, "--", "--upload-pack=x://host/tool.git")
    assert words[words.index("--") + 1] == "--upload-pack=x://host/tool.git"


def git_words(zot: Zot, tmp_path: Path, *words: str) -> list[str]:
    """What a git that only writes down its arguments was told."""
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\nexit 1\n')
    fake.chmod(0o755)
    zot.environment["PATH"] = f"{fake.parent}:{os.environ['PATH']}"
    ran = zot("ext", "install", *words)
    assert ran.code == 1
    assert "nothing was installed" in ran.err
    return (tmp_path / "words").read_text().splitlines()


def test_a_clone_without_a_manifest_is_rolled_back(zot: Zot, tmp_path: Path) -> None:
    """ext-102"""
    source = repository(tmp_path / "repos" / "tool", manifest=False)
    ran = zot("ext", "install", f"file://{source}")
    assert ran.code == 1
    assert "rolled back" in ran.err
    assert left(zot) == []


def test_a_clone_that_fails_leaves_nothing_behind(zot: Zot) -> None:
    ran = zot("ext", "install", "file:///nowhere/tool.git")
    assert ran.code == 1
    assert "could not clone" in ran.err
    assert left(zot) == []


def test_an_install_ended_by_a_signal_leaves_nothing_behind(zot: Zot, tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\nfor last; do :; done\nmkdir -p "$last"; echo ready >&2; exec sleep 60\n')
    fake.chmod(0o755)
    zot.environment["PATH"] = f"{fake.parent}:{os.environ['PATH']}"
    running = zot.start("ext", "install", "file:///x/tool", stderr=subprocess.PIPE)
    assert running.stderr is not None
    while running.stderr.readline() != b"ready\n":
        pass
    running.send_signal(signal.SIGTERM)
    assert running.wait(20) == 143
    assert left(zot) == []


def test_installing_says_what_will_run_and_what_is_missing(zot: Zot) -> None:
    extension(zot.project / "x", exec="no-such-program-here")
    assert "was not found on PATH" in zot("ext", "install", "x").err
    extension(zot.project / "y")
    assert "it runs `" in zot("ext", "install", "y").err


# --- remove, enable, disable


def test_without_a_yes_nothing_is_removed(zot: Zot) -> None:
    """ext-104 iface-067"""
    directory = installed(zot, "x")
    for answer in ("", "n\n", "yes\n", "\n"):
        ran = zot("ext", "remove", "x", stdin=answer)
        assert ran.code == 0
        assert "[y/N]" in ran.err
        assert "aborted" in ran.err
    assert directory.is_dir()


@pytest.mark.parametrize("answer", ["y\n", "Y\n"])
def test_a_yes_removes_the_directory_and_keeps_the_log(zot: Zot, answer: str) -> None:
    """iface-067"""
    installed(zot, "x")
    log = zot.home / "zot" / "logs" / "ext-x.log"
    log.parent.mkdir()
    log.write_text("kept")
    assert zot("ext", "rm", "x", stdin=answer).code == 0
    assert left(zot) == []
    assert log.exists()


def test_the_flag_asks_nothing(zot: Zot) -> None:
    """iface-067"""
    installed(zot, "folder", name="manifest-name")
    assert zot("ext", "remove", "manifest-name", "--yes").code == 0
    installed(zot, "folder", name="manifest-name")
    assert zot("ext", "remove", "folder", "-y").code == 0
    assert left(zot) == []


def test_of_a_linked_extension_only_the_link_goes(zot: Zot) -> None:
    target = extension(zot.project / "real")
    place = zot.home / "zot" / "extensions"
    place.mkdir(parents=True)
    (place / "real").symlink_to(target)
    assert zot("ext", "remove", "real", "-y").code == 0
    assert (target / "main.py").exists()


@pytest.mark.parametrize("verb", ["remove", "enable", "disable", "logs"])
@pytest.mark.parametrize("name", ["../x", "a/b", "..", "."])
def test_names_that_lead_elsewhere_are_refused(zot: Zot, verb: str, name: str) -> None:
    """iface-068"""
    directory = extension(zot.home / "zot" / "x")
    ran = zot("ext", verb, name)
    assert ran.code == 1
    assert "not the name of an extension" in ran.err
    assert directory.is_dir()


def test_a_name_that_means_two_lists_both_and_changes_nothing(zot: Zot) -> None:
    """ext-135"""
    first = installed(zot, "a", name="x")
    second = in_project(zot, "x", name="other")
    before = (first / "extension.json").read_bytes()
    for words in (("remove", "x", "--yes"), ("disable", "x")):
        ran = zot("ext", *words)
        assert ran.code == 1
        assert str(first) in ran.err
        assert str(second) in ran.err
    assert (first / "extension.json").read_bytes() == before
    assert second.is_dir()


def test_an_unknown_name_is_an_error(zot: Zot) -> None:
    for verb in ("remove", "enable", "disable"):
        assert "no extension named" in zot("ext", verb, "nothing").err


def test_disable_and_enable_keep_every_other_key(zot: Zot) -> None:
    """ext-103 iface-066"""
    directory = installed(zot, "x", custom={"deep": [1, 1234567890123456789, 1.50, "ü"]}, description="d")
    path = directory / "extension.json"
    before = json.loads(path.read_text())
    ran = zot("ext", "disable", "x")
    assert (ran.code, ran.out) == (0, "")
    assert json.loads(path.read_text()) == {**before, "enabled": False}
    assert path.read_text().endswith("}\n")
    assert '\n  "custom": {\n    "deep"' in path.read_text()
    assert zot("ext", "enable", "x").code == 0
    assert json.loads(path.read_text()) == {**before, "enabled": True}


def test_switching_a_trusted_project_extension_keeps_its_trust(zot: Zot) -> None:
    in_project(zot, "x")
    zot("ext", "trust")
    zot("ext", "disable", "x")
    zot("ext", "enable", "x")
    assert "not trusted" not in zot("ext", "doctor").out


# --- logs


def test_the_log_is_printed_byte_for_byte(zot: Zot) -> None:
    """iface-069"""
    log = zot.home / "zot" / "logs" / "ext-x.log"
    log.parent.mkdir(parents=True)
    log.write_text("one\n\x1b[2Jtwo\n")
    assert zot("ext", "logs", "x").out == "one\n\x1b[2Jtwo\n"


def test_a_missing_log_is_an_error(zot: Zot) -> None:
    """iface-069"""
    ran = zot("ext", "logs", "x")
    assert ran.code == 1
    assert "ext-x.log" in ran.err


@pytest.mark.parametrize("flag", ["-f", "--follow"])
def test_following_prints_new_lines_across_rotation_until_interrupted(zot: Zot, flag: str) -> None:
    """iface-311"""
    log = zot.home / "zot" / "logs" / "ext-x.log"
    log.parent.mkdir(parents=True)
    log.write_text("one\n")
    running = zot.start("ext", "logs", "x", flag)
    assert running.stdout is not None
    assert running.stdout.readline() == b"one\n"
    with log.open("a") as file:
        file.write("two\n")
    assert running.stdout.readline() == b"two\n"
    with log.open("a") as file:
        file.write("three\n")
    shutil.copy(log, log.with_name("ext-x.log.1"))
    log.write_text("four\n")
    assert [running.stdout.readline() for _ in range(2)] == [b"three\n", b"four\n"]
    with log.open("a") as file:
        file.write("five\n")
    assert running.stdout.readline() == b"five\n"
    running.send_signal(signal.SIGINT)
    assert running.wait(20) == 130
    assert running.stdout.read() == b""


# --- trust


def test_trust_and_untrust_act_on_the_current_project_and_name_each_entry(zot: Zot) -> None:
    """iface-306"""
    directory = in_project(zot, "x")
    ran = zot("ext", "trust")
    assert ran.code == 0
    assert f"trusted x: runs `{sys.executable} main.py`" in ran.err
    assert str(directory) in ran.err
    ran = zot("ext", "untrust")
    assert ran.code == 0
    assert "no longer trusted x" in ran.err
    assert not (directory / "started").exists()


def test_trust_and_untrust_act_on_a_named_directory(zot: Zot, tmp_path: Path) -> None:
    """iface-306"""
    one, two = in_project(zot, "one"), in_project(zot, "two")
    assert zot("ext", "trust", str(one)).code == 0
    assert [line.split()[0] for line in untrusted(zot)] == ["two"]
    project, zot.project = zot.project, tmp_path
    assert zot("ext", "trust", str(project)).code == 0
    zot.project = project
    assert untrusted(zot) == []
    assert zot("ext", "untrust", str(two)).code == 0
    assert [line.split()[0] for line in untrusted(zot)] == ["two"]


def untrusted(zot: Zot) -> list[str]:
    lines = zot("ext", "doctor").out.splitlines()
    if "not trusted, not started:" not in lines:
        return []
    start = lines.index("not trusted, not started:") + 1
    return [line.strip() for line in lines[start:] if line.startswith("  ") and "runs `" in line]


def test_nothing_to_trust_is_an_error(zot: Zot) -> None:
    """iface-306"""
    for verb in ("trust", "untrust"):
        ran = zot("ext", verb)
        assert ran.code == 1
        assert str(zot.project) in ran.err


def test_a_directory_that_is_gone_can_be_forgotten(zot: Zot) -> None:
    directory = in_project(zot, "x")
    zot("ext", "trust")
    shutil.rmtree(directory)
    assert "no longer trusted x" in zot("ext", "untrust").err


# --- doctor


def test_doctor_tells_what_loaded_what_is_hidden_and_why_something_is_missing(zot: Zot) -> None:
    """ext-134"""
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
    assert "commands    /shared" in first[2]
    assert "/shared (hidden by another)" in second[2]
    assert "bash (hidden by another)" in first[3]
    assert any("log" in line and "ext-first.log" in line for line in first)
    dead = section(ran, "dies")
    assert "not running" in dead[0]
    assert any("no such luck" in line for line in dead)
    assert "off is disabled" in ran.out
    assert '"exec" is missing' in ran.out
    assert [line.split()[0] for line in untrusted(zot)] == ["stranger"]
    assert not (zot.project / ".zot" / "extensions" / "stranger" / "started").exists()
    assert snapshot(zot) == before


def section(ran: Ran, name: str) -> list[str]:
    lines = ran.out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(f"{name} "))
    end = next((place for place, line in enumerate(lines[start + 1 :], start + 1) if line[0] != " "), len(lines))
    return [line.strip() for line in lines[start:end]]


def snapshot(zot: Zot) -> dict[str, bytes]:
    """Every file but the logs and what the extensions of this test write themselves."""
    files = [path for root in (zot.home, zot.project) for path in root.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files if "logs" not in path.parts and path.name != "started"}


def test_doctor_names_withheld_variables_and_never_their_values(zot: Zot) -> None:
    """ext-145"""
    installed(zot, "x")
    zot.environment |= {"OPENAI_API_KEY": "sk-very-secret", "ANTHROPIC_API_KEY": "sk-also-secret"}
    (zot.home / "zot" / "config.json").write_text('{"env_passthrough": ["ANTHROPIC_API_KEY"]}')
    for command in (("ext", "doctor"), ("doctor",)):
        out = zot(*command).out
        [line] = [line for line in out.splitlines() if "env_passthrough" in line]
        assert "OPENAI_API_KEY" in line
        assert "ANTHROPIC_API_KEY" not in line
        assert "secret" not in out


def test_doctor_of_zot_shows_extension_problems_without_starting_any(zot: Zot) -> None:
    directory = installed(zot, "x")
    installed(zot, "broken", exec=None)
    installed(zot, "lost", exec="no-such-program-here")
    in_project(zot, "stranger")
    ran = zot("doctor")
    assert ran.code == 1
    assert '"exec" is missing' in ran.out
    assert "no-such-program-here" in ran.out
    assert "stranger is not trusted" in ran.out
    assert not (directory / "started").exists()


def test_doctor_names_what_a_killed_install_left_behind(zot: Zot) -> None:
    left_over = zot.home / "zot" / "extensions" / ".installing-12345678"
    left_over.mkdir(parents=True)
    assert str(left_over) in zot("ext", "doctor").out
    assert "no extensions found" in zot("ext", "doctor").out


def test_doctor_with_nothing_installed_says_so(zot: Zot) -> None:
    ran = zot("ext", "doctor")
    assert (ran.code, ran.out) == (0, "no extensions found\n")
