"""Where skills are found and which of two wins; real directories throughout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from zot.features.skills.discovery import Skill, Skills, discover


class Place:
    """A project, a zot home and a user's home, all empty."""

    def __init__(self, base: Path) -> None:
        self.cwd, self.home, self.user = base / "project", base / "zot-home", base / "user"
        for path in (self.cwd, self.home, self.user):
            path.mkdir()

    def put(self, directory: Path, text: str | bytes) -> Path:
        directory.mkdir(parents=True)
        file = directory / "SKILL.md"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def discover(self) -> Skills:
        return discover(self.cwd, self.home, self.user)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def found(skills: Skills, name: str) -> Skill:
    skill = skills.find(name)
    assert skill is not None
    return skill


def test_user_project_and_built_in_skills_load_by_default(place: Place) -> None:
    """engine-231: skills of the project, of the user and of zot itself load without a flag."""
    place.put(place.cwd / ".zot/skills/mine", "---\nname: mine\ndescription: d\n---\nbody")
    place.put(place.home / "skills/everywhere", "text")
    names = [skill.name for skill in place.discover().all]
    assert names == ["everywhere", "mine", "write-zot-extension", "write-zot-themes"]


def test_each_place_has_its_label_and_the_first_of_a_name_wins(place: Place) -> None:
    """engine-232: of two skills with one name the first place wins: project before global, zot's folders before
    others'.
    """
    order = [
        (place.cwd / ".zot/skills/x", "project"),
        (place.home / "skills/x", "global"),
        (place.cwd / ".claude/skills/x", "project (claude)"),
        (place.user / ".claude/skills/x", "global (claude)"),
        (place.cwd / ".agents/skills/x", "project (agents)"),
        (place.user / ".agents/skills/x", "global (agents)"),
    ]
    files = [place.put(directory, f"body of {label}") for directory, label in order]
    for file, (_, label) in zip(files, order, strict=True):
        skill = found(place.discover(), "x")
        assert (skill.label, skill.path, skill.body()) == (label, str(file), f"body of {label}")
        file.unlink()
    assert place.discover().find("x") is None


def test_a_skill_of_the_user_beats_the_built_in_one(place: Place) -> None:
    """engine-232: a user's skill replaces the built-in one of the same name."""
    place.put(place.home / "skills/a", "---\nname: write-zot-themes\n---\nmy own")
    skills = place.discover()
    assert found(skills, "write-zot-themes").body() == "my own"
    assert len([skill for skill in skills.all if skill.name == "write-zot-themes"]) == 1


def test_a_hidden_skill_is_reported_with_both_paths(place: Place) -> None:
    winner = place.put(place.cwd / ".zot/skills/x", "a")
    loser = place.put(place.home / "skills/x", "b")
    assert place.discover().problems == [f"skill 'x': {winner} hides {loser}"]


def test_same_file_reached_twice_is_harmless(place: Place) -> None:
    place.put(place.cwd / ".zot/skills/x", "a")
    (place.cwd / ".agents").symlink_to(place.cwd / ".zot")
    skills = place.discover()
    assert skills.problems == []
    assert found(skills, "x").label == "project"


def test_skill_without_frontmatter_is_named_by_directory(place: Place) -> None:
    """engine-234: a file without frontmatter is named after its directory, and its whole text is the body."""
    place.put(place.cwd / ".zot/skills/plain", "# Just text\n")
    skill = found(place.discover(), "plain")
    assert (skill.description, skill.body()) == ("", "# Just text")


def test_the_head_gives_name_description_tools_and_permissions(place: Place) -> None:
    """engine-233: the frontmatter gives the name, a folded description, the allowed tools and the permissions."""
    head = "---\nname: other\ndescription: >\n  a\n  b\nallowed-tools: [read]\npermissions:\n  bash: [ls]\n---\nx"
    place.put(place.cwd / ".zot/skills/dir", b"\xef\xbb\xbf" + head.replace("\n", "\r\n").encode())
    skill = found(place.discover(), "other")
    assert (skill.description, skill.allowed_tools, skill.permissions) == ("a b", ("read",), {"bash": ("ls",)})
    assert skill.body() == "x"


def test_the_visible_list_hides_the_built_in_skills(place: Place) -> None:
    """engine-237: the list shown to users hides the built-in skills."""
    place.put(place.cwd / ".zot/skills/mine", "x")
    assert [skill.name for skill in place.discover().visible] == ["mine"]


def test_built_in_skills_carry_a_builtin_path_and_a_body(place: Place) -> None:
    """engine-231, iface-236: both built-in skills are found, with a `builtin:` path, a description and a body."""
    for name in ("write-zot-extension", "write-zot-themes"):
        skill = found(place.discover(), name)
        assert (skill.path, skill.label) == (f"builtin:{name}", "built-in")
        assert skill.description and skill.body().startswith("# ")


def test_no_skill_leaves_nothing() -> None:
    """engine-231, iface-021: what --no-skill makes of it"""
    assert Skills().all == []


def test_linked_skill_directory_is_followed_dangling_ignored(place: Place, tmp_path: Path) -> None:
    place.put(tmp_path / "elsewhere/linked", "x")
    (place.home / "skills").mkdir()
    (place.home / "skills/linked").symlink_to(tmp_path / "elsewhere/linked")
    (place.home / "skills/gone").symlink_to(tmp_path / "nowhere")
    skills = place.discover()
    assert skills.find("linked") is not None
    assert skills.problems == []


def test_directory_without_skill_file_and_plain_file_are_skipped(place: Place) -> None:
    (place.home / "skills/empty").mkdir(parents=True)
    (place.home / "skills/README.md").write_text("x")
    skills = place.discover()
    assert (skills.visible, skills.problems) == ([], [])


def test_bad_file_is_reported_and_hides_nothing(place: Place) -> None:
    (place.home / "skills/bad/SKILL.md").mkdir(parents=True)
    place.put(place.home / "skills/good", "x")
    skills = place.discover()
    assert [skill.name for skill in skills.visible] == ["good"]
    assert len(skills.problems) == 1 and str(place.home / "skills/bad/SKILL.md") in skills.problems[0]


def test_a_named_pipe_does_not_hang_the_start(place: Place) -> None:
    (place.home / "skills/pipe").mkdir(parents=True)
    os.mkfifo(place.home / "skills/pipe/SKILL.md")
    assert "is not a regular file" in place.discover().problems[0]


def test_bytes_that_are_not_utf8_are_replaced_and_reported(place: Place) -> None:
    place.put(place.home / "skills/latin", b"---\ndescription: caf\xe9\n---\nbody")
    skills = place.discover()
    assert found(skills, "latin").description == "caf\ufffd"
    assert "not valid UTF-8" in skills.problems[0]


def test_skill_body_is_read_on_demand(place: Place) -> None:
    file = place.put(place.home / "skills/x", "---\nname: x\n---\nold")
    skill = found(place.discover(), "x")
    file.write_text("---\nname: x\n---\nnew")
    assert skill.body() == "new"


def test_huge_skill_is_truncated_with_a_notice(place: Place) -> None:
    place.put(place.home / "skills/x", "a" * (2 << 20))
    body = found(place.discover(), "x").body()
    assert len(body) < (1 << 20) + 100
    assert body.endswith("[truncated to the first 1 MiB of this skill]")
