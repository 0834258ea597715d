"""Each example as a real process: its frames through a pipe, its effect through ``zot``."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import toolchains
from tests.e2e.conftest import Zot, serve, zot
from tests.fakes.model_server import CallTools, Say
from zot.features.extensions.install.copy_tree import copy_extension
from zot.features.extensions.loader.manifest import read_manifest

__all__ = ["serve", "zot"]  # the fixtures of the real program

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "extensions"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/extension.json"))
RUNNING = [name for name in NAMES if read_manifest(EXAMPLES / name).has_process]

Frame = dict[str, Any]


class Example:
    """A copy of an example, so that its state does not lie in the repository."""

    def __init__(self, name: str, place: Path) -> None:
        self.directory = place / name
        copy_extension(read_manifest(EXAMPLES / name), self.directory, print)
        for written in (EXAMPLES / ".gitignore").read_text(encoding="utf-8").splitlines()[1:]:
            (self.directory / written).unlink(missing_ok=True)  # somebody has tried the example where it is
        self.environment = {**os.environ, **toolchains.environment()}

    def play(self, *frames: Frame) -> list[Frame]:
        """The answers to these frames and goodbye; it must exit cleanly without other output."""
        manifest = read_manifest(self.directory)
        ack = {"type": "hello_ack", "protocol_version": 1, "data_dir": str(self.directory), "cwd": "/"}
        lines = [json.dumps(frame, separators=(",", ":")) for frame in (ack, *frames, {"type": "shutdown"})]
        done = subprocess.run(
            manifest.argv(self.environment["PATH"]),
            input="\n".join(lines) + "\n",
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=110,
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def answer(self, *frames: Frame) -> Frame:
        """The answer to the last of these frames."""
        return next(answer for answer in self.play(*frames) if answer.get("id") == frames[-1]["id"])


@pytest.fixture
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Example:
    """The example a test names in ``@of``."""
    return Example(request.param, tmp_path)


def of(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("example", [name], indirect=True, ids=[name])


def command(name: str, args: str = "", id: str = "1") -> Frame:
    return {"type": "command_invoked", "id": id, "name": name} | ({"args": args} if args else {})


def call(name: str, args: Frame, id: str = "1") -> Frame:
    return {"type": "tool_call", "id": id, "name": name, "args": args}


def ask(event: str, id: str = "1", **keys: Any) -> Frame:
    return {"type": "event_intercept", "id": id, "event": event, **keys}


def text_of(result: Frame) -> str:
    return "".join(block["text"] for block in result["content"])


# --- all of them


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_manifest_a_readme_and_a_line_in_the_list(name: str) -> None:
    manifest = read_manifest(EXAMPLES / name)
    assert manifest.name == name
    assert manifest.version
    assert manifest.description
    assert (EXAMPLES / name / "README.md").read_text().startswith(f"# {name}")
    assert f"[{name}]({name})" in (EXAMPLES / "README.md").read_text()


@pytest.mark.parametrize("name", RUNNING)
def test_each_passes_every_check_of_the_protocol(name: str, zot: Zot) -> None:
    example = Example(name, zot.project)
    zot.environment |= toolchains.environment()
    ran = zot("ext", "check", str(example.directory))
    assert ran.code == 0, ran.out


@pytest.mark.parametrize("name", NAMES)
def test_each_can_be_installed_from_the_checkout(name: str, zot: Zot) -> None:
    zot.environment |= toolchains.environment()
    if (EXAMPLES / name / "go.mod").exists():  # compiled ahead: the first start may take longer than zot waits
        subprocess.run(["go", "build", "-o", os.devnull, "."], cwd=EXAMPLES / name, check=True)
    assert zot("ext", "install", str(EXAMPLES / name)).code == 0
    report = zot("ext", "doctor")
    assert report.code == 0, report.out
    expected = ": ready" if name in RUNNING else ": loaded; it has no process"
    assert expected in next(line for line in report.out.splitlines() if line.startswith(f"{name} "))


def test_no_build_artefacts_are_kept() -> None:
    kept = subprocess.run(["git", "ls-files", "-s", "."], cwd=EXAMPLES, capture_output=True, text=True, check=True)
    assert "node_modules" not in kept.stdout
    for line in kept.stdout.splitlines():
        mode, _, rest = line.partition(" ")
        path = EXAMPLES / rest.split("\t")[1]
        if mode != "120000" and path.exists():  # a link's target is somebody else's
            assert b"\0" not in path.read_bytes(), path


# --- one by one


@of("hello")
def test_hello_greets_directly_and_summons_through_the_model(example: Example) -> None:
    assert example.answer(command("hello", "Ada"))["display"] == "Hello, Ada!"
    summoned = example.answer(command("summon", "Ada Lovelace"))
    assert summoned["action"] == "prompt"
    assert "Answer as Ada Lovelace would" in summoned["prompt"]
    assert example.answer(command("summon"))["error"]


@of("clock")
def test_clock_converts_time_zones_and_reports_unknown_ones(example: Example) -> None:
    assert "Asia/Tokyo" in text_of(example.answer(call("clock", {"zone": "Asia/Tokyo"})))
    assert "UTC" in example.answer(command("clock", "UTC"))["display"]
    wrong = example.answer(call("clock", {"zone": "Nowhere/Land"}))
    assert wrong["is_error"]


@of("weather")
def test_weather_is_the_same_for_the_same_city(example: Example) -> None:
    first = example.answer(call("weather", {"city": "Berlin"}))
    again = example.answer(call("weather", {"city": "  BERLIN "}))
    assert text_of(first).split(":")[1] == text_of(again).split(":")[1]
    assert "°F" in text_of(example.answer(call("weather", {"city": "Berlin", "unit": "fahrenheit"})))
    assert example.answer(call("weather", {"city": " "}))["is_error"]


@of("scratchpad")
def test_scratchpad_shares_notes_across_processes(example: Example) -> None:
    assert example.answer(command("note", "buy  milk"))["display"] == "noted (1)"
    assert text_of(example.answer(call("scratchpad", {"action": "add", "note": "call Bo"}))) == "noted (2)"
    assert text_of(example.answer(call("scratchpad", {"action": "list"}))) == "1. buy milk\n2. call Bo"
    assert example.answer(command("notes-to-prompt"))["insert"].startswith("1. buy milk")
    assert example.answer(call("scratchpad", {"action": "add"}))["is_error"]
    example.play(call("scratchpad", {"action": "clear"}))
    assert example.answer(command("note"))["display"] == "the scratchpad is empty"


DESTRUCTIVE = [
    "rm -rf build",
    "rm -r -f build",
    "cd x && rm -fR .",
    "rm --recursive --force x",
    "sudo ls",
    "echo x | sudo tee /etc/hosts",
    "dd if=/dev/zero of=/dev/sda",
    "mkfs.ext4 /dev/sda1",
    ":(){ :|:& };:",
    "bomb() { bomb | bomb & }; bomb",
    "chmod -R 777 .",
    "chmod --recursive a+rwx .",
]
HARMLESS = [
    "rm file",
    "rm -r build",
    "ls -rf",
    "echo pseudo",
    "dd if=a of=b",
    "chmod 777 x",
    "chmod -R 755 .",
    "f() { g; }; f",
]


@of("guard")
def test_guard_denies_destructive_commands_only(example: Example) -> None:
    asked = [
        ask("tool_call", id=str(place), tool_id="t", tool_name="bash", tool_args={"command": words})
        for place, words in enumerate([*DESTRUCTIVE, *HARMLESS])
    ]
    blocked = {answer["id"]: answer.get("block", False) for answer in example.play(*asked) if "id" in answer}
    refused = [words for place, words in enumerate([*DESTRUCTIVE, *HARMLESS]) if blocked[str(place)]]
    assert refused == DESTRUCTIVE


@of("guard")
def test_guard_audits_the_session(example: Example) -> None:
    example.play(
        {"type": "event", "event": "session_start"},
        {"type": "event", "event": "turn_start", "step": 1},
        {"type": "event", "event": "tool_call", "tool_id": "t", "tool_name": "read", "tool_args": {"path": "x"}},
        {"type": "event", "event": "turn_end", "stop": "tool_use"},
    )
    lines = [json.loads(line) for line in (example.directory / "audit.jsonl").read_text().splitlines()]
    assert [line["what"] for line in lines] == ["session_start", "turn_start", "tool_call", "turn_end"]
    assert (lines[2]["tool"], lines[2]["args"], lines[3]["stop"]) == ("read", {"path": "x"}, "tool_use")


@of("redactor")
def test_redactor_blacks_out_secrets_and_leaves_the_rest(example: Example) -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----"
    said = f"key sk-abcdefghij0123456789, AKIAABCDEFGHIJKLMNOP and\n{pem}"
    answer = example.answer(ask("assistant_message", text=said))
    assert answer["replace_text"] == "key [redacted key], [redacted key] and\n[redacted private key]"
    assert "replace_text" not in example.answer(ask("assistant_message", text="nothing to hide"))


@of("office-hours")
@pytest.mark.parametrize(("hours", "blocked"), [("00:00-24:00", False), ("00:00-00:00", True)])
def test_office_hours_decide_about_the_first_step(example: Example, hours: str, blocked: bool) -> None:
    example.environment |= {"OFFICE_HOURS": hours, "OFFICE_DAYS": "1-7"}
    answer = example.answer(ask("turn_start", step=1))
    assert answer.get("block", False) is blocked
    assert not blocked or "out of office" in answer["reason"]
    assert not example.answer(ask("turn_start", step=2)).get("block", False)


@of("todo")
def test_todo_concurrent_additions_are_all_stored(example: Example) -> None:
    example.play(*(command("todo", f"item {n}", id=str(n)) for n in range(40)))
    kept = example.answer(command("todo"))["open_panel"]["lines"]
    assert sorted(line[4:] for line in kept) == sorted(f"item {n}" for n in range(40))


@of("todo")
def test_todo_is_a_panel_that_remembers(example: Example) -> None:
    example.play(command("todo", "ship"))
    example.play(command("todo", "rest"))
    opened = example.answer(command("todo"))["open_panel"]
    assert (opened["id"], opened["lines"]) == ("todo-list", ["▸ □ ship", "  □ rest"])
    press = {"type": "panel_key", "panel_id": "todo-list"}
    frames = example.play(
        command("todo"),
        {**press, "key": "rune", "text": " "},
        {**press, "key": "down"},
        {**press, "key": "rune", "text": "d"},
    )
    renders = [frame["lines"] for frame in frames if frame["type"] == "panel_render"]
    assert renders == [["▸ ✓ ship", "  □ rest"], ["  ✓ ship", "▸ □ rest"], ["▸ ✓ ship"]]
    assert text_of(example.answer(call("todo_list", {}))) == "▸ ✓ ship"


@of("dice")
def test_dice_are_rolled_in_a_language_without_an_sdk(example: Example) -> None:
    total, parts = text_of(example.answer(call("roll_dice", {"dice": "3d6"}))).split(" ", 1)
    rolls = [int(part) for part in parts.strip("()").split(" + ")]
    assert (len(rolls), sum(rolls)) == (3, int(total))
    assert all(1 <= roll <= 6 for roll in rolls)
    assert example.answer(call("roll_dice", {"dice": "many"}))["is_error"]
    assert example.answer(command("roll", "nonsense"))["error"]


def test_midnight_starts_nothing() -> None:
    """ext-098: an extension with only a theme loads, starts no process and offers its theme."""
    manifest = read_manifest(EXAMPLES / "midnight")
    assert manifest.kind == "theme"
    assert json.loads(manifest.themes[0].read_text())["name"] == "midnight"


# --- under zot


def test_zot_with_guard_and_redactor_blocks_command_and_key(zot: Zot, serve: Any) -> None:
    guard, redactor = Example("guard", zot.project), Example("redactor", zot.project)
    (zot.project / "witness").touch()
    server = serve(
        [CallTools([("bash", {"command": "rm -rf witness"})]), Say("your key is sk-abcdefghij0123456789, keep it")]
    )
    ran = zot("-p", "--ext", str(guard.directory), "--ext", str(redactor.directory), "go")
    assert (ran.code, ran.out) == (0, "your key is [redacted key], keep it\n")
    assert (zot.project / "witness").exists()
    assert "refused by guard: rm -rf" in json.dumps(server.requests[1].json["messages"])


def test_under_zot_tools_of_three_languages_are_offered_together(zot: Zot, serve: Any) -> None:
    zot.environment |= toolchains.environment()
    flags = [word for name in ("weather", "clock", "dice") for word in ("--ext", str(EXAMPLES / name))]
    server = serve([CallTools([("weather", {"city": "Berlin"})]), Say("Nice.")])
    ran = zot("-p", *flags, "go")
    assert (ran.code, ran.out) == (0, "Nice.\n")
    assert {"weather", "clock", "roll_dice"} <= {tool["name"] for tool in server.requests[0].json["tools"]}
    assert "Berlin: " in json.dumps(server.requests[1].json["messages"])


def test_under_zot_office_hours_stop_the_model_call(zot: Zot, serve: Any) -> None:
    zot.environment["OFFICE_HOURS"] = "00:00-00:00"
    server = serve([Say("never")])
    ran = zot("-p", "--ext", str(EXAMPLES / "office-hours"), "go")
    assert ran.code == 1
    assert "out of office" in ran.err
    assert server.requests == []
