"""Installing from the first screen: the runtime by a command, then the weights."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from zot.errors import ZotError
from zot.local_model.selection import InstallOffer, install


async def installed(command: str) -> list[str]:
    told: list[str] = []
    offer = InstallOffer("not-in-the-table", "a model", 1, command)
    await install(offer, notify=told.append, complain=told.append, show=told.append)
    return told


async def test_install_command_is_shown_and_gets_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0123456789")
    command = f"sh -c 'env >{tmp_path}/seen'"
    assert await installed(command) == [f"$ {command}"]
    seen = (tmp_path / "seen").read_text()
    assert f"PATH={os.environ['PATH']}" in seen and "canary" not in seen


async def test_a_command_that_fails_is_named_with_its_last_complaint() -> None:
    with pytest.raises(ZotError, match=r"^sh -c '.*': no room on the disk$"):
        await installed("sh -c 'echo begin; echo ERROR: no room on the disk; exit 3'")


async def test_missing_installer_is_named() -> None:
    with pytest.raises(ZotError, match="pipx-of-nobody is not on PATH"):
        await installed("pipx-of-nobody inject zot xllamacpp")
