"""Published quick-start scripts of the reference run unchanged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot, zot
from zot.agent.extension_ui import ExtensionUI
from zot.agent.snapshot import ConversationSnapshot
from zot.features.extensions.commands import PromptAnswer
from zot.features.extensions.host import ExtensionHost
from zot.features.extensions.loader.extension_trust import ExtensionTrust

__all__ = ["zot"]

QUICKSTARTS = Path(__file__).parent / "quickstarts"


@pytest.mark.parametrize(
    ("script", "prompt", "ready"),
    [
        ("000", "Greet me very briefly. Add one emoji.", "assumed ready"),
        ("001", "Say hi briefly.", "ready"),
    ],
)
async def test_a_published_quick_start_installs_starts_and_prompts(
    zot: Zot, script: str, prompt: str, ready: str
) -> None:
    """ext-148: the published quick-starts install and start verbatim, and their command prompts the model."""
    assert zot("ext", "install", str(QUICKSTARTS / script / "hello-py")).code == 0
    report = zot("ext", "doctor").out
    assert f"hello-py 1.0.0 (global process): {ready}" in report
    assert "/hellopy" in report
    home = zot.home / "zot"
    host = ExtensionHost(
        home=home,
        cwd=zot.project,
        surface=ExtensionUI(),
        zot_version="0",
        present=lambda: ConversationSnapshot("p", "m", "", "", "", str(zot.project)),
        on_fault=print,
        environment=lambda: dict(os.environ),
        removed_credentials=(),
        explicit=(),
        scan=True,
        trust=ExtensionTrust(home),
    )
    try:
        await host.start()
        answer = await host.run_command("hellopy", "")
    finally:
        await host.stop()
    assert answer == PromptAnswer("hello-py", prompt)
