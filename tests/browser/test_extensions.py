"""issue 34: what extensions show on the page: panels, dialogs, surfaces, notes and completion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Serve
from tests.browser.user import User
from tests.fakes.extensions import seen_of, write_extension

BOARD = """
hello("edition2"); send(type="register_command", name="board", description="opens a board"); ready()
chosen, letters = [0], []
def rows():
    style = lambda at: "selection" if at == chosen[0] else "accent bold"
    made = [[{"text": name, "style": style(at)}] for at, name in enumerate(["first", "second", "third"])]
    return [*made, "letters " + "".join(letters)]
def opened(f):
    send(type="command_response", id=f["id"], action="open_panel",
         open_panel={"id": "b", "title": "Board", "rows": rows(), "footer": "arrows move"})
def pressed(f):
    chosen[0] = (chosen[0] + {"down": 1, "up": -1}.get(f["key"], 0)) % 3
    if f["key"] == "rune": letters.append(f["text"])
    send(type="panel_render", panel_id="b", rows=rows(), footer="arrows move")
serve(command_invoked=opened, panel_key=pressed)
"""

ASKING = """
import threading
hello("edition2"); send(type="register_command", name="ask", description="asks"); ready()
answers = {}
def run(f):
    threading.Thread(target=work, args=(f,)).start()
def work(f):
    id = f["id"]; answers[id] = threading.Event(), []
    send(type="request", id=id, method="ui.ask", params=json.loads(f["args"]), parent_id=id)
    answers[id][0].wait()
    send(type="command_response", id=id, action="display", display="got " + json.dumps(answers[id][1][0]["result"]))
def answered(f):
    answers[f["id"]][1].append(f); answers[f["id"]][0].set()
serve(command_invoked=run, response=answered)
"""

DRAWING = """
hello("edition2"); send(type="register_command", name="draw", description="draws")
def put(kind, name, **value):
    send(type="contribute", kind=kind, name=name, value=value)
put("status", "env", line=[{"text": "staging", "style": "warning"}])
put("widget", "w", lines=["widget above", [{"text": "<b>no tag</b>", "fg": "#ff0000"}]])
put("header", "h", lines=["the header"])
ready()
def run(f):
    put("status", "env", line="production")
    send(type="withdraw", kind="widget", name="w")
    send(type="notify", level="info", message="a note")
    send(type="command_response", id=f["id"], action="insert", insert="text of the extension")
serve(command_invoked=run)
"""


def test_panel_gets_keys_and_closes(user: User, serve: Serve, tmp_path: Path) -> None:
    directory = write_extension(tmp_path, "board", BOARD, uses=["ui"])
    user.start(serve("-e", str(directory)))
    user.write("/board")
    user.press("Enter")
    user.sees(".panel h2", "Board")
    user.sees(".panel .role-selection", "first")
    user.until("document.activeElement.className === 'panel-body'")
    user.press("ArrowDown")
    user.sees(".panel .role-selection", "second")
    user.press("x")
    user.sees(".panel .row", "letters x")
    user.sees(".panel-footer", "arrows move")
    user.press("Escape")
    user.sees_no(".panel")
    user.until("document.activeElement.id === 'prompt'")
    assert [frame["key"] for frame in seen_of(directory, "panel_key")] == ["down", "rune"]


OPTIONS = [
    {"value": "a", "label": [{"text": "Alpha", "style": "accent"}], "group": "Greek"},
    {"value": "b", "label": "Beta", "description": "the second", "group": "Greek"},
    {"value": "c", "disabled": True},
]
FIELDS = [
    {"name": "host", "kind": "text", "title": "Host", "required": True},
    {"name": "port", "kind": "integer", "title": "Port", "default": 80},
    {"name": "tls", "kind": "yes", "title": "TLS"},
    {"name": "zone", "kind": "choice", "title": "Zone", "choices": ["x", "y"], "labels": ["Zone X", "Zone Y"]},
]


@pytest.mark.parametrize(
    ("asked", "steps", "value"),
    [
        pytest.param({"kind": "confirm", "yes": "Do it"}, [("click", "button", "Do it")], True, id="confirm"),
        pytest.param(
            {"kind": "select", "options": OPTIONS},
            [("click", ".option", "Beta"), ("click", "button", "Choose")],
            "b",
            id="select",
        ),
        pytest.param(
            {"kind": "choose", "options": OPTIONS},
            [("click", ".option", "Alpha"), ("click", ".option", "Beta"), ("click", "button", "Choose")],
            ["a", "b"],
            id="choose",
        ),
        pytest.param(
            {"kind": "input", "placeholder": "name"},
            [("fill", "input", "Zora"), ("click", "button", "Send")],
            "Zora",
            id="input",
        ),
        pytest.param(
            {"kind": "editor", "text": "old"},
            [("fill", "textarea", "new"), ("click", "button", "Send")],
            "new",
            id="editor",
        ),
        pytest.param(
            {"kind": "form", "fields": FIELDS},
            [
                ("fill", "input[type=text]", "example"),
                ("click", ".check", "TLS"),
                ("choose", "select", "y"),
                ("click", "button", "Send"),
            ],
            {"host": "example", "port": 80, "tls": True, "zone": "y"},
            id="form",
        ),
    ],
)
def test_dialog_of_each_kind_is_answered(
    user: User, serve: Serve, tmp_path: Path, asked: dict[str, Any], steps: list[tuple[str, str, str]], value: Any
) -> None:
    directory = write_extension(tmp_path, "asker", ASKING, uses=["dialogs"])
    user.start(serve("-e", str(directory)))
    message = [[{"text": "really", "style": "bold"}]]
    user.write(f"/ask {json.dumps({'title': 'Which?', 'message': message, **asked})}")
    user.press("Enter")
    user.sees(".request h2", "Which?")
    user.sees(".request .is-bold", "really")
    user.sees(".request .tag", "asker")
    for action, selector, text in steps:
        getattr(user, action)(f".request {selector}", text)
    user.sees(".entry.note", "got ")
    shown = user.text(".entry.note .markdown").removeprefix("got ")
    assert json.loads(shown.replace("“", '"'))["value"] == value
    user.sees_no(".request")


def test_dialog_with_address_is_shown_whole_and_cancelled(user: User, serve: Serve, tmp_path: Path) -> None:
    directory = write_extension(tmp_path, "asker", ASKING, uses=["dialogs"])
    user.start(serve("-e", str(directory)))
    user.write(f"/ask {json.dumps({'kind': 'url', 'title': 'Open?', 'url': 'https://example.com/a?b=c'})}")
    user.press("Enter")
    user.sees(".request .address code", "https://example.com/a?b=c")
    rel = user.evaluate("document.querySelector('.request .address a').rel")
    assert rel == "noopener noreferrer"
    user.click(".request button", "Cancel")
    user.sees(".entry.note", "cancelled")


def test_surfaces_notes_and_inserted_text(user: User, serve: Serve, tmp_path: Path) -> None:
    directory = write_extension(tmp_path, "drawer", DRAWING, uses=["ui"])
    user.start(serve("-e", str(directory)))
    user.sees(".status-item .role-warning", "staging")
    user.sees(".surface-header", "the header")
    user.sees(".widget", "<b>no tag</b>")
    user.write("/draw")
    user.press("Enter")
    user.sees(".status-item", "production")
    user.sees_no(".widget")
    user.sees(".toast", "a note")
    user.until("document.querySelector('#prompt').value === 'text of the extension'")


def test_inspector_shows_events_and_extension_frames(user: User, serve: Serve, tmp_path: Path) -> None:
    directory = write_extension(tmp_path, "board", BOARD, uses=["ui"])
    user.start(serve("-e", str(directory)))
    user.prompt("hello there")
    user.is_done()
    user.press("2", "alt")
    user.sees(".event-name", "assistant_message")
    user.sees_no(".event-name", "text_delta")
    user.click(".timeline-bar .check", "pieces of text")
    user.sees(".event-name", "text_delta")
    user.fill("#timeline-filter", "user_message")
    user.sees_no(".event-name", "text_delta")
    user.click(".event-name", "user_message")
    user.sees(".detail .output", "hello there")
    user.press("1", "alt")
    user.press("2", "alt")
    user.sees(".timeline-rows")
    user.press("1", "alt")
    user.write("/board")
    user.press("Enter")
    user.sees(".panel")
    user.press("2", "alt")
    user.press("1", "alt")
    user.sees(".panel")


def test_inspector_shows_frames_of_an_extension(user: User, serve: Serve, tmp_path: Path) -> None:
    directory = write_extension(tmp_path, "board", BOARD, uses=["ui"])
    server = serve("-e", str(directory))
    user.start(server)
    user.press("2", "alt")
    user.until("document.querySelectorAll('.timeline-bar input:checked').length === 1")
    with server.client(user.conversation, key=user.evaluate("localStorage.getItem('zot-key')")) as other:
        assert other.ask("take_over")["success"]
        assert other.ask("run_command", name="board")["success"]
    user.sees(".timeline-rows td", "board")
    user.sees(".event-name", "command_invoked")
    user.click(".event-name", "command_response")
    user.sees(".detail .output", "open_panel")
