"""Other programs: the user's own editor, the clipboard's."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.unit.frontends.terminal.editor.keyboard import Desk, Keyboard
from zot.errors import ZotError
from zot.frontends.terminal.editor.editor import editor_command, open_external_editor

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def program(directory: Path, name: str, body: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


async def test_the_draft_is_edited_outside_and_its_chips_survive(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = program(tmp_path, "ed", 'sed -i "s/draft/better/" "$2"; ls -l "$2" > "$1"')
    monkeypatch.setenv("VISUAL", f"{script} {tmp_path}/listing")
    board = Keyboard().type("draft ").paste("x" * 2000)
    await open_external_editor(board.editor)
    assert board.text == "better [pasted text #1 2000 chars]"
    assert (tmp_path / "listing").read_text().startswith("-rw-------")
    assert list((home / "drafts").iterdir()) == []
    assert board.send() == "better " + "x" * 2000


async def test_an_editor_that_fails_leaves_the_draft(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(program(tmp_path, "ed", 'echo gone > "$1"; exit 3')))
    board = Keyboard().type("draft")
    with pytest.raises(ZotError, match="exited with 3"):
        await open_external_editor(board.editor)
    assert board.text == "draft"


def test_visual_comes_before_editor_and_a_missing_one_is_named() -> None:
    assert editor_command({"VISUAL": "/bin/a -w", "EDITOR": "/bin/b"}) == ["/bin/a", "-w"]
    assert editor_command({"VISUAL": "", "EDITOR": "/bin/b"}) == ["/bin/b"]
    with pytest.raises(ZotError, match=r"\$EDITOR: nothing-like-this"):
        editor_command({"EDITOR": "nothing-like-this"})
    with pytest.raises(ZotError, match=r"cannot parse \$EDITOR"):
        editor_command({"EDITOR": "'open"})


@pytest.mark.parametrize(("tool", "display"), [("wl-paste", "WAYLAND_DISPLAY"), ("xclip", "DISPLAY")])
async def test_an_image_of_the_clipboard_is_attached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, display: str
) -> None:
    (tmp_path / "picture").write_bytes(PNG)
    program(tmp_path / "bin", tool, f'case "$*" in *image/png*) cat {tmp_path}/picture;; *) exit 1;; esac')
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv(display, ":0")
    ui = Desk()
    board = Keyboard(ui).type("what is ").press("ctrl+v")
    await ui.settle()
    assert board.text == "what is [image #1]"
    board.press("enter")
    assert board.sent[0].text == "what is [image #1]"
    assert [(image.mime_type, image.data) for image in board.sent[0].images] == [("image/png", PNG)]


async def test_clipboard_without_image_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin", "xclip", "echo text")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    ui = Desk()
    Keyboard(ui).press("ctrl+v")
    (result,) = await asyncio.gather(*ui.tasks, return_exceptions=True)
    assert isinstance(result, ZotError) and "no image" in str(result)


async def test_missing_program_message_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("DISPLAY", raising=False)
    ui = Desk()
    Keyboard(ui).press("ctrl+v")
    (result,) = await asyncio.gather(*ui.tasks, return_exceptions=True)
    assert isinstance(result, ZotError) and "install" in str(result)
