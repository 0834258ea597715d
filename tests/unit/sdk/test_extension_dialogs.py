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
