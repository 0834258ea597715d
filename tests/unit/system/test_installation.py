"""The command that brings a newer zot, for each way one can have come."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from zot.system.installation import DISTRIBUTION, installation


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment with zot in it, as an installer leaves it."""
    site = tmp_path / "lib/python3/site-packages"
    (site / "zot").mkdir(parents=True)
    info = site / "zot_agent-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {DISTRIBUTION}\nVersion: 0.1.0\n")
    (info / "INSTALLER").write_text("pip\n")
    return tmp_path


def record(prefix: Path, name: str) -> Path:
    return prefix / "lib/python3/site-packages/zot_agent-0.1.0.dist-info" / name


def command(prefix: Path) -> str:
    return installation(prefix / "lib/python3/site-packages/zot", prefix).command


def test_pip(prefix: Path) -> None:
    assert command(prefix) == f"{sys.executable} -m pip install --upgrade zot-agent"


def test_uv_pip(prefix: Path) -> None:
    record(prefix, "INSTALLER").write_text("uv")
    assert command(prefix) == f"uv pip install --python {sys.executable} --upgrade zot-agent"


def test_pipx_leaves_its_receipt_wherever_its_home_is(prefix: Path) -> None:
    (prefix / "pipx_metadata.json").write_text("{}")
    assert command(prefix) == "pipx upgrade zot-agent"


def test_uv_tool_is_detected(prefix: Path) -> None:
    (prefix / "uv-receipt.toml").write_text("[tool]")
    assert command(prefix) == "uv tool upgrade zot-agent"


def test_a_checkout_wins_over_the_tool_that_linked_it(prefix: Path, tmp_path: Path) -> None:
    """`pipx install --editable .`: pipx could only install the same files again."""
    (prefix / "pipx_metadata.json").write_text("{}")
    checkout = tmp_path / "my code"
    (checkout / "src/zot").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml"):
        (checkout / name).touch()
    found = installation(checkout / "src/zot", prefix)
    assert (found.how, found.command) == ("checkout", f"cd '{checkout}' && git pull && make try")


def test_a_directory_or_repository_is_named_again(prefix: Path, tmp_path: Path) -> None:
    record(prefix, "direct_url.json").write_text(json.dumps({"url": tmp_path.as_uri(), "dir_info": {}}))
    assert command(prefix).endswith(f"-m pip install --upgrade {tmp_path}")
    (tmp_path / ".git").mkdir()
    assert command(prefix) == f"git -C {tmp_path} pull && {sys.executable} -m pip install --upgrade {tmp_path}"
    git = {"url": "https://example.org/zot.git", "vcs_info": {"vcs": "git", "commit_id": "1234"}}
    record(prefix, "direct_url.json").write_text(json.dumps(git))
    assert command(prefix).endswith("-m pip install --upgrade 'zot-agent @ git+https://example.org/zot.git'")


def test_a_wheel_that_was_named_is_not_named_again(prefix: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "zot_agent-0.1.0-py3-none-any.whl"
    wheel.touch()
    record(prefix, "direct_url.json").write_text(json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    assert command(prefix).endswith("-m pip install --upgrade zot-agent")


def test_other_installers_are_named_without_a_command(prefix: Path) -> None:
    record(prefix, "INSTALLER").write_text("conda")
    found = installation(prefix / "lib/python3/site-packages/zot", prefix)
    assert (found.how, found.command) == ("conda", "") and "conda installed this zot" in found.advice


def test_unrecorded_copy_is_reported(prefix: Path) -> None:
    lonely = prefix / "unpacked/zot"
    lonely.mkdir(parents=True)
    found = installation(lonely, prefix)
    assert (found.how, found.command) == ("unknown", "") and "unknown install source" in found.advice


def test_unrelated_package_of_same_name_is_never_named(prefix: Path) -> None:
    """The public `zot` in the same environment also has records."""
    other = prefix / "lib/python3/site-packages/zot-0.1.3.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.4\nName: zot\nVersion: 0.1.3\n")
    assert command(prefix).split()[-1] == DISTRIBUTION
