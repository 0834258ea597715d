"""``zot sessions rewind``: restores the conversation and the files from before a prompt."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return "edit", {"path": path, "edits": [{"oldText": old, "newText": new}]}


@pytest.fixture
def worked(zot: Zot, serve: Any) -> Path:
    """Two prompts: the first changes ``a``, the second ``a`` and, by a command, ``b``, and writes ``sub/c``."""
    (zot.project / "a").write_text("one\ntwo\n")
    (zot.project / "b").write_text("b\n")
    serve(
        [
            CallTools([edit("a", "one", "1")]),
            Say("first"),
            CallTools([edit("a", "two", "2")]),
            CallTools([("bash", {"command": "echo more >> b"})]),
            CallTools([("write", {"path": "sub/c", "content": "c\n"})]),
            Say("second"),
            Say("third"),
        ]
    )
    assert zot("-p", "change the first line").out == "first\n"
    assert zot("-p", "change the second line", "--continue").out == "second\n"
    assert (zot.project / "a").read_text() == "1\n2\n"
    (session,) = zot.sessions
    return session


def test_rewind_lists_prompts_with_their_changes(zot: Zot, worked: Path) -> None:
    ran = zot("sessions", "rewind", model=False)
    first, second = ran.out.splitlines()
    assert first.strip().startswith("1  change the first line")
    assert first.endswith("1 file changed +1 \u22121")
    assert second.endswith("3 files changed +3 \u22121")


def test_back_to_before_the_second_prompt(zot: Zot, worked: Path) -> None:
    ran = zot("sessions", "rewind", "--to", "2", "--yes", model=False)
    assert (ran.code, ran.err) == (0, "3 files: 2 restored, 1 removed\n")
    assert (zot.project / "a").read_text() == "1\ntwo\n"
    assert (zot.project / "b").read_text() == "b\n"
    assert not (zot.project / "sub").exists()
    *lines, branch = ran.out.splitlines()
    assert [line.split() for line in lines] == [["restore", "a"], ["restore", "b"], ["remove", "sub/c"]]
    texts = [row for row in Path(branch).read_text().splitlines() if json.loads(row)["type"] == "message"]
    assert "change the first line" in texts[0]
    assert not any("change the second line" in text for text in texts)
    assert zot("-p", "go on", "--session", branch).out == "third\n"
    ran = zot("sessions", "rewind", branch, "--to", "1", "--files", "--yes", model=False)
    assert ran.code == 0
    assert (zot.project / "a").read_text() == "one\ntwo\n"


def test_a_dry_run_and_a_no_change_nothing(zot: Zot, worked: Path) -> None:
    ran = zot("sessions", "rewind", "--to", "1", "--dry-run", model=False)
    assert (ran.code, len(ran.out.splitlines())) == (0, 3)
    ran = zot("sessions", "rewind", "--to", "1", stdin="n\n", model=False)
    assert (ran.code, ran.err) == (1, "go back to before prompt 1 (y/N)? nothing was changed\n")
    assert (zot.project / "a").read_text() == "1\n2\n"
    assert zot.sessions == [worked]


def test_rewind_skips_files_changed_by_others_and_exits_1(zot: Zot, worked: Path) -> None:
    (zot.project / "b").write_text("mine\n")
    ran = zot("sessions", "rewind", "--to", "2", "--files", "--yes", model=False)
    assert ran.code == 1
    assert "b skipped: it was changed by something else since" in ran.err
    assert (zot.project / "b").read_text() == "mine\n"
    ran = zot("sessions", "rewind", "--to", "2", "--files", "--yes", "--overwrite", model=False)
    assert ran.code == 0
    assert (zot.project / "b").read_text() == "b\n"
    ran = zot("sessions", "rewind", "--undo", "--yes", model=False)
    assert (zot.project / "b").read_text() == "mine\n"


def test_the_conversation_alone(zot: Zot, worked: Path) -> None:
    ran = zot("sessions", "rewind", "--to", "1", "--conversation", "--yes", model=False)
    assert ran.code == 0
    assert Path(ran.out.strip()).exists()
    assert (zot.project / "a").read_text() == "1\n2\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--to", "0"), "from 1"),
        (("--to", "9"), "no prompt 9"),
        (("--undo", "--yes"), "nothing to undo"),
        (("--to", "1", "--undo"), "not both"),
    ],
)
def test_rewind_mistakes_are_errors(zot: Zot, worked: Path, words: tuple[str, ...], told: str) -> None:
    ran = zot("sessions", "rewind", *words, model=False)
    assert (ran.code, told in ran.err) == (1, True)


def test_a_kill_in_the_middle_of_an_edit_loses_nothing(zot: Zot, serve: Any) -> None:
    """Killed as soon as the file is seen changed: the ledger has the change, for it was written down before."""
    file = zot.project / "a"
    file.write_text("before\n")
    serve([CallTools([edit("a", "before", "after")]), Say("never heard")])
    child = zot.start("-p", "change it")
    while file.read_text() != "after\n":
        assert child.poll() is None
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    ran = zot("sessions", "rewind", "--to", "1", "--files", "--yes", model=False)
    assert (ran.code, file.read_text()) == (0, "before\n")


def test_no_checkpoints_without_session_or_when_disabled(zot: Zot, serve: Any) -> None:
    (zot.project / "a").write_text("one\n")
    serve([CallTools([edit("a", "one", "two")]), Say("x"), CallTools([edit("a", "two", "three")]), Say("y")])
    assert zot("-p", "change it", "--no-session").out == "x\n"
    assert not (zot.home / "zot" / "changes").exists()
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "config.json").write_text('{"checkpoint_size_mb": 0}')
    assert zot("-p", "change it").out == "y\n"
    assert not (zot.home / "zot" / "changes").exists()


def test_run_without_changes_does_not_load_checkpoints(zot: Zot, serve: Any) -> None:
    serve([Say("hi")])
    zot.environment["PYTHONPROFILEIMPORTTIME"] = "1"
    ran = zot("-p", "hello")
    assert ran.out == "hi\n"
    assert "zot.agent.build" in ran.err
    assert "zot.features.checkpoints" not in ran.err
