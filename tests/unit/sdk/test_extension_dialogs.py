"""Extensions of the second edition and a program: its function answers their questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fakes.extensions import write_extension
from zot.sdk import Runtime
from zot.wire.rpc_frames import ExtDialog

ASKING = """
hello("edition2"); tool("ask"); ready()
call = []
def run(f):
    call.append(f["id"])
    send(type="request", id="1", method="ui.ask", parent_id=f["id"],
         params={"kind": "select", "title": "Where?", "options": [{"value": "a"}, {"value": "b"}]})
def answered(f):
    text(call[0], json.dumps(f.get("result") or f["error"]["code"]))
serve(tool_call=run, response=answered)
"""
SCRIPT: dict[str, Any] = {"turns": [{"tool_calls": [{"name": "ask", "args": {}}]}, {"text": "done"}]}


async def _asked(tmp_path: Path, **options: Any) -> str:
    directory = write_extension(tmp_path, "asker", ASKING, uses=["dialogs"])
    common: dict[str, Any] = {"provider": "script", "script": SCRIPT, "home": tmp_path / "home", "cwd": tmp_path}
    async with Runtime(**common, extensions=[directory], **options) as zot:
        await zot.ask("go")
        return str(zot.messages())


async def test_on_dialog_answers_questions_of_extensions(tmp_path: Path) -> None:
    """ext2-068: the callback's value is the answer; None cancels."""
    seen: list[ExtDialog] = []

    async def answer(dialog: ExtDialog) -> str:
        seen.append(dialog)
        return "b"

    said = await _asked(tmp_path, on_dialog=answer)
    assert '"value": "b", "source": "person"' in said.replace('\\"', '"')
    assert (seen[0].extension, seen[0].kind, seen[0].title) == ("asker", "select", "Where?")


async def test_none_cancels_and_no_function_is_unavailable(tmp_path: Path) -> None:
    """ext2-074: without a handler the dialog is `unavailable`."""
    assert '"cancelled": true' in (await _asked(tmp_path, on_dialog=lambda dialog: None)).replace('\\"', '"')
    assert "unavailable" in await _asked(tmp_path)


DRAWING = """
hello("edition2"); tool("draw")
send(type="contribute", kind="status", name="env", value={"line": "staging"}); ready()
def run(f):
    send(type="withdraw", kind="status", name="env"); text(f["id"], "ok")
serve(tool_call=run)
"""


async def test_on_surface_gets_what_extensions_draw(tmp_path: Path) -> None:
    """ext2-081: the program's function gets each surface, and what is withdrawn."""
    directory = write_extension(tmp_path, "drawer", DRAWING, uses=["ui"])
    drawn: list[Any] = []
    script = {"turns": [{"tool_calls": [{"name": "draw", "args": {}}]}, {"text": "done"}]}
    common: dict[str, Any] = {"provider": "script", "script": script, "home": tmp_path / "home", "cwd": tmp_path}
    async with Runtime(**common, extensions=[directory], on_surface=drawn.append) as zot:
        await zot.ask("go")
    assert [(surface.kind, surface.name) for surface in drawn[:2]] == [("status", "env")] * 2
    assert drawn[0].value == {"line": "staging"}
