"""``get_changes`` and ``rewind`` over RPC: file changes of tools and restoring them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say, Silent
from tests.terminal.scripts import said


def edit(old: str, new: str) -> CallTools:
    return CallTools([("edit", {"path": "a.py", "edits": [{"oldText": old, "newText": new}]})])


def two_prompts(rpc: Any, serve: Any, project: Path, *more: Any) -> tuple[Any, Any]:
    """The first changes ``a.py``, the second ``a.py`` and makes ``b.py``."""
    (project / "a.py").write_text("one = 1\ntwo = 2\n")
    made = CallTools([("write", {"path": "b.py", "content": "b = 1\n"})])
    turns = [edit("one = 1", "one = 10"), Say("first"), edit("two = 2", "two = 20"), made, Say("second")]
    server = serve([*turns, *more])
    client = rpc("--continue")
    client.prompt("change one")
    client.prompt("change two")
    return client, server


def outcomes(answer: Any) -> dict[str, str]:
    assert answer["success"], answer
    return {Path(file["path"]).name: file["outcome"] for file in answer["data"]["files"]}


def test_changes_are_listed_per_prompt(rpc, serve, zot: Zot) -> None:
    client, _ = two_prompts(rpc, serve, zot.project)
    session = client.ask("get_changes")["data"]
    assert session["prompts"] == [
        {"prompt": 1, "text": "change one", "files": 1, "added": 1, "removed": 1},
        {"prompt": 2, "text": "change two", "files": 2, "added": 2, "removed": 1},
    ]
    assert [(Path(file["path"]).name, file["change"]) for file in session["files"]] == [
        *[("a.py", "changed"), ("b.py", "created")]
    ]
    assert session["unknown"] == []
    [file] = client.ask("get_changes", prompt=1)["data"]["files"]
    assert file == {
        **{"path": str(zot.project / "a.py"), "change": "changed", "added": 1, "removed": 1},
        "diff": "@@ -1,2 +1,2 @@\n-one = 1\n+one = 10\n two = 2\n",
    }
    assert client.ask("get_changes", prompt=2)["data"]["files"][1]["diff"] == "@@ -0,0 +1,1 @@\n+b = 1\n"
    assert client.ask("get_changes", prompt=3)["error"] == "no prompt 3; this session has 2"


def test_going_back_in_conversation_and_files(rpc, serve, zot: Zot) -> None:
    """The state before the prompt is restored, also for the model; a dry run only reports it."""
    client, server = two_prompts(rpc, serve, zot.project, Say("third"))
    expected = {"a.py": "restored", "b.py": "removed"}
    assert outcomes(client.ask("rewind", prompt=2, dry_run=True)) == expected
    assert (zot.project / "b.py").exists()
    answer = client.ask("rewind", prompt=2)
    assert outcomes(answer) == expected and answer["data"]["text"] == "change two"
    assert (zot.project / "a.py").read_text() == "one = 10\ntwo = 2\n" and not (zot.project / "b.py").exists()
    assert client.ask("get_state")["data"]["message_count"] == 4
    assert not any(line["type"] == "done" for line in client.seen[-2:]), "an answer, and no events"
    client.prompt("and now")
    assert [text for role, text in said(server.requests[-1]) if role == "user" and text.startswith("change")] == [
        "change one"
    ]


def test_files_changed_by_others_are_named_and_kept_by_default(rpc, serve, zot: Zot) -> None:
    client, server = two_prompts(rpc, serve, zot.project, Say("third"))
    (zot.project / "a.py").write_text("mine\n")
    answer = client.ask("rewind", prompt=2, what="files")
    assert outcomes(answer) == {"a.py": "conflict", "b.py": "removed"}
    [reason] = [file["reason"] for file in answer["data"]["files"] if file["outcome"] == "conflict"]
    assert reason == "it was changed by something else since"
    assert (zot.project / "a.py").read_text() == "mine\n"
    answer = client.ask("rewind", prompt=2, what="files", overwrite=True)
    assert outcomes(answer) == {"a.py": "overwritten"}
    assert (zot.project / "a.py").read_text() == "one = 10\ntwo = 2\n"
    assert outcomes(client.ask("rewind")) == {"a.py": "restored"}, "without a number it undoes the last one"
    assert (zot.project / "a.py").read_text() == "mine\n"
    client.prompt("and now")
    assert "put these files back to an earlier state" in str(said(server.requests[-1]))


def test_the_conversation_alone_leaves_the_files(rpc, serve, zot: Zot) -> None:
    client, _ = two_prompts(rpc, serve, zot.project)
    answer = client.ask("rewind", prompt=1, what="conversation")
    assert outcomes(answer) == {} and client.ask("get_messages")["data"]["messages"] == []
    assert (zot.project / "a.py").read_text() == "one = 10\ntwo = 20\n"


def test_a_prompt_sent_behind_it_finds_everything_gone_back(rpc, serve, zot: Zot) -> None:
    client, server = two_prompts(rpc, serve, zot.project, Say("third"))
    client.send("rewind", prompt=1)
    client.send("prompt", message="again")
    client.until("done")
    assert [text for role, text in said(server.requests[-1]) if role == "user"] == ["again"]
    assert (zot.project / "a.py").read_text() == "one = 1\ntwo = 2\n"


def test_impossible_rewind_returns_the_reason(rpc, serve, zot: Zot) -> None:
    serve([Say("hello"), Silent(Say("never"))])
    client = rpc()
    client.prompt("hi")
    for command in ("get_changes", "rewind"):
        answer = client.ask(command)
        assert not answer["success"] and "no session" in answer["error"]
    kept = rpc("--continue")
    assert kept.ask("rewind", prompt=1)["error"] == "this conversation has no prompts yet"
    kept.send("prompt", message="wait")
    kept.until("response", command="prompt")
    assert kept.ask("rewind", prompt=1)["error"] == "agent is busy"
    assert kept.ask("rewind", prompt=1, what="all")["success"] is False


def test_a_compaction_with_a_focus(rpc, serve) -> None:
    server = serve([Say("one"), Say("<summary>s</summary>")])
    client = rpc()
    client.prompt("hi")
    client.send("compact", focus="the names of files")
    client.until("compact_done")
    assert "the names of files" in str(server.requests[-1].json["messages"][-1])
