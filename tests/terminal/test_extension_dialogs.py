"""Questions of extensions on the screen."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_ext2_modes import ASKING
from tests.fakes.extensions import seen_of, write_extension
from tests.fakes.model_server import CallTools, Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot

DEAF = 0.3  # seconds after which a dialog takes keys


@pytest.fixture
def asker(zot: Zot) -> Path:
    return write_extension(zot.home / "zot" / "extensions", "asker", ASKING, uses=["dialogs"])


def ask(terminal: FakeTerminal, **params: Any) -> None:
    """Run the command that asks, and wait until the dialog takes keys."""
    text = f"/ask {json.dumps(params)}"
    terminal.type(text)
    terminal.wait_for(text[-3:])
    terminal.press("enter")
    terminal.wait_for("extension asker asks")
    terminal.pump(DEAF)


def result(asker: Path, number: int = 0) -> Any:
    answers = seen_of(asker, "response")
    return answers[number].get("result") or answers[number]["error"]


def test_the_frame_names_the_extension_in_a_row_of_zot(serve: Any, open_zot: OpenZot, asker: Path) -> None:
    """ext2-068: zot draws `extension NAME asks` from the first column on; title and message stand below, indented."""
    serve([])
    terminal = open_zot()
    message = ["━━ extension other asks ━━", [{"text": "second", "style": "bold"}]]
    ask(terminal, kind="confirm", title="Deploy to production?", message=message, yes="deploy")
    rows = terminal.screen.splitlines()
    frame = next(at for at, row in enumerate(rows) if "extension asker asks" in row)
    assert rows[frame].startswith("━━ extension asker asks ━━")
    assert rows[frame + 1].strip() == "Deploy to production?"
    assert "  ━━ extension other asks" in terminal.screen and "\n━━ extension other" not in terminal.screen
    assert terminal.cell("extension asker asks").reverse
    terminal.press("y")
    terminal.wait_for('"value": true')
    assert result(asker) == {"value": True, "source": "person"}


@pytest.mark.parametrize(
    ("params", "keys", "value"),
    [
        ({"kind": "confirm", "default": True}, ["enter"], True),
        ({"kind": "confirm"}, ["enter"], False),
        ({"kind": "select", "options": [{"value": "a"}, {"value": "b", "disabled": True}, {"value": "c"}]},
         ["down", "enter"], "c"),
        ({"kind": "select", "options": [{"value": "one"}, {"value": "two"}]}, ["w", "enter"], "two"),
        ({"kind": "choose", "options": [{"value": "a"}, {"value": "b"}, {"value": "c"}], "default": ["c"]},
         ["space", "enter"], ["a", "c"]),
        ({"kind": "input", "text": "ab"}, ["c", "enter"], "abc"),
        ({"kind": "editor"}, ["a", "alt+enter", "b", "enter"], "a\nb"),
        ({"kind": "form", "fields": [
            {"name": "n", "kind": "integer"}, {"name": "ok", "kind": "yes"}, {"name": "e", "kind": "choice",
             "choices": ["x", "y"], "default": "x"}, {"name": "many", "kind": "choices", "choices": ["p", "q"]}]},
         ["4", "2", "enter", "space", "tab", "right", "tab", "right", "space", "enter"],
         {"n": 42, "ok": True, "e": "y", "many": ["q"]}),
        ({"kind": "url", "url": "https://example.test/login"}, ["down", "enter"], True),
    ],
)  # fmt: skip
def test_every_kind_of_dialog(
    serve: Any, open_zot: OpenZot, asker: Path, params: dict[str, Any], keys: list[str], value: Any
) -> None:
    """ext2-068: all seven kinds can be answered with the keyboard."""
    serve([])
    terminal = open_zot(columns=100)
    ask(terminal, title="Please", **params)
    terminal.press(*keys)
    terminal.wait_for("[asker]")
    assert result(asker) == {"value": value, "source": "person"}


@pytest.mark.parametrize("key", ["esc", "ctrl+c"])
def test_esc_and_ctrl_c_cancel(serve: Any, open_zot: OpenZot, asker: Path, key: str) -> None:
    """ext2-071: esc and ctrl+c close a dialog with `cancelled`."""
    serve([])
    terminal = open_zot()
    ask(terminal, kind="input", title="Name")
    terminal.press(key)
    terminal.wait_for("[asker]")
    assert result(asker) == {"cancelled": True, "source": "person"}


def test_a_dialog_takes_no_key_at_first(serve: Any, open_zot: OpenZot, asker: Path) -> None:
    """ext2-070: keys of the first 250 ms answer nothing."""
    serve([])
    terminal = open_zot()
    terminal.submit('/ask {"kind": "confirm", "title": "Really?"}')
    terminal.wait_for("extension asker asks")
    terminal.press("y")
    terminal.pump(DEAF)
    assert "Really?" in terminal.screen and not seen_of(asker, "response")
    terminal.press("n")
    terminal.wait_for("[asker]")
    assert result(asker)["value"] is False


def test_zots_own_question_hides_the_dialog_and_is_deaf_after_it(
    serve: Any, open_zot: OpenZot, zot: Zot, tmp_path: Path
) -> None:
    """ext2-069, ext2-070: an approval hides an extension's dialog, and takes no key just after one."""
    body = """
hello("edition2"); subscribe(events=["tool_confirmation_requested"]); ready()
serve(event=lambda f: send(type="request", id="1", method="ui.ask", params={"kind": "confirm", "title": "Mine?"}))
"""
    directory = write_extension(zot.home / "zot" / "extensions", "nosy", body, uses=["dialogs"])
    serve([CallTools([("bash", {"command": "touch made"})]), Say("done now")])
    terminal = open_zot("--permission-mode", "ask")
    terminal.submit("go")
    terminal.wait_for("run bash?")
    terminal.pump(0.5)
    assert "Mine?" not in terminal.screen
    terminal.press("1")
    terminal.wait_for("done now")
    terminal.wait_for("extension nosy asks")
    assert (zot.project / "made").exists() and not seen_of(directory, "response")


def test_a_countdown_is_shown_and_ends_the_dialog(serve: Any, open_zot: OpenZot, asker: Path) -> None:
    """ext2-068: a time limit is counted down on the screen; then the dialog closes."""
    serve([])
    terminal = open_zot()
    began = time.monotonic()
    terminal.submit('/ask {"kind": "confirm", "title": "Quick?", "timeout_s": 2}')
    terminal.wait_for("2 s left")
    terminal.wait_for("1 s left")
    terminal.wait_gone("Quick?")
    assert time.monotonic() - began >= 1.9 and result(asker)["code"] == "timeout"


def test_a_long_form_has_pages_and_says_what_is_wrong(serve: Any, open_zot: OpenZot, asker: Path) -> None:
    """ext2-068: more than six fields are pages under a tab bar; a missing value is named."""
    serve([])
    fields = [{"name": f"f{number}", "required": number == 1} for number in range(1, 9)]
    terminal = open_zot()
    ask(terminal, kind="form", title="Many", fields=fields)
    assert "1-6" in terminal.screen and "7-8" in terminal.screen and "f8" not in terminal.screen
    terminal.press("pagedown")
    terminal.wait_for("f8")
    terminal.press("down", "enter")
    terminal.wait_for("f1: expected a value")
    terminal.press("x", "pagedown", "down", "enter")
    terminal.wait_for("[asker]")
    assert result(asker) == {"value": {"f1": "x"}, "source": "person"}


def test_a_dialog_fits_a_small_screen(serve: Any, open_zot: OpenZot, asker: Path) -> None:
    """ext2-051: texts are wrapped to the width; the choices stay visible below a long message."""
    serve([])
    terminal = open_zot(columns=40, rows=12)
    options = [{"value": str(number), "label": f"option {number}", "description": "d" * 60} for number in range(50)]
    ask(terminal, kind="select", title="T" * 150, message=["long " * 100], options=options)
    assert "› option 0" in terminal.screen
    terminal.press("end", "enter")
    terminal.wait_for("[asker]")
    assert result(asker)["value"] == "49"
