"""issue 34: sessions on the page: the list with search, opening, fork, rewind and export."""

from __future__ import annotations

from pathlib import Path

from tests.browser.conftest import DONE, Serve
from tests.browser.user import User


def test_search_finds_and_opens_a_stored_session(user: User, serve: Serve) -> None:
    server = serve()
    user.start(server)
    user.prompt("the walrus and the carpenter")
    user.is_done()
    first = user.conversation
    user.click("#new")
    user.click(".modal button", "Start")
    user.until(f"location.hash.length > 4 && !location.hash.includes('{first}')")
    user.prompt("something else")
    user.is_done()
    user.fill("#search", "walrus")
    user.sees_no("[aria-labelledby=sessions-title] .row-title", "something else")
    user.click("[aria-labelledby=sessions-title] .row-main", "walrus")
    user.sees(".entry.user", "the walrus and the carpenter")
    assert user.conversation == first


def test_fork_copies_the_messages_before_a_prompt(user: User, serve: Serve) -> None:
    user.start(serve())
    for text in ("one", "two"):
        user.prompt(text)
        user.is_done()
    first = user.conversation
    user.click(".entry.user:nth-of-type(3) button, .entry.user ~ .entry.user button", "Fork")
    user.sees(".toast", "forked")
    user.until(f"location.hash.length > 4 && !location.hash.includes('{first}')")
    user.is_ready()
    user.sees(".entry.user", "one")
    user.sees_no(".entry.user", "two")


def test_rewind_previews_then_restores_files(user: User, serve: Serve, project: Path) -> None:
    write = {"text": "", "tool_calls": [{"name": "write", "args": {"path": "new.txt", "content": "made\n"}}]}
    user.start(serve(turns=[DONE, write, DONE], repeat=False))
    user.prompt("first")
    user.is_done()
    user.prompt("make a file")
    user.is_done()
    assert (project / "new.txt").exists()
    user.click(".entry.user ~ .entry.user button", "Rewind")
    user.sees(".preview .files", "new.txt")
    assert (project / "new.txt").exists()
    user.click("#rewind-go")
    user.sees_no(".entry.user", "make a file")
    user.sees(".entry.user", "first")
    user.until("document.querySelector('#prompt').value === 'make a file'")
    assert not (project / "new.txt").exists()


def test_export_saves_a_file(user: User, serve: Serve, tmp_path: Path) -> None:
    user.start(serve())
    user.prompt("export me")
    user.is_done()
    (folder := tmp_path / "downloads").mkdir()
    user.page.download_to(folder)
    user.click("[aria-labelledby=sessions-title] .menu-box > button")
    user.click("[role=menuitem]", "Markdown")
    for _ in range(200):
        found = [path for path in folder.iterdir() if path.suffix == ".md"]
        if found:
            break
        user.evaluate("new Promise(done => setTimeout(done, 25))")
    assert "export me" in found[0].read_text()


def test_new_conversation_in_another_directory(user: User, serve: Serve, tmp_path: Path) -> None:
    (other := tmp_path / "other project").mkdir()
    user.open(serve())
    user.click("button", "In another directory")
    user.fill("#directory", str(other))
    user.click(".modal button", "Start")
    user.is_ready()
    user.sees(".cwd", "other project")
