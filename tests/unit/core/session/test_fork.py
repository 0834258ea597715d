"""``.zotsession`` files, out and in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.core.session.conversation import assistant, call, reopened, results, rows, saved, texts, user
from zot.core.session.fork import default_destination, export_session, import_session, slug
from zot.core.session.store import SessionStore, compact_time
from zot.errors import SessionCorrupt, SessionError
from zot.provider.messages import ImageBlock, user_message


def test_an_export_has_an_empty_cwd_and_the_extension(store: SessionStore, tmp_path: Path) -> None:
    """engine-189, iface-187: an export has an empty cwd and ends in `.zotsession`."""
    path = saved(store, user("a"), assistant("b"))
    target = export_session(path, tmp_path / "out" / "mine")
    assert target == tmp_path / "out" / "mine.zotsession"
    assert rows(target)[0]["meta"]["cwd"] == ""
    assert target.read_bytes().splitlines()[1:] == path.read_bytes().splitlines()[1:]
    assert target.stat().st_mode & 0o777 == 0o600


def test_an_extension_in_capitals_is_enough(store: SessionStore, tmp_path: Path) -> None:
    assert export_session(saved(store, user("a")), tmp_path / "X.ZOTSESSION").name == "X.ZOTSESSION"


def test_export_into_directory_is_named_by_time_id_and_slug(store: SessionStore, tmp_path: Path) -> None:
    """engine-190: an export into a directory is named after its time, its id and its first words."""
    path = saved(store, user("Fix the *Parser*, please!"), assistant("b"))
    target = export_session(path, f" '{tmp_path}' ")
    id8 = reopened(store, path).id[:8]
    assert re.fullmatch(rf"\d{{8}}-\d{{6}}-{id8}-fix-the-parser-please\.zotsession", target.name)


def test_a_slug_is_short_and_has_no_hyphen_at_its_ends() -> None:
    assert slug("  Ünïcode & MORE  ") == "n-code-more"
    assert slug("a" * 39 + " bcd") == "a" * 39
    assert slug("…") == ""


def test_times_with_an_offset_are_named_in_utc() -> None:
    assert compact_time("2025-01-02T01:30:00.5+02:00") == "20250101-233000"
    assert compact_time("2025-01-02T01:30:00.123Z") == "20250102-013000"


def test_an_existing_file_is_never_replaced(store: SessionStore, tmp_path: Path) -> None:
    path = saved(store, user("a"))
    names = [export_session(path, tmp_path / "x").name for _ in range(3)]
    assert names == ["x.zotsession", "x-2.zotsession", "x-3.zotsession"]


def test_export_uses_last_meta_row_with_unknown_fields(store: SessionStore, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        b'{"type":"meta","meta":{"id":"i","cwd":"/p","model":"old"}}\n'
        b'{"type":"message","message":{"role":"user","content":[{"text":"x"}]}}\n'
        b'{"type":"meta","meta":{"id":"i","cwd":"/p","model":"new","colour":"red"},"extra":1}\n'
        b"torn {"
    )
    exported = rows(export_session(path, tmp_path / "x"))
    assert exported[0] == {"type": "meta", "meta": {"id": "i", "cwd": "", "model": "new", "colour": "red"}, "extra": 1}
    assert [row["type"] for row in exported] == ["meta", "message"]


def test_scrub_replaces_cwd_and_home_but_not_lookalikes(
    store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    said = f"{store.cwd}/a.py {store.cwd}2/b.py /home/me/.ssh /home/melissa"
    path = saved(store, user(said), assistant("b", call("t", arguments=f'{{"path":"{store.cwd}"}}')), results("t"))
    target = export_session(path, tmp_path / "x", scrub=True)
    session = reopened(store, import_session(store, target))
    assert session.messages[0].text() == f"<cwd>/a.py {store.cwd}2/b.py ~/.ssh /home/melissa"
    assert session.messages[1].tool_calls()[0].arguments == '{"path":"<cwd>"}'


@pytest.mark.parametrize(("source", "destination"), [("", "x"), ("' '", "x"), ("s", "")])
def test_empty_names_are_refused(store: SessionStore, tmp_path: Path, source: str, destination: str) -> None:
    path = saved(store, user("a"))
    with pytest.raises(SessionError):
        export_session(source if source != "s" else path, destination and tmp_path / destination)


def test_export_of_other_file_fails(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(SessionCorrupt):
        export_session(tmp_path / "empty", tmp_path / "x")
    assert not (tmp_path / "x.zotsession").exists()


def test_the_default_destination_is_downloads_else_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_destination() == tmp_path
    (tmp_path / "Downloads").mkdir()
    assert default_destination() == tmp_path / "Downloads"
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    assert default_destination().is_dir()


def test_import_gets_new_id_and_cwd_and_keeps_the_rest(store: SessionStore, tmp_path: Path) -> None:
    """engine-191: an import gets a new id and this directory, and preserves its model, title and messages."""
    path = saved(store, user("a"), assistant("b", call("t")), results("t"), title="my work")
    exported = export_session(path, tmp_path / "x")
    there = SessionStore(tmp_path / "home2", tmp_path, "9")
    session = reopened(there, import_session(there, exported))
    original = reopened(store, path)
    assert session.messages == original.messages
    assert session.id != original.id and session.meta.cwd == str(tmp_path) and session.meta.version == "9"
    assert (session.meta.provider, session.meta.model) == ("anthropic", "opus")
    assert session.meta.title == "my work" and session.meta.parent == ""


def test_import_without_meta_row_fails_and_leaves_no_file(store: SessionStore, tmp_path: Path) -> None:
    """engine-192: a file whose first row is not meta is refused, and no session file is left."""
    odd = tmp_path / "odd.zotsession"
    odd.write_bytes(b'{"type":"rename","title":"x"}\n{"type":"meta","meta":{"id":"i"}}\n')
    with pytest.raises(SessionCorrupt):
        import_session(store, odd)
    with pytest.raises(SessionError):
        import_session(store, tmp_path / "missing.zotsession")
    assert not store.root.exists()


def test_a_row_of_22_mib_exports_and_imports(store: SessionStore, tmp_path: Path) -> None:
    """engine-179: a row of more than 22 MiB survives export and import."""
    image = ImageBlock("image/png", bytes(17 << 20))
    path = saved(store, user_message("look", (image,)))
    assert path.stat().st_size > 22 << 20
    imported = import_session(store, export_session(path, tmp_path / "x"))
    assert reopened(store, imported).messages[0].content[1] == image


def test_a_failed_copy_leaves_nothing_behind(store: SessionStore, tmp_path: Path) -> None:
    from zot.core.session.fork import write_new

    def lines():
        yield b"one\n"
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input"):
        write_new(tmp_path / "copy.jsonl", lines())
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == []


def test_an_imported_session_is_the_newest(store: SessionStore, tmp_path: Path) -> None:
    path = saved(store, user("a"))
    imported = import_session(store, export_session(path, tmp_path / "x"))
    assert store.newest() == imported
    assert texts(reopened(store, imported)) == ["a"]
