"""Text and pictures that zot itself opens for the model, in a jail: links that stay in the repository but
leave the jail's root, which is a directory of it, are refused by name, at every door."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from zot.agent import context_files
from zot.core.tool import ToolContext
from zot.errors import ZotError
from zot.features.skills.discovery import discover
from zot.features.skills.feature import SkillTool
from zot.frontends.terminal.editor.chips import Chip, ChipMaker
from zot.frontends.terminal.editor.submission import image_file, submission
from zot.system.jail.jailed_files import JailedFiles
from zot.system.jail.policy import policy_for

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(40)
JAILED = "jailed: {} is outside {}; only the user can allow that: /unjail"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory of a repository, with the rest of the repository outside."""
    root = tmp_path / "repository" / "part"
    (root / ".zot" / "skills" / "near").mkdir(parents=True)
    (root.parent / ".git").mkdir()
    (root.parent / "secret.md").write_text("---\nname: far\ndescription: s3cr3t\n---\ns3cr3t")
    (root.parent / "secret.png").write_bytes(PICTURE)
    (root / ".zot" / "skills" / "near" / "SKILL.md").write_text("---\nname: near\ndescription: of ours\n---\nbody")
    return root


@pytest.fixture
def beneath(root: Path, tmp_path: Path) -> Iterator[JailedFiles]:
    made = JailedFiles(policy_for(root, home=str(tmp_path / "home")))
    yield made
    made.close()


def test_a_context_file(root: Path, tmp_path: Path, beneath: JailedFiles) -> None:
    (root / "AGENTS.md").symlink_to("../secret.md")
    (root.parent / "AGENTS.md").write_text("of the user")
    loaded = context_files.load(root, tmp_path / "zot", beneath)
    assert [part.text for part in loaded.parts] == ["of the user"]
    path, target = root / "AGENTS.md", root.parent / "secret.md"
    assert loaded.problems == [f"{path}: {JAILED.format(target, root)}; skipped"]
    assert len(context_files.load(root, tmp_path / "zot").parts) == 2


def test_the_head_of_a_skill(root: Path, tmp_path: Path, beneath: JailedFiles) -> None:
    far = root / ".zot" / "skills" / "far"
    far.symlink_to("../../../away")
    (root.parent / "away").mkdir()
    (root.parent / "away" / "SKILL.md").symlink_to("../secret.md")
    found = discover(root, tmp_path / "zot", tmp_path / "home", (), beneath)
    assert [skill.name for skill in found.visible] == ["near"]
    assert found.problems == [f"skill {far / 'SKILL.md'}: {JAILED.format(root.parent / 'secret.md', root)}"]


async def test_a_skill_that_became_a_link_since(root: Path, tmp_path: Path, beneath: JailedFiles) -> None:
    found = discover(root, tmp_path / "zot", tmp_path / "home")
    tool = SkillTool(found, lambda: beneath)
    context = ToolContext("1", lambda text: None)
    assert "body" in str((await tool.execute({"name": "near"}, context)).content)
    path = root / ".zot" / "skills" / "near" / "SKILL.md"
    path.unlink()
    path.symlink_to("../../../../secret.md")
    result = await tool.execute({"name": "near"}, context)
    assert result.is_error and "s3cr3t" not in str(result.content) and "jailed: " in str(result.content)


@pytest.mark.parametrize("relative", ["link.md", "../secret.md"])
def test_an_attached_file(root: Path, beneath: JailedFiles, relative: str) -> None:
    (root / "link.md").symlink_to("../secret.md")
    (root / "notes.md").write_text("my notes")
    chips = ChipMaker()
    with pytest.raises(ZotError, match=r"cannot attach .*: jailed: .*/unjail"):
        submission(["x", chips.content(root, relative)], beneath)
    sent = submission(["x", chips.content(root, "notes.md")], beneath)
    assert sent is not None and "my notes" in sent.text


def test_a_picture(root: Path, beneath: JailedFiles) -> None:
    (root / "link.png").symlink_to("../secret.png")
    (root / "own.png").write_bytes(PICTURE)
    assert image_file(str(root / "own.png"), beneath) is not None
    for path in (root / "link.png", root.parent / "secret.png"):
        assert image_file(str(path)) is not None
        with pytest.raises(ZotError, match=r"jailed: .*/unjail"):
            image_file(str(path), beneath)
    assert image_file(str(root.parent / "secret.md"), beneath) is None  # any word of a paste may be a path


def test_a_path_picked_with_at_is_a_name_and_opens_nothing(root: Path) -> None:
    chip = ChipMaker().picked(root, "../secret.md")
    assert isinstance(chip, Chip) and chip.content is None and chip.images == ()


def test_opening_costs_next_to_nothing(root: Path, beneath: JailedFiles) -> None:
    """At most 50 µs more than a plain opening, best of many; measured at about 10."""

    def best(opened) -> float:
        times: list[float] = []
        for _ in range(300):
            started = time.perf_counter()
            os.close(opened())
            times.append(time.perf_counter() - started)
        return min(times)

    path = root / ".zot" / "skills" / "near" / "SKILL.md"
    assert best(lambda: beneath.open(path)) < best(lambda: os.open(path, os.O_RDONLY)) + 50e-6
