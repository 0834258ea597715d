"""Branches and the tree they make."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.unit.core.session.conversation import assistant, call, reopened, results, rows, saved, say, texts, user
from zot.core.events import REPLACES
from zot.core.session.fork import fork_at, fork_before
from zot.core.session.records import Meta
from zot.core.session.resume import recent_messages
from zot.core.session.store import SessionStore
from zot.core.session.summary import Summary, branches, tree_lines
from zot.core.session.turn_history import turns_of
from zot.errors import SessionCorrupt, SessionError, UsageError
from zot.provider.messages import Usage


def test_a_fork_copies_n_messages_and_names_its_parent(store: SessionStore) -> None:
    """engine-186, iface-190: a fork at N copies N messages under a new id, names its parent and leaves that file
    untouched.
    """
    path = saved(store, user("a"), assistant("b"), user("c"), assistant("d"), title="mine")
    before = path.read_bytes()
    branch = fork_at(store, path, 2)
    session = reopened(store, branch)
    parent = reopened(store, path)
    assert texts(session) == ["a", "b"]
    assert session.meta.parent == parent.id and session.meta.fork_point == 2
    assert session.id != parent.id and branch.name.endswith(f"-{session.id[:8]}.jsonl")
    assert session.meta.title == ""
    assert path.read_bytes() == before


def test_copied_rows_are_verbatim_before_the_cut(store: SessionStore) -> None:
    session = store.create("p", "m")
    say(session, user("a"), assistant("b"))
    session.record_usage(Usage(1), Usage(1))
    session.close()
    with open(session.path, "ab") as file:
        file.write(b'{"type":"bookmark",  "odd":  "spacing"}\nbroken\n')
    session = store.open(session.path)
    session.appended(user("c"))
    session.record_usage(Usage(9), Usage(10))
    session.close()
    copied = fork_at(store, session.path, 2).read_bytes().splitlines()[1:]
    assert copied == [line for line in session.path.read_bytes().splitlines()[1:5]]
    assert reopened(store, fork_at(store, session.path, 2)).cumulative == Usage(1)


def test_a_fork_takes_the_model_of_the_last_meta_before_the_cut(store: SessionStore) -> None:
    session = store.create("anthropic", "opus")
    say(session, user("a"), assistant("b"))
    session.set_model("openai", "gpt")
    session.appended(user("c"))
    session.close()
    assert reopened(store, fork_at(store, session.path)).meta.model == "gpt"
    assert [row["type"] for row in rows(fork_at(store, session.path))].count("meta") == 1


def test_chosen_message_is_excluded_and_found_by_identity(store: SessionStore) -> None:
    same = [user("same"), assistant("b"), user("same"), assistant("d")]
    session = store.create("p", "m")
    say(session, *same)
    assert texts(reopened(store, fork_before(store, session, same[2]))) == ["same", "b"]
    assert texts(reopened(store, fork_before(store, session, same[0]))) == []
    session.close()


def test_after_a_compaction_the_cut_is_at_the_chosen_message(store: SessionStore) -> None:
    """engine-187: in a session that was compacted the fork cuts at the message that was chosen."""
    tail = user("chosen")
    session = store.create("p", "m")
    say(session, user("a"), assistant("b"), tail, assistant("d"))
    session.compacted(2, user("summary"))
    later = user("later")
    say(session, later)
    assert texts(reopened(store, fork_before(store, session, tail))) == ["a", "b"]
    assert texts(reopened(store, fork_before(store, session, later))) == ["summary", "chosen", "d"]
    session.close()


def test_fork_after_windowed_resume_cuts_at_chosen_message(store: SessionStore) -> None:
    """engine-187, iface-191: in a long session resumed in part the fork cuts at the message that was chosen."""
    path = saved(store, *[m for n in range(80) for m in (user(f"u{n}"), assistant(f"a{n}", call("t")))])
    session = store.open(path)
    shown = recent_messages(session.messages)
    chosen = next(message for message in shown if message.text() == "u70")
    branch = reopened(store, fork_before(store, session, chosen))
    session.close()
    assert branch.meta.fork_point == 140
    assert [t for t in texts(branch) if t][-2:] == ["u69", "a69"]


def test_a_message_that_is_not_in_the_file_cannot_be_forked_at(store: SessionStore) -> None:
    path = saved(store, user("a"), assistant("b", call("t")))
    session = store.open(path)
    with pytest.raises(SessionError, match="not in"):
        fork_before(store, session, session.messages[-1])
    session.close()


def test_a_session_in_use_can_be_forked(store: SessionStore) -> None:
    session = store.create("p", "m")
    session.appended(user("a"))
    assert texts(reopened(store, fork_at(store, session.path))) == ["a"]
    session.close()


@pytest.mark.parametrize("count", [-1, 3])
def test_a_count_outside_the_file_is_an_error(store: SessionStore, count: int) -> None:
    path = saved(store, user("a"), assistant("b"))
    with pytest.raises(UsageError, match="cannot fork at"):
        fork_at(store, path, count)
    assert list(path.parent.glob("*.jsonl")) == [path]


def test_missing_or_invalid_parent_is_an_error(store: SessionStore, tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="no session file"):
        fork_at(store, tmp_path / "none.jsonl", 0)
    odd = tmp_path / "odd.jsonl"
    odd.write_bytes(b'{"type":"message","message":{"role":"user","content":[{"text":"x"}]}}\n')
    with pytest.raises(SessionCorrupt, match="meta"):
        fork_at(store, odd, 0)
    assert not store.root.exists()


def test_a_fork_inside_an_exchange_still_loads(store: SessionStore) -> None:
    path = saved(store, user("a"), assistant("b", call("t")), results("t"))
    assert [m.role for m in reopened(store, fork_at(store, path, 2)).messages] == ["user", "assistant", "tool"]


def test_two_forks_make_one_root_with_two_children(store: SessionStore) -> None:
    """engine-188: two forks of one session make one root with two children."""
    root = saved(store, user("root"), assistant("x"))
    children = sorted([fork_at(store, root), fork_at(store, root)])
    found = branches(store.summaries())
    assert [(Path(b.summary.path), b.depth) for b in found] == [(root, 0), (children[0], 1), (children[1], 1)]


def test_children_whose_parent_is_gone_are_roots(store: SessionStore) -> None:
    """engine-188: children whose parent file is gone become roots."""
    root = saved(store, user("root"), assistant("x"))
    child = fork_at(store, root)
    grandchild = fork_at(store, child)
    root.unlink()
    found = branches(store.summaries())
    assert [(Path(b.summary.path), b.depth) for b in found] == [(child, 0), (grandchild, 1)]


def summary(id: str, parent: str = "") -> Summary:
    meta = Meta(id, parent=parent)
    return Summary(
        path=f"/s/{id}",
        id=meta.id,
        parent=meta.parent,
        cwd="",
        started="",
        modified=0,
        model="",
        provider="",
        messages=1,
        first_text=f"text {id}",
        cost_usd=0,
        title="",
    )


def test_parents_in_a_circle_are_all_listed_once() -> None:
    found = branches([summary("a", "b"), summary("b", "a"), summary("c", "c"), summary("d")])
    assert sorted(branch.summary.id for branch in found) == ["a", "b", "c", "d"]


def test_chain_of_thousands_of_forks_is_read() -> None:
    chain = [summary("0")] + [summary(str(n), str(n - 1)) for n in range(1, 5000)]
    assert max(branch.depth for branch in branches(chain)) == 4999


def test_lines_are_indented_by_depth_and_mark_the_current_one() -> None:
    found = branches([summary("a"), summary("b", "a")])
    assert tree_lines(found, "b") == ["text a", "  text b [current]"]


def test_fork_before_replacing_prompt_excludes_failed_prompt(store: SessionStore) -> None:
    instead = msgspec.structs.replace(user("mended"), meta={REPLACES: "true"})
    path = saved(store, user("a"), assistant("b"), user("failed"), instead, assistant("d"))
    turns = turns_of(path)
    assert [(turn.row, turn.prompt.text()) for turn in turns] == [(0, "a"), (2, "mended")]
    assert texts(reopened(store, fork_at(store, path, turns[1].row))) == ["a", "b"]
