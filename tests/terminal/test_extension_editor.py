"""Extensions in the editor: text, keys, keymaps, decorations, completion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import seen, seen_of, write_extension
from tests.fakes.model_server import Say, Slow
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot

# Sends the frames of start.json at once, those of frames.json on /send, and answers requests as answers.json says, by
# method: a list of frames, with "ID" for the id.
EDITING = """
def load(name):
    path = os.path.join(HERE, name)
    return json.load(open(path)) if os.path.exists(path) else []
def fill(frame, id):
    return {key: id if value == "ID" else value for key, value in frame.items()}
hello("edition2"); send(type="register_command", name="send")
for frame in load("start.json"): send(**frame)
ready()
def run(f):
    for frame in load("frames.json"): send(**fill(frame, f["id"]))
    send(type="command_response", id=f["id"], action="noop")
def asked(f):
    answers = load("answers.json") or {}
    if f["method"] == "complete" and f["params"].get("text", "").startswith("slow"): time.sleep(0.6)
    for frame in answers.get(f["method"], []): send(**fill(frame, f["id"]))
serve(command_invoked=run, request=asked)
"""
USES = ["ui", "editor", "keys"]


class Extension:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def start_with(self, *frames: dict[str, Any]) -> None:
        (self.directory / "start.json").write_text(json.dumps(frames))

    def answer(self, **frames: list[dict[str, Any]]) -> None:
        (self.directory / "answers.json").write_text(json.dumps(frames))

    def send(self, terminal: FakeTerminal, *frames: dict[str, Any]) -> None:
        (self.directory / "frames.json").write_text(json.dumps(frames))
        terminal.submit("/send")

    def responses(self) -> dict[str, dict[str, Any]]:
        return {frame["id"]: frame for frame in seen_of(self.directory, "response")}

    def requests(self, method: str) -> list[dict[str, Any]]:
        return [frame["params"] for frame in seen_of(self.directory, "request") if frame["method"] == method]


@pytest.fixture
def extension(zot: Zot) -> Extension:
    return Extension(write_extension(zot.home / "zot" / "extensions", "ed", EDITING, uses=USES))


def put(kind: str, value: dict[str, Any], name: str = "n", **more: Any) -> dict[str, Any]:
    return {"type": "contribute", "kind": kind, "name": name, "value": value, **more}


def ask(method: str, id: str, **params: Any) -> dict[str, Any]:
    return {"type": "request", "id": id, "method": method, "params": params}


# --- the text


def test_an_extension_reads_the_text_only_for_the_user(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-088: within a command of the user it is given; otherwise only if the text came from this extension."""
    serve([])
    extension.start_with(put("key", {"keys": ["alt+q"], "description": "reads"}, name="read"))
    extension.answer(key=[ask("editor.get", "in", parent_id="ID") | {"parent_id": "ID"},
                          ask("editor.get", "out"), {"type": "response", "id": "ID", "result": {}}])  # fmt: skip
    terminal = open_zot()
    terminal.type("my secret")
    terminal.wait_for("my secret")
    terminal.press("left", "left")
    terminal.press("alt+q")
    terminal.wait_until(lambda: {"in", "out"} <= extension.responses().keys(), "the answers")
    assert extension.responses()["in"]["result"] == {"text": "my secret", "cursor": 7, "images": 0}
    assert extension.responses()["out"]["error"]["code"] == "refused"


def test_text_of_an_extension_is_not_sent(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-089: `editor.set` and `editor.insert` never submit, and a leading slash or `!` gets a space."""
    server = serve([Say("answered")])
    terminal = open_zot()
    extension.send(terminal, ask("editor.set", "s", text="/exit", cursor=5), ask("editor.get", "g"))
    terminal.wait_for("▌  /exit")
    terminal.wait_until(lambda: "g" in extension.responses(), "the answer")
    assert extension.responses()["g"]["result"] == {"text": " /exit", "cursor": 6, "images": 0}
    assert server.requests == []
    terminal.press("ctrl+u")
    terminal.type("words ")
    extension_frames = [ask("editor.insert", "i", text="inserted\n" * 30)]
    (extension.directory / "frames.json").write_text(json.dumps(extension_frames))
    terminal.press("ctrl+u")
    terminal.submit("/send")
    terminal.wait_for("[pasted text #")
    assert server.requests == [] and terminal.exit_code is None


# --- keys


def test_a_key_runs_its_command_or_asks(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-090: `command` runs as if typed; otherwise `key` is asked, with the text, and its answer is done."""
    serve([])
    extension.start_with(
        put("key", {"keys": ["alt+q"], "description": "asks"}, name="asks"),
        put("key", {"keys": ["f5"], "description": "runs", "command": "/send"}, name="runs"),
    )
    extension.answer(key=[{"type": "response", "id": "ID", "result": {"action": "insert", "insert": "from the key"}}])
    (extension.directory / "frames.json").write_text(
        json.dumps([{"type": "notify", "level": "info", "message": "the command ran"}])
    )
    terminal = open_zot()
    terminal.type("draft ")
    terminal.wait_for("draft")
    terminal.press("alt+q")
    terminal.wait_for("draft from the key")
    assert extension.requests("key") == [{"name": "asks", "text": "draft "}]
    terminal.type("\x1b[15~")
    terminal.wait_for("the command ran")


def test_keys_that_are_taken_are_conflicts(serve: Any, open_zot: OpenZot, extension: Extension, zot: Zot) -> None:
    """ext2-090: the person's keymap, zot's keys, then the first extension; letters and enter cannot be taken."""
    serve([])
    (zot.home / "zot" / "config.json").write_text('{"start_mode": "everything", "keymap": {"alt+m": "/model"}}')
    other = Extension(
        write_extension(zot.home / "zot" / "extensions", "aa", EDITING.replace('"send")', '"other")'), uses=USES)
    )
    other.start_with(put("key", {"keys": ["alt+q"], "description": "first"}))
    wanted = {
        "p": "alt+m",
        "z": "ctrl+k",
        "c": "ctrl+c",
        "q": "alt+q",
        "x": "x",
        "e": "enter",
        "f": "f5",
        "s": "ctrl+s",
    }
    terminal = open_zot()
    frames = [put("key", {"keys": [key], "description": "d"}, name=id, id=id) for id, key in wanted.items()]
    extension.send(terminal, *frames)
    terminal.wait_until(lambda: wanted.keys() <= extension.responses().keys(), "the answers")
    errors = {id: frame.get("error", {}) for id, frame in extension.responses().items()}
    codes = {id: error.get("code", "") for id, error in errors.items()}
    refused = dict.fromkeys("pzcqs", "conflict") | dict.fromkeys("xe", "bad_params")
    assert codes == refused | {"f": ""}
    assert "your keymap" in errors["p"]["message"] and "extension aa" in errors["q"]["message"]
    assert "belongs to zot" in errors["z"]["message"]


def test_a_command_of_a_key_cannot_widen_what_runs(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-090: a key that the user pressed without knowing does not switch approvals off."""
    serve([])
    extension.start_with(put("key", {"keys": ["alt+q"], "description": "d", "command": "/yolo"}))
    terminal = open_zot("--no-yolo")
    terminal.press("alt+q")
    terminal.wait_for("an extension cannot run it")
    assert "asks first" in terminal.screen


# --- keymaps

VI = {
    "start": "insert",
    "modes": {
        "insert": {"label": "INSERT", "printable": "insert", "keys": {"esc": {"mode": "normal"}}},
        "normal": {
            "label": [{"text": "NORMAL", "style": "warning"}],
            "printable": "ignore",
            "keys": {
                "i": {"mode": "insert"},
                "h": "left",
                "x": "delete",
                "D": "delete_line",
                "u": "undo",
                "A": {"then": ["line_end", {"mode": "insert"}]},
                "g": {"ask": "ask-me"},
                "S": "submit",
            },
        },
    },
}


def test_a_keymap_has_modes_and_actions(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-086: a keymap is data: zot runs it, names the mode, and ignores letters where the mode says so."""
    server = serve([Say("answered")])
    extension.start_with(put("keymap", VI))
    terminal = open_zot()
    terminal.wait_for("INSERT")
    terminal.type("some words")
    terminal.wait_for("some words")
    terminal.press("esc")
    terminal.wait_for("NORMAL")
    terminal.type("hxzzz")
    terminal.wait_for("some word\n")
    terminal.type("Ay")
    terminal.wait_for("some wordy")
    terminal.wait_for("INSERT")
    terminal.press("esc")
    terminal.wait_for("NORMAL")
    terminal.type("D")
    terminal.wait_gone("some word")
    terminal.type("u")
    terminal.wait_for("some wordy")
    terminal.type("g")
    terminal.wait_until(lambda: [each["name"] for each in extension.requests("key")] == ["ask-me"], "the request")
    terminal.type("S")
    terminal.wait_for("answered")
    assert "some wordy" in str(server.requests[0].json)


def test_a_keymap_cannot_take_ctrl_c_and_esc_twice_stops_a_turn(
    serve: Any, open_zot: OpenZot, extension: Extension
) -> None:
    """ext2-086: ctrl+c and ctrl+d stay zot's; an unknown action is a diagnostic and does nothing."""
    serve([Slow(Say("one two three four five six seven eight nine ten"), 0.5)])
    caught = {"mode": "b"}
    keys = {"esc": caught, "ctrl+c": caught, "ctrl+d": caught, "alt+w": "explode"}
    modes = {"a": {"label": "TRAP", "keys": keys}, "b": {"label": "CAUGHT", "keys": {**keys, "esc": {"mode": "a"}}}}
    extension.start_with(put("keymap", {"start": "a", "modes": modes}))
    terminal = open_zot()
    terminal.wait_for("TRAP")
    assert "unknown action 'explode'" in terminal.everything and "ctrl+c cannot be mapped" in terminal.everything
    terminal.submit("go")
    terminal.wait_for("one")
    terminal.press("esc")
    terminal.wait_for("CAUGHT")
    terminal.press("esc")
    terminal.wait_for("cancelled")
    terminal.press("ctrl+c", "ctrl+c")
    assert terminal.wait_exit() == 0


def test_text_of_an_extension_is_not_submitted_by_its_keymap(
    serve: Any, open_zot: OpenZot, extension: Extension
) -> None:
    """ext2-089: a letter mapped to `submit` does not send what the extension put there; enter does."""
    server = serve([Say("answered")])
    modes = {"a": {"label": "MODE", "keys": {"z": {"then": [{"command": "/send"}, "submit"]}}}}
    extension.start_with(put("keymap", {"start": "a", "modes": modes}))
    terminal = open_zot()
    terminal.wait_for("MODE")
    (extension.directory / "frames.json").write_text(json.dumps([ask("editor.set", "s", text="rm -rf everything")]))
    terminal.type("z")
    terminal.wait_for("rm -rf everything")
    terminal.type("z")
    terminal.wait_until(lambda: len(seen_of(extension.directory, "command_invoked")) == 2, "the second command")
    terminal.wait_idle()
    assert server.requests == []
    terminal.press("enter")
    terminal.wait_for("answered")


def test_vi_mode_wins_over_a_keymap(serve: Any, open_zot: OpenZot, extension: Extension, zot: Zot) -> None:
    """ext2-086: the person's `vi_mode` is above every keymap of an extension."""
    serve([])
    (zot.home / "zot" / "config.json").write_text('{"start_mode": "everything", "vi_mode": true}')
    extension.start_with(put("keymap", VI))
    terminal = open_zot()
    terminal.type("abc")
    terminal.wait_for("abc")
    terminal.press("esc")
    terminal.wait_for(": abc")
    assert "NORMAL" not in terminal.screen


# --- decorations and borders


def test_decorations_style_and_animate(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-086, ext2-087: words and patterns are styled in turn, and frames change without a frame on the wire."""
    serve([])
    extension.start_with(
        put("decoration", {"match": "URGENT", "ignore_case": True, "styles": [{"style": "error"}]}, name="word"),
        put("decoration", {"pattern": r"#\d+", "styles": [{"style": "accent"}, {"style": "bold"}]}, name="number"),
        put("decoration", {"match": "spin", "styles": [{"style": "error"}], "every_ms": 60,
                           "frames": [[{"style": "error"}], [{"style": "success"}]]}, name="spin"),
        put("border", {"top_left": [{"text": "my corner", "style": "accent"}], "bottom_right": "other corner"}),
    )  # fmt: skip
    terminal = open_zot()
    terminal.wait_for("my corner")
    assert "other corner" in terminal.screen
    terminal.type("urgent see #12 spin")
    terminal.wait_for("#12 spin")
    terminal.wait_until(lambda: terminal.cell("urgent").fg == "ff5f5f", "the colour")
    assert terminal.cell("#12").fg == "87afff" and terminal.cell("12 spin").bold
    frames = len(seen(extension.directory))
    colours: set[str] = set()

    def changed() -> bool:
        colours.add(terminal.cell("spin").fg)
        return {"ff5f5f", "87d787"} <= colours

    terminal.wait_until(changed, "both colours")
    assert len(seen(extension.directory)) == frames


def test_a_slow_pattern_is_switched_off(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-087: a pattern that takes longer than 2 ms is switched off with one diagnostic; typing goes on."""
    serve([])
    extension.start_with(
        put("decoration", {"pattern": "(a|b|ab)*(a+)+c", "styles": [{"style": "error"}]}, name="evil"),
        put("decoration", {"match": "fine", "styles": [{"style": "error"}]}, name="fine"),
    )
    terminal = open_zot()
    terminal.paste("fine " + "ab" * 150)
    terminal.wait_for("was switched off")
    terminal.type(" still typing")
    terminal.wait_for("typing")
    assert terminal.cell("fine").fg == "ff5f5f" and terminal.everything.count("was switched off") == 1


def test_patterns_beyond_the_grammar_are_refused(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-087: look-around, back references and patterns above 200 characters are `bad_params`."""
    serve([])
    terminal = open_zot()
    patterns = {"a": "(?=x)", "b": r"(a)\1", "l": "a" * 201, "r": "(a{90}){90}", "ok": "[a-z]+"}
    styles = [{"style": "bold"}]
    frames = [put("decoration", {"pattern": each, "styles": styles}, id, id=id) for id, each in patterns.items()]
    extension.send(terminal, *frames)
    terminal.wait_until(lambda: patterns.keys() <= extension.responses().keys(), "the answers")
    codes = {id: frame.get("error", {}).get("code", "") for id, frame in extension.responses().items()}
    assert codes == {**dict.fromkeys("ablr", "bad_params"), "ok": ""}


# --- completion

COMMAND = put("command", {"description": "deploys", "complete": True}, name="deploy")


def items(*values: Any) -> list[dict[str, Any]]:
    made = [{"value": value} if isinstance(value, str) else value for value in values]
    return [{"type": "response", "id": "ID", "result": {"items": made}}]


def test_arguments_of_a_command_are_completed(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-091: `complete` gets command, text and cursor; typing on cancels a question that is open."""
    serve([])
    extension.start_with(COMMAND)
    extension.answer(
        complete=items({"value": "production", "label": "prod \x1b[31mred", "description": "live"}, "staging")
    )
    terminal = open_zot()
    terminal.type("/deploy ")
    terminal.wait_for("staging")
    assert "prod red" in terminal.screen and "live [ed]" in terminal.screen
    terminal.type("p")
    terminal.wait_until(
        lambda: {"command": "deploy", "text": "p", "cursor": 1} in extension.requests("complete"), "the question"
    )
    terminal.press("tab")
    terminal.wait_for("▌ /deploy production")


def test_typing_on_cancels_and_late_items_are_shown(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-091: items that come after 300 ms are shown as they come; a question no longer needed is cancelled."""
    serve([])
    extension.start_with(COMMAND)
    extension.answer(complete=items("slow-one", "slow-two"))
    terminal = open_zot()
    terminal.type("/deploy slow")
    terminal.wait_for("slow-two")
    terminal.type("-")
    terminal.wait_until(
        lambda: any(each["text"] == "slow-" for each in extension.requests("complete")), "the next question"
    )
    terminal.type("t")
    terminal.wait_until(lambda: bool(seen_of(extension.directory, "cancel")), "the cancel")


def test_words_behind_a_trigger_are_completed(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-091: a trigger opens the list; `replace` says how much the value replaces."""
    serve([])
    extension.start_with(put("completion", {"triggers": ["#"], "min_chars": 1}))
    extension.answer(complete=items({"value": "#1234", "label": "1234 the title"}, {"value": "99", "replace": 2}))
    terminal = open_zot()
    terminal.type("see #")
    terminal.wait_for("see #")
    terminal.type("12")
    terminal.wait_for("1234 the title")
    asked = extension.requests("complete")
    assert asked[-1] == {"trigger": "#", "text": "12", "before": "see #12"} and all(each["text"] for each in asked)
    terminal.press("enter")
    terminal.wait_for("▌ see #1234")
    terminal.type("and #12")
    terminal.wait_for("1234 the title")
    terminal.press("down", "tab")
    terminal.wait_for("see #1234 and #99")
    terminal.type("x#12")
    terminal.wait_for("x#12")
    terminal.wait_idle()
    assert "the title" not in terminal.screen


def test_items_of_at_stand_below_the_files(serve: Any, open_zot: OpenZot, extension: Extension, project: Path) -> None:
    """ext2-091: `@` may be a trigger; the extension's items stand below zot's files."""
    serve([])
    (project / "alpha.py").touch()
    extension.start_with(put("completion", {"triggers": ["@"]}))
    extension.answer(complete=items({"value": "@alice", "label": "alice"}))
    terminal = open_zot()
    terminal.type("@al")
    terminal.wait_for("alice")
    terminal.wait_for("alpha.py")
    assert terminal.row_of("alpha.py") < terminal.row_of("alice")
    terminal.press("down", "enter")
    terminal.wait_for("▌ @alice")
    terminal.wait_gone("alpha.py")


def test_what_an_ended_process_added_is_gone(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-027, ext2-086: a keymap, keys and triggers end with the process; the editor is zot's again."""
    serve([])
    modes = {"a": {"label": "TRAPPED", "printable": "ignore", "keys": {"q": {"command": "/send"}}}}
    extension.start_with(put("keymap", {"start": "a", "modes": modes}), put("completion", {"triggers": ["#"]}))
    main = extension.directory / "main.py"
    main.write_text(main.read_text().replace("def run(f):", "def run(f):\n    os._exit(0)", 1))
    terminal = open_zot()
    terminal.wait_for("TRAPPED")
    terminal.type("q")
    terminal.wait_gone("TRAPPED")
    terminal.type("abc #1")
    terminal.wait_for("▌ abc #1")


def test_a_key_runs_commands_only(serve: Any, open_zot: OpenZot, extension: Extension) -> None:
    """ext2-090: what is no slash command is `bad_params`, so that a key sends no prompt."""
    serve([])
    terminal = open_zot()
    texts = ["/usr/bin/env x", "hello", "/ x", "!rm"]
    value = {"keys": ["alt+q"], "description": "d"}
    extension.send(
        terminal, *(put("key", {**value, "command": text}, f"n{n}", id=f"n{n}") for n, text in enumerate(texts))
    )
    terminal.wait_until(lambda: len(extension.responses()) == len(texts), "the answers")
    assert {frame["error"]["code"] for frame in extension.responses().values()} == {"bad_params"}
