"""Commands known from other agents: aliases, /init, /review, and shell commands hidden from the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import config, user_texts


@pytest.mark.parametrize(
    ("typed", "seen"),
    [
        ("/resume", "sessions of this directory"),
        ("/theme", "up/down previews"),
        ("/usage", "total  "),
        ("/config", "colour theme"),
        ("/tree", "branches of this directory"),
        ("/undo", "no prompts yet"),
        ("/theme nope", 'unknown theme "nope"'),
        ("/effort nope", "nope"),
    ],
)
def test_an_alias_just_works(serve: Any, open_zot: OpenZot, typed: str, seen: str) -> None:
    serve([])
    terminal = open_zot()
    terminal.submit(typed)
    terminal.wait_for(seen)
    assert "unknown command" not in terminal.screen


def test_an_alias_is_offered_while_it_is_typed_and_leaves(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([])
    terminal = open_zot()
    terminal.submit("/theme light")
    terminal.wait_for("colour theme: light")
    assert config(zot)["theme"] == "light"
    terminal.type("/resu")
    terminal.wait_for("runs /sessions")
    terminal.press("ctrl+u")
    terminal.submit("/q")
    assert terminal.wait_exit() == 0


def test_init_asks_the_agent_to_write_or_update_the_file(serve: Any, open_zot: OpenZot, project: Path) -> None:
    server = serve([Say("written"), Say("mended")])
    terminal = open_zot()
    terminal.submit("/init the tests are slow")
    terminal.wait_for("written")
    (prompt,) = user_texts(server.requests[0])
    assert prompt.startswith("Create AGENTS.md in the working directory.")
    assert prompt.endswith("Additional instructions from the user: the tests are slow")
    (project / "AGENTS.md").write_text("# here\n")
    terminal.submit("/init")
    terminal.wait_for("mended")
    assert user_texts(server.requests[1])[-1].startswith("Update AGENTS.md in the working directory")


def test_review_covers_uncommitted_changes_or_a_range(serve: Any, open_zot: OpenZot) -> None:
    server = serve([Say("fine"), Say("fine, too")])
    terminal = open_zot()
    terminal.submit("/review")
    terminal.wait_for("fine")
    assert "`git diff HEAD`" in user_texts(server.requests[0])[0]
    terminal.submit("/review main..topic")
    terminal.wait_for("fine, too")
    assert "Review the following: main..topic." in user_texts(server.requests[1])[-1]


def test_shell_escape_with_two_marks_is_hidden_from_model(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([Say("an answer")])
    terminal = open_zot()
    terminal.submit("!!echo only $((40 + 2)) for me")
    terminal.wait_for("only 42 for me")
    terminal.wait_for("hidden from the model")
    terminal.submit("!echo you may $((50 + 1)) see this")
    terminal.wait_for("you may 51 see this")
    terminal.submit("hello")
    terminal.wait_for("an answer")
    heard = "\n".join(user_texts(server.requests[0]))
    assert "you may 51 see this" in heard
    assert "only" not in heard
    terminal.submit("!!")
    terminal.wait_for("expected a shell command after the exclamation mark")
    terminal.submit("/exit")
    terminal.wait_exit()
    assert "only 42" not in zot.sessions[0].read_text()


def test_add_dir_lets_tools_use_another_directory(zot: Zot, serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    """In ask mode and in the jail: reading needs no question, writing is possible."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("from elsewhere")
    read = CallTools([("read", {"path": str(other / "a.txt")}), ("bash", {"command": f"cat {other}/a.txt"})])
    write = CallTools([("bash", {"command": f"echo new > {other}/b.txt"})])
    server = serve([read, Say("it is read"), write, Say("it is written")])
    terminal = open_zot("--permission-mode", "ask", "--jail")
    terminal.submit("/add-dir nowhere")
    terminal.wait_for("is not a directory")
    terminal.press("ctrl+u")
    terminal.submit("/add-dir /")
    terminal.wait_for("contains your home")
    terminal.press("ctrl+u")
    terminal.submit(f"/add-dir {other}")
    terminal.wait_for("tools can use it like the project")
    terminal.submit("read it")
    terminal.wait_for("it is read")
    assert "from elsewhere" in str(server.requests[1].json) and "added the directory" in str(server.requests[0].json)
    terminal.submit("write it")
    terminal.wait_for("run bash?")
    terminal.type("1")
    terminal.wait_for("it is written")
    assert (other / "b.txt").read_text() == "new\n"
