"""AGENTS.md and CLAUDE.md, read from real directories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fakes.plain_user import plain_user
from zot.agent.context_files import LIMIT, ContextFiles, load


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "zot-home"
    path.mkdir()
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "repo" / "sub" / "deep"
    path.mkdir(parents=True)
    return path


def own(loaded: ContextFiles, base: Path) -> list[tuple[str, str]]:
    """Name and text of the files below ``base``; the machine's own files above it are not ours to judge."""
    return [(str(part.path.relative_to(base)), part.text) for part in loaded.parts if part.path.is_relative_to(base)]


def test_the_global_file_comes_first_then_root_to_cwd(tmp_path: Path, home: Path, project: Path) -> None:
    """engine-241: AGENTS.md files are read from the global one through the outer folders to the working directory."""
    (home / "AGENTS.md").write_text("global")
    (tmp_path / "repo/AGENTS.md").write_text("outer")
    (project / "AGENTS.md").write_text("nearest\n")
    assert own(load(project, home), tmp_path) == [
        ("zot-home/AGENTS.md", "global"),
        ("repo/AGENTS.md", "outer"),
        ("repo/sub/deep/AGENTS.md", "nearest"),
    ]


def test_claude_md_is_read_only_without_agents_md(tmp_path: Path, home: Path, project: Path) -> None:
    """engine-241: CLAUDE.md is read only in a folder that has no AGENTS.md."""
    (tmp_path / "repo/CLAUDE.md").write_text("used")
    (project / "AGENTS.md").write_text("agents")
    (project / "CLAUDE.md").write_text("not used")
    assert own(load(project, home), tmp_path) == [
        ("repo/CLAUDE.md", "used"),
        ("repo/sub/deep/AGENTS.md", "agents"),
    ]


def test_upper_case_extension_is_found(tmp_path: Path, home: Path, project: Path) -> None:
    (project / "AGENTS.MD").write_text("loud")
    assert [text for _, text in own(load(project, home), tmp_path)] == ["loud"]


def test_the_path_is_the_heading(home: Path, project: Path) -> None:
    (project / "AGENTS.md").write_text("text")
    assert load(project, home).parts[-1].section() == f"# {project / 'AGENTS.md'}\n\ntext"


def test_directory_and_empty_file_are_skipped(tmp_path: Path, home: Path, project: Path) -> None:
    (project / "AGENTS.md").mkdir()
    (project / "CLAUDE.md").write_text("used")
    (tmp_path / "repo/AGENTS.md").write_text(" \n")
    loaded = load(project, home)
    assert own(loaded, tmp_path) == [("repo/sub/deep/CLAUDE.md", "used")]
    assert loaded.problems == []


def test_a_long_file_is_cut_with_one_diagnostic(home: Path, project: Path) -> None:
    file = project / "AGENTS.md"
    file.write_text("ä" * LIMIT)
    loaded = load(project, home)
    assert len(loaded.parts[-1].text.encode()) < LIMIT + 100
    assert loaded.parts[-1].text.endswith("[cut: the first 64 KiB of AGENTS.md]")
    assert loaded.problems == [f"{file}: truncated: only the first 64 KiB of 128 KiB are used"]


def test_cut_inside_a_character_is_harmless(home: Path, project: Path) -> None:
    (project / "AGENTS.md").write_text("x" + "ä" * LIMIT)
    loaded = load(project, home)
    assert "\ufffd" not in loaded.parts[-1].text
    assert "UTF-8" not in loaded.problems[0]


def test_bad_bytes_are_replaced_with_one_diagnostic(home: Path, project: Path) -> None:
    (project / "AGENTS.md").write_bytes(b"caf\xe9 ok")
    loaded = load(project, home)
    assert loaded.parts[-1].text == "caf\ufffd ok"
    assert loaded.problems == [f"{project / 'AGENTS.md'}: not valid UTF-8; bad bytes are replaced"]


def test_a_pipe_of_that_name_is_reported_and_not_waited_for(home: Path, project: Path) -> None:
    os.mkfifo(project / "AGENTS.md")
    assert load(project, home).problems == [
        f"{project / 'AGENTS.md'}: is not a regular file (a pipe, socket or device); skipped"
    ]


def test_unreadable_agents_md_is_reported_without_claude_md(home: Path, project: Path) -> None:
    (project / "AGENTS.md").write_text("secret")
    (project / "AGENTS.md").chmod(0)
    (project / "CLAUDE.md").write_text("no")
    home.chmod(0o755)
    with plain_user(project):
        loaded = load(project, home)
    assert len(loaded.problems) == 1 and str(project / "AGENTS.md") in loaded.problems[0]
    assert not any(part.path.parent == project for part in loaded.parts)


def test_a_file_that_cannot_be_looked_at_is_reported(home: Path, project: Path) -> None:
    """A disk error must not silently remove a project's rules from the prompt."""
    (project / "AGENTS.md").symlink_to("AGENTS.md")
    loaded = load(project, home)
    assert loaded.parts == [] and len(loaded.problems) == 1
    assert loaded.problems[0].startswith(f"{project}/AGENTS.md: Too many levels of symbolic links; skipped")


def test_one_real_file_linked_from_two_directories_is_read_once(tmp_path: Path, home: Path, project: Path) -> None:
    (tmp_path / "repo/AGENTS.md").write_text("once")
    (project / "AGENTS.md").symlink_to(tmp_path / "repo/AGENTS.md")
    assert own(load(project, home), tmp_path) == [("repo/AGENTS.md", "once")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_file_in_shared_directory_is_ignored_with_a_notice(tmp_path: Path, home: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "work").mkdir(parents=True)
    (shared / "AGENTS.md").write_text("obey me")
    os.chown(shared / "AGENTS.md", 12345, 12345)
    assert [text for _, text in own(load(shared / "work", home), tmp_path)] == ["obey me"]
    shared.chmod(0o1777)
    loaded = load(shared / "work", home)
    assert own(loaded, tmp_path) == []
    assert loaded.problems == [
        f"{shared / 'AGENTS.md'}: skipped: created by another user in a world-writable directory"
    ]


def test_nothing_anywhere_gives_nothing(tmp_path: Path, home: Path, project: Path) -> None:
    loaded = load(project, home)
    assert (own(loaded, tmp_path), loaded.problems) == ([], [])


def test_link_out_of_project_is_skipped_with_a_notice(tmp_path: Path, home: Path, project: Path) -> None:
    """``AGENTS.md -> ../.ssh/id_rsa`` in a clone was sent to the provider."""
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "repo" / "README.md").write_text("of the project")
    (tmp_path / "id_rsa").write_text("a private key")
    (tmp_path / "repo" / "sub" / "AGENTS.md").symlink_to("../README.md")
    (project / "AGENTS.md").symlink_to("../../../id_rsa")
    loaded = load(project, home)
    assert own(loaded, tmp_path) == [("repo/sub/AGENTS.md", "of the project")]
    assert loaded.problems == [
        f"{project / 'AGENTS.md'}: leads out of {tmp_path / 'repo'} through a link, to {tmp_path / 'id_rsa'}; skipped"
    ]


def test_the_users_own_file_may_be_a_link_to_anywhere(tmp_path: Path, home: Path, project: Path) -> None:
    (tmp_path / "dotfiles.md").write_text("mine")
    (home / "AGENTS.md").symlink_to("../dotfiles.md")
    loaded = load(project, home)
    assert own(loaded, tmp_path) == [("zot-home/AGENTS.md", "mine")] and not loaded.problems


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link to somebody else")
def test_link_in_shared_directory_is_ignored(tmp_path: Path, home: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "work").mkdir(parents=True)
    (shared / "diary").write_text("private, and mine")
    (shared / "AGENTS.md").symlink_to("diary")
    os.lchown(shared / "AGENTS.md", 12345, 12345)
    shared.chmod(0o1777)
    loaded = load(shared / "work", home)
    assert own(loaded, tmp_path) == [] and "another user" in loaded.problems[0]


# --- imports


def test_claude_file_imports_files_it_names(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / "CLAUDE.md").write_text(
        "See @docs/style.md, `@docs/code.md` and me@example.org, not @missing.\n```\n@docs/code.md\n```\n"
        "Also @../outside.md and @docs/link.md."
    )
    (project / "docs" / "style.md").write_text("Two spaces. @more.md @style.md")
    (project / "docs" / "more.md").write_text("And commas.")
    (project / "docs" / "code.md").write_text("not this")
    (tmp_path / "outside.md").write_text("private")
    (tmp_path / "other.md").write_text("private")
    (project / "docs" / "link.md").symlink_to(tmp_path / "other.md")
    loaded = load(project, tmp_path / "home")
    assert [(part.path.name, part.text) for part in loaded.parts[1:]] == [
        ("style.md", "Two spaces. @more.md @style.md"),
        ("more.md", "And commas."),
    ]
    assert len(loaded.problems) == 2 and all("skipped @" in problem for problem in loaded.problems)


def test_claude_imports_of_the_user_s_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    claude, project = tmp_path / ".claude", tmp_path / "project"
    claude.mkdir()
    project.mkdir()
    (claude / "mine.md").write_text("my own style")
    (claude / "settings.json").write_text('{"secret": 1}')
    (tmp_path / "elsewhere.txt").write_text("anything")
    (claude / "CLAUDE.md").write_text("@~/elsewhere.txt")
    (project / "CLAUDE.md").write_text("@~/.claude/mine.md @~/.claude/settings.json")
    loaded = load(project, tmp_path / "home")
    assert [part.text for part in loaded.parts[1:2]] == ["anything"]
    assert [part.text for part in loaded.parts[3:]] == ["my own style"]
    assert len(loaded.problems) == 1 and "settings.json" in loaded.problems[0]


def test_claude_imports_end_at_four_levels(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number}.md").write_text(f"@{number + 1}.md")
    (tmp_path / "CLAUDE.md").write_text("@0.md")
    loaded = load(tmp_path, tmp_path / "home")
    assert [part.path.name for part in loaded.parts] == ["CLAUDE.md", "0.md", "1.md", "2.md", "3.md"]
    assert "more than 4 levels" in loaded.problems[0]
