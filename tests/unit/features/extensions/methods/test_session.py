"""``session.*``: reading and writing the stored conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fakes.client import says
from tests.fakes.extension_puppet import Puppet, Stage
from zot.core.events import AgentEvent, EntryAdded, SessionRenamed
from zot.core.session.entry_ids import EntryIds
from zot.core.session.fork import export_session, import_session
from zot.core.session.session_file import read_lines
from zot.features.export.export import export
from zot.features.export.redaction import redaction
from zot.provider.messages import Message

READ = ("session.read",)
WRITE = ("session.read", "session.write")


async def _entries(puppet: Puppet, **params: Any) -> list[dict[str, Any]]:
    return (await puppet.result("session.entries", params))["entries"]


def _texts(entries: list[dict[str, Any]]) -> list[str]:
    return [each["message"]["content"][0]["text"] for each in entries if each["kind"] == "message"]


async def test_info_describes_the_conversation(stage: Stage) -> None:
    x = stage.add(uses=WRITE)
    async with stage.talk(says("hello")) as talk:
        await talk.conversation.prompt("hi")
        await x.result("session.name", {"name": "greetings"})
        info = await x.result("session.info")
        assert info["id"] == talk.conversation.agent.session_id and info["name"] == "greetings"
        assert info["entries"] == 2 and info["usage"]["input_tokens"] == 100
        assert (info["busy"], info["queued"], info["permission_mode"]) == (False, 0, "everything")
        assert "parent" not in info


async def test_entry_id_survives_resume_fork_and_import(stage: Stage, tmp_path: Path) -> None:
    """ext2-098: an id is the same after a resume, in forks of forks and in imports."""
    x = stage.add(uses=READ)
    async with stage.talk(says("one"), says("two"), says("three")) as talk:
        conversation = talk.conversation
        await conversation.prompt("first")
        await conversation.prompt("second")
        before = [entry["entry_id"] for entry in await _entries(x)]
        assert len(set(before)) == 4
        assert [EntryIds().of(message, conversation.session) for message in conversation.messages] == before
        assert conversation.session is not None
        first = conversation.session.path
        await conversation.fork(2)
        assert [entry["entry_id"] for entry in await _entries(x)] == before[:2]
        await conversation.prompt("third")
        await conversation.open_session(conversation.sessions.fork(conversation.session.path))
        again = await _entries(x)
        assert [entry["entry_id"] for entry in again][:2] == before[:2] and _texts(again)[2:] == ["third", "three"]
        copy = export_session(first, tmp_path / "copy.zotsession")
        await conversation.open_session(import_session(conversation.sessions, copy))
        assert [entry["entry_id"] for entry in await _entries(x)] == before
        assert [EntryIds().of(message, conversation.session) for message in conversation.messages] == before


async def test_entry_ids_survive_compaction(stage: Stage) -> None:
    """ext2-098: the rows before a compaction keep their ids; the summary has that of the compaction."""
    x = stage.add(uses=READ)
    async with stage.talk(says("one"), says("short")) as talk:
        await talk.conversation.prompt("first")
        before = await _entries(x)
        await talk.conversation.compact()
        after = await _entries(x)
        assert [e["entry_id"] for e in after[:2]] == [e["entry_id"] for e in before]
        assert after[2]["kind"] == "compaction" and "short" in after[2]["message"]["content"][0]["text"]
        ids = [EntryIds().of(message, talk.conversation.session) for message in talk.conversation.messages]
        assert ids == [after[2]["entry_id"]]


async def test_pages_go_forward_and_back(stage: Stage) -> None:
    """ext2-098: pages follow each other without a gap, in both directions."""
    x = stage.add(uses=READ)
    async with stage.talk(*(says(str(n)) for n in range(3))) as talk:
        for n in range(3):
            await talk.conversation.prompt(f"p{n}")
        whole = ["p0", "0", "p1", "1", "p2", "2"]
        page = await x.result("session.entries", {"limit": 4})
        rest = await x.result("session.entries", {"after": page["next"], "limit": 4})
        assert _texts(page["entries"]) == whole[:4] and _texts(rest["entries"]) == whole[4:]
        assert "next" not in rest
        last = await x.result("session.entries", {"before": rest["entries"][0]["entry_id"], "limit": 3})
        assert _texts(last["entries"]) == whole[1:4] and last["next"] == last["entries"][0]["entry_id"]
        assert await x.error("session.entries", {"after": "nope"}) == (
            "not_found",
            "session.entries: no entry has the id in after or before",
        )


async def test_page_is_at_most_4_mib(stage: Stage) -> None:
    """ext2-098: a page ends before 4 MiB, and an entry beyond that comes without its content."""
    x = stage.add(uses=READ)
    async with stage.talk(says("a"), says("b"), says("c")) as talk:
        await talk.conversation.prompt("x" * (3 << 20))
        await talk.conversation.prompt("y" * (5 << 20))
        await talk.conversation.prompt("z" * (3 << 20))
        page = await x.result("session.entries")
        assert [each.get("truncated", False) for each in page["entries"]] == [False, False, True, False]
        assert "message" not in page["entries"][2]
        rest = await x.result("session.entries", {"after": page["next"]})
        assert [text[:1] for text in _texts(rest["entries"])] == ["z", "c"]


async def test_own_entries_need_no_word(stage: Stage) -> None:
    """ext2-099: without session.read an extension reads its own entries and nothing else."""
    x, y = stage.add("x"), stage.add("y")
    async with stage.talk(says("hello")) as talk:
        await talk.conversation.prompt("hi")
        await y.result("session.append", {"type": "secret", "data": 1})
        mine = await x.result("session.append", {"type": "state", "data": {"n": 1}})
        own = await _entries(x, kinds=["extension"])
        assert [(e["entry_id"], e["type"], e["data"], e["extension"]) for e in own] == [
            (mine["entry_id"], "state", {"n": 1}, "x")
        ]
        for params in ({}, {"kinds": ["extension"], "session_id": "1"}, {"kinds": ["extension", "message"]}):
            code, text = await x.error("session.entries", params)
            assert code == "denied" and '"session.read"' in text


async def test_appended_row_is_on_disk_and_hidden_from_model(stage: Stage) -> None:
    """ext2-102: the row is on disk before the response, and is never sent to the model."""
    x = stage.add(uses=READ)
    async with stage.talk(says("hello"), says("again")) as talk:
        early = await x.result("session.append", {"type": "early", "data": None})
        assert early["saved"] is False
        await talk.conversation.prompt("hi")
        done = await x.result("session.append", {"type": "note", "data": "only for me"})
        assert done["saved"] is True and talk.conversation.session is not None
        assert b"only for me" in talk.conversation.session.path.read_bytes()
        await talk.conversation.prompt("more")
        assert "only for me" not in str(talk.client.requests)
        kinds = [entry["kind"] for entry in await _entries(x)]
        assert kinds == ["extension", "message", "message", "extension", "message", "message"]


async def test_without_session_entries_stay_in_memory(stage: Stage) -> None:
    """ext2-102: a run that keeps no session says that nothing is saved, and still gives the entries back."""
    x = stage.add(uses=READ)
    async with stage.talk(says("hello"), keep_session=False) as talk:
        await talk.conversation.prompt("hi")
        assert (await x.result("session.append", {"type": "t", "data": [1]}))["saved"] is False
        assert [(e["kind"], e.get("data")) for e in await _entries(x)] == [
            ("message", None),
            ("message", None),
            ("extension", [1]),
        ]


async def test_copies_carry_rows_and_redacted_ones_no_data(stage: Stage, tmp_path: Path) -> None:
    """ext2-100: forks and exports copy the rows, a redacted export leaves their data out."""
    x = stage.add(uses=READ)
    async with stage.talk(says("hello")) as talk:
        conversation = talk.conversation
        await conversation.prompt("hi")
        await x.result("session.append", {"type": "note", "data": "kept"})
        assert conversation.session is not None
        plain = export(conversation.session.path, tmp_path / "a.zotsession", "zotsession")
        hidden = export(
            conversation.session.path, tmp_path / "b.zotsession", "zotsession", redaction(tmp_path, str(tmp_path))
        )
        assert b"kept" in plain.read_bytes()
        assert b"kept" not in hidden.read_bytes() and b"extension_entry" in hidden.read_bytes()
        await conversation.open_session(conversation.sessions.fork(conversation.session.path))
        assert (await _entries(x, kinds=["extension"]))[0]["data"] == "kept"


async def test_entries_are_of_the_current_branch_only(stage: Stage) -> None:
    """ext2-101: a branch has the extension's entries before the cut and none of those after it."""
    x = stage.add()
    async with stage.talk(says("a"), says("b")) as talk:
        conversation = talk.conversation
        await conversation.prompt("one")
        await x.result("session.append", {"type": "n", "data": 1})
        await conversation.prompt("two")
        await x.result("session.append", {"type": "n", "data": 2})
        await conversation.fork(2)
        assert [e["data"] for e in await _entries(x, kinds=["extension"])] == [1]


async def test_entry_with_view_is_shown(stage: Stage) -> None:
    shown: list[AgentEvent] = []
    x = stage.add()
    async with stage.talk(says("a")) as talk:
        talk.conversation.subscribe(shown.append, EntryAdded)
        view = {"lines": ["12 tests"]}
        done = await x.result("session.append", {"type": "tests", "data": 1, "view": view})
        await x.result("session.append", {"type": "tests", "data": 1})
        assert shown == [EntryAdded(done["entry_id"], "x", "tests", view)]


async def test_label_and_name_are_stored_and_told(stage: Stage) -> None:
    told: list[AgentEvent] = []
    x = stage.add(uses=WRITE)
    async with stage.talk(says("a")) as talk:
        conversation = talk.conversation
        await conversation.prompt("one")
        conversation.subscribe(told.append, SessionRenamed)
        first = (await _entries(x))[0]["entry_id"]
        await x.result("session.label", {"entry_id": first, "label": "start"})
        assert await x.error("session.label", {"entry_id": "none", "label": "x"}) == (
            "not_found",
            "session.label: entry_id: no entry of this session has this id",
        )
        await x.result("session.name", {"name": " a  name "})
        assert conversation.session is not None
        with conversation.session.path.open("rb") as file:
            kinds = [type(line.row).__name__ for line in read_lines(file)]
        assert kinds[-2:] == ["LabelRow", "RenameRow"] and conversation.session.meta.title == "a name"
        assert [(e.entry_id, e.label, e.name) for e in told if isinstance(e, SessionRenamed)] == [
            (first, "start", ""),
            ("", "", "a name"),
        ]
        assert [e["label"] for e in await _entries(x, kinds=["label"])] == ["start"]


async def test_other_sessions_of_the_project_can_be_read(stage: Stage) -> None:
    x = stage.add(uses=READ)
    async with stage.talk(says("about cats"), says("about dogs")) as talk:
        await talk.conversation.prompt("cats")
        old = talk.conversation.agent.session_id
        talk.conversation.new_session()
        await talk.conversation.prompt("dogs")
        listed = (await x.result("session.list", {}))["sessions"]
        assert {each["id"] for each in listed} == {old, talk.conversation.agent.session_id}
        assert [each["id"] for each in (await x.result("session.list", {"words": "cats"}))["sessions"]] == [old]
        assert _texts(await _entries(x, session_id=old)) == ["cats", "about cats"]
        assert (await x.error("session.entries", {"session_id": "0"}))[0] == "not_found"


async def test_system_prompt_and_tools_can_be_read(stage: Stage) -> None:
    x = stage.add(uses=READ)
    async with stage.talk(tools=("read",)) as talk:
        found = await x.result("session.system")
        assert found == {"text": talk.conversation.agent.system_text(), "tools": ["read"]}


async def test_mistakes_of_an_author_are_named(stage: Stage) -> None:
    """ext2-019: a missing, wrong or too large parameter is named."""
    x = stage.add(uses=WRITE)
    async with stage.talk():
        assert await x.error("session.append", {}) == ("bad_params", "session.append: type: missing")
        code, text = await x.error("session.append", {"type": "t", "data": "x" * (300 << 10)})
        assert (code, text) == ("too_large", "session.append: data: 300 KiB, at most 256 KiB")
        code, text = await x.error("session.entries", {"limit": 501})
        assert (code, text) == ("bad_params", "session.entries: limit: expected 1 to 500")
        code, text = await x.error("session.entries", {"kinds": ["mesage"]})
        assert code == "bad_params" and "'mesage'" in text


def test_id_of_a_message_without_session_is_stable() -> None:
    ids = EntryIds()
    message = Message("user", (), "2026-01-01T00:00:00.000Z")
    assert ids.of(message, None) == EntryIds().of(Message("user", (), message.time), None)
