"""issue 34: writing prompts: completion, pictures, queue and steering, and the pickers."""

from __future__ import annotations

import base64
from pathlib import Path

from tests.browser.conftest import DONE, Serve
from tests.browser.user import User

SLOW = {"text": "", "tool_calls": [{"name": "bash", "args": {"command": "sleep 1.2"}}]}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP8z4APMOGVHbHSAEEsAROxCnMTAAAAAElFTkSuQmCC"


def test_mention_completes_a_file(user: User, serve: Serve, project: Path) -> None:
    (project / "src").mkdir()
    (project / "src" / "walrus.py").write_text("secret = 'tusk'\n")
    (project / "other.py").write_text("")
    user.start(serve())
    user.write("look at @walr")
    user.sees(".completion li[aria-selected=true]", "src/walrus.py")
    user.press("Tab")
    user.until("document.querySelector('#prompt').value === 'look at @src/walrus.py '")
    user.press("Enter")
    user.sees(".entry.user", "look at @src/walrus.py")


def test_slash_command_is_completed_and_run(user: User, serve: Serve, project: Path) -> None:
    (commands := project / ".zot" / "prompts").mkdir(parents=True)
    (commands / "greet.md").write_text("---\ndescription: greets somebody\n---\nSay hello to $1.\n")
    user.start(serve("--trust-project"))
    user.write("/")
    user.sees(".completion li", "/compact")
    user.press("Escape")
    user.sees_no(".completion")
    user.page.type("help")
    user.press("Enter")
    user.sees(".modal h2", "Keys")
    user.press("Escape")
    user.sees_no(".modal")


def test_picture_is_pasted_sent_and_shown(user: User, serve: Serve) -> None:
    user.start(serve())
    user.is_ready()
    user.evaluate(
        "(() => { const data = new DataTransfer();"
        f" const bytes = Uint8Array.from(atob('{PIXEL}'), c => c.charCodeAt(0));"
        " data.items.add(new File([bytes], 'pixel.png', {type: 'image/png'}));"
        " document.querySelector('#prompt').dispatchEvent("
        "new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true})); })()"
    )
    user.sees(".attachments li")
    user.prompt("what is this")
    user.sees(".entry.user .picture img")
    user.until("document.querySelector('.entry.user .picture img').naturalWidth === 10")
    user.sees_no(".attachments li")


def test_picture_of_a_tool_is_shown(user: User, serve: Serve, project: Path) -> None:
    (project / "pixel.png").write_bytes(base64.b64decode(PIXEL))
    read = {"text": "", "tool_calls": [{"name": "read", "args": {"path": "pixel.png"}}]}
    user.start(serve(turns=[read, DONE]))
    user.prompt("go")
    user.is_done()
    user.sees(".tool .pictures")


def test_prompts_queue_and_can_be_taken_back(user: User, serve: Serve) -> None:
    user.start(serve(turns=[SLOW, DONE, DONE]))
    user.prompt("first")
    user.sees("#send", "Queue")
    for text in ("second", "third"):
        user.page.type(text)
        user.press("Enter")
        user.sees(".queued", text)
    user.click(".queued:last-of-type button", "Take back")
    user.sees_no(".queued", "third")
    user.until("document.querySelector('#prompt').value === 'third'")
    user.sees(".entry.user", "second")
    user.is_done()
    assert user.count(".entry.user") == 2


def test_steering_reaches_the_running_prompt(user: User, serve: Serve) -> None:
    user.start(serve(turns=[SLOW, DONE], repeat=False))
    user.prompt("first")
    user.sees("#stop")
    user.page.type("rather like this")
    user.press("Enter", "ctrl")
    user.sees(".queued .tag", "steers")
    user.sees(".entry.user", "rather like this")
    user.is_done()
    user.sees(".entry.text", "All done.")
    user.sees_no(".queued")


def test_model_and_mode_are_chosen(user: User, serve: Serve) -> None:
    user.start(serve("--permission-mode", "ask", "--permission-limit", "everything"))
    user.choose("#mode", "plan")
    user.sees("#mode")
    user.choose("#mode", "ask")
    user.is_ready()
    user.press("p", "alt")
    user.sees(".toast", "permission mode: accept-edits")
    user.press("p", "alt")
    user.sees(".toast", "permission mode: everything")
    user.until("document.querySelector('#mode').value === 'everything'")
    user.click("#model")
    user.sees(".models li", "script")
    user.press("Enter")
    user.sees_no(".modal")
