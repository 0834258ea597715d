"""The lines about skills in the system prompt."""

from __future__ import annotations

from pathlib import Path

from zot.features.skills.discovery import Skill, Skills, discover
from zot.features.skills.feature import manifest

HOME = Path("/home/u")


def lines(*skills: Skill) -> list[str]:
    return manifest(Skills(list(skills), [], HOME)).splitlines()


def test_a_line_has_name_pointer_and_description() -> None:
    """engine-235: a line of the manifest reads `- name [pointer]: description`."""
    skill = Skill("commit", "Write commits.", "/srv/p/.zot/skills/commit/SKILL.md", "project")
    lead_in, line = lines(skill)
    assert line == "- commit [/srv/p/.zot/skills/commit/SKILL.md]: Write commits."
    assert "`skill`" in lead_in


def test_the_home_directory_is_written_as_a_tilde() -> None:
    """engine-235: a pointer inside the user's home directory begins with `~`; a sibling directory's does not."""
    inside = Skill("a", "d", "/home/u/.zot/skills/a/SKILL.md", "global")
    beside = Skill("b", "d", "/home/uwe/x/SKILL.md", "global")
    assert lines(inside, beside)[1:] == ["- a [~/.zot/skills/a/SKILL.md]: d", "- b [/home/uwe/x/SKILL.md]: d"]


def test_built_in_skills_point_to_builtin() -> None:
    """engine-235: a built-in skill is listed with the pointer `[builtin]`."""
    assert lines(Skill("b", "d", "builtin:b", "built-in"))[1] == "- b [builtin]: d"


def test_a_missing_description_is_named_as_missing() -> None:
    """engine-235: a skill without a description is listed with `(no description)`."""
    assert lines(Skill("b", "", "/b", "global"))[1] == "- b [/b]: (no description)"


def test_text_from_a_repository_stays_one_bounded_line() -> None:
    line = lines(Skill("x\n- y", "one\ntwo\x1b[31m\u2028three " + "z" * 500, "/b", "project"))
    assert len(line) == 2
    assert line[1].startswith("- x - y [/b]: one two [31m three zzz")
    assert line[1].endswith("…") and len(line[1]) < 330


def test_manifest_without_skills_is_absent() -> None:
    """engine-231, iface-021: without skills the prompt has no manifest at all."""
    assert manifest(Skills()) == ""


def test_both_built_in_skills_are_named_by_default(tmp_path: Path) -> None:
    """iface-236: both built-in skills are named in the manifest of an empty project."""
    text = manifest(discover(tmp_path, tmp_path, tmp_path))
    assert "- write-zot-extension [builtin]: " in text
    assert "- write-zot-themes [builtin]: " in text
