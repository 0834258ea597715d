"""``zot ext install`` of real directories and real git repositories: all or nothing."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.extension_places import RAW, extension, left, on_a_terminal

EXAMPLES = Path(__file__).parents[2] / "examples" / "extensions"


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


def test_install_copies_directory_with_modes_and_rejects_second(zot: Zot) -> None:
    """iface-063: a directory is copied with its file modes, as far as they are its owner's, and a second install is
    refused."""
    source = extension(zot.project / "x")
    script = source / "bin" / "run"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o750)
    assert zot("ext", "install", "./x").code == 0
    copy = zot.home / "zot" / "extensions" / "x"
    assert (copy / "bin" / "run").stat().st_mode & 0o777 == 0o700
    assert (copy / "main.py").read_text() == RAW
    (copy / "marker").touch()
    again = zot("ext", "install", "./x")
    assert again.code == 1
    assert "already exists" in again.err
    assert (copy / "marker").exists()
    assert left(zot) == ["x"]


def test_a_directory_without_a_manifest_leaves_nothing_behind(zot: Zot) -> None:
    """ext-102, iface-064: a directory without a manifest is refused, and nothing is left behind."""
    (zot.project / "x").mkdir()
    ran = zot("ext", "install", "x")
    assert ran.code == 1
    assert "no extension.json" in ran.err
    assert left(zot) == []


def test_a_manifest_that_cannot_be_used_is_rolled_back(zot: Zot) -> None:
    extension(zot.project / "x", exec=None)
    ran = zot("ext", "install", "x")
    assert ran.code == 1
    assert "nothing was installed" in ran.err
    assert left(zot) == []


def test_failed_copy_leaves_no_files(zot: Zot) -> None:
    """ext-102: a copy that fails half-way leaves nothing behind."""
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
    assert "nothing was installed" in ran.stderr
    assert left(zot) == []


@pytest.mark.parametrize("typed", [".", "./", "../x/", "../x/."])
def test_the_real_directory_name_is_used(zot: Zot, typed: str) -> None:
    """iface-065: `ext install .` uses the directory's real name."""
    source = extension(zot.project / "x")
    zot.project = source
    assert zot("ext", "install", typed).code == 0
    assert left(zot) == ["x"]


def test_a_theme_only_directory_can_be_installed(zot: Zot) -> None:
    source = extension(zot.project / "x", exec=None, args=None)
    (source / "theme.json").write_text("{}")
    assert zot("ext", "install", "x").code == 0


def test_install_copies_links_with_same_targets(zot: Zot) -> None:
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
    assert "skipped " in ran.err
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
    assert "it contains the target directory" in ran.err
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
    """ext-142, iface-305: a git URL is cloned, and a plain path is copied."""
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
def test_url_is_passed_to_git_after_two_dashes(zot: Zot, url: str, tmp_path: Path) -> None:
    """ext-142, iface-305: every form of URL is passed to git behind `--`."""
    assert git_words(zot, tmp_path, url)[:-1] == ["clone", "--depth", "1", "--quiet", "--", url]
    assert left(zot) == []


def test_a_url_that_begins_with_a_dash_is_never_an_option_of_git(zot: Zot, tmp_path: Path) -> None:
    """ext-142: a URL that begins with a dash never becomes an option of git."""
    assert zot("ext", "install", "--upload-pack=touch evil://x").code == 1
    words = git_words(zot, tmp_path, "--", "--upload-pack=x://host/tool.git")
    assert words[words.index("--") + 1] == "--upload-pack=x://host/tool.git"


def git_words(zot: Zot, tmp_path: Path, *words: str) -> list[str]:
    """Arguments recorded by a fake git."""
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
    """ext-102: a clone without a manifest is removed again."""
    source = repository(tmp_path / "repos" / "tool", manifest=False)
    ran = zot("ext", "install", f"file://{source}")
    assert ran.code == 1
    assert "nothing was installed" in ran.err
    assert left(zot) == []


def test_a_clone_that_fails_leaves_nothing_behind(zot: Zot) -> None:
    ran = zot("ext", "install", "file:///nowhere/tool.git")
    assert ran.code == 1
    assert "git cannot clone" in ran.err
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


def test_install_shows_commands_and_missing_requirements(zot: Zot) -> None:
    extension(zot.project / "x", exec="no-such-program-here")
    assert "was not found on PATH" in zot("ext", "install", "x").err
    extension(zot.project / "y")
    assert "it runs `" in zot("ext", "install", "y").err


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_an_installed_example_does_not_depend_on_the_checkout(zot: Zot, example: str) -> None:
    """Examples share one SDK through links; the copy has it in itself."""
    ran = zot("ext", "install", str(EXAMPLES / example))
    assert ran.code == 0, ran.err
    copy = zot.home / "zot" / "extensions" / example
    assert [path for path in copy.rglob("*") if path.is_symlink()] == []
    files = {path.relative_to(EXAMPLES / example) for path in (EXAMPLES / example).rglob("*")}
    assert {path.relative_to(copy) for path in copy.rglob("*")} >= files


def test_a_link_out_of_the_repository_stays_a_link(zot: Zot) -> None:
    """A foreign repository cannot make the installer copy the user's files."""
    secret = zot.project / "secret"
    secret.write_text("mine")
    (zot.project / "repository" / ".git").mkdir(parents=True)
    source = extension(zot.project / "repository" / "x")
    (zot.project / "repository" / "shared.py").write_text("ours")
    (source / "shared.py").symlink_to("../shared.py")
    (source / "stolen").symlink_to("../../secret")
    (source / "around").symlink_to("..")
    assert zot("ext", "install", str(source)).code == 0
    copy = zot.home / "zot" / "extensions" / "x"
    assert (copy / "shared.py").read_text() == "ours" and not (copy / "shared.py").is_symlink()
    assert os.readlink(copy / "stolen") == str(secret)
    assert os.readlink(copy / "around") == str(zot.project / "repository")


def test_install_runs_no_program_configured_for_git(zot: Zot) -> None:
    """Installing runs nothing, not even through git's ignore rules."""
    source = repository(zot.project / "x")
    (source / ".gitignore").write_text("*.txt\n")
    (source / "notes.txt").write_text("mine")
    program = zot.project / "program"
    program.write_text(f"#!/bin/sh\ntouch {zot.project}/ran\n")
    program.chmod(0o755)
    git("config", "core.fsmonitor", str(program), cwd=source)
    ran = zot("ext", "install", "x")
    assert (ran.code, "ignored by git: notes.txt" in ran.err) == (0, True)
    assert not (zot.project / "ran").exists()


def test_install_leaves_out_development_files(zot: Zot) -> None:
    """issue 29.22: tests, caches and editor files stay behind with one line; what the program needs is copied."""
    source = extension(zot.project / "x")
    for name in ("tests/test_x.py", ".github/ci.yml", ".vscode/settings.json", ".mypy_cache/a", "lib/tests/data.txt"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("x")
    for name in (".env", ".env.local", "lib/a.pyc"):
        (source / name).write_text("x")
    (source / ".venv" / "lib").mkdir(parents=True)
    (source / ".venv" / "lib" / "needed.py").write_text("x")
    main = source / "main.py"
    main.write_text(f"{main.read_text()}\n# tests os.environ, runs .venv/lib/needed.py\n")
    ran = zot("ext", "install", "x")
    assert ran.code == 0, ran.err
    assert "left out development files: .env, .env.local, .github, .mypy_cache, .vscode, tests\n" in ran.err
    installed = zot.home / "zot" / "extensions" / "x"
    copied = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}
    assert copied >= {".venv/lib/needed.py", "lib/tests/data.txt", "main.py"}
    assert not [name for name in copied if name.startswith((".env", ".github", "tests/")) or name.endswith(".pyc")]
