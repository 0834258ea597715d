"""``zot replay``: a recording shown as the transcript it was; files that are none, or not any more."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Ran, Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say
from tests.fakes.terminal import FakeTerminal
from zot.system.checksummed_lines import add_checksum

HOSTILE = "before \x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m after"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("recorded")
    (place / "notes.txt").write_text("one\n")
    calls = [("read", {"path": "notes.txt"}), ("bash", {"command": "echo 'from the shell'"})]
    with FakeModelServer([CallTools(calls, text="Let me *look*."), Say(HOSTILE, reasoning="I wonder")]) as server:
        zot = Zot(place, place, server.url)
        assert zot("-p", "--record", str(place / "run.zotrec"), "what is there?").code == 0
    return place / "run.zotrec"


def replay(zot: Zot, *args: str, stdin: str | None = None) -> Ran:
    return zot("replay", *args, stdin=stdin, model=False)


def written(path: Path, *records: dict[str, Any]) -> Path:
    """A recording with these lines."""
    before, out = "", b""
    for record in records:
        line, before = add_checksum(json.dumps(record).encode(), before)
        out += line + b"\n"
    path.write_bytes(out)
    return path


# --- as it was


def test_replay_shows_the_transcript_as_plain_text(zot: Zot, recorded: Path) -> None:
    ran = replay(zot, "--fast", str(recorded))
    assert ran.code == 0 and "\x1b" not in ran.out
    rows = [row for row in ran.out.splitlines() if row]
    assert rows[0].startswith("◇ a recording of ") and f"in {recorded.parent}" in rows[0]
    assert rows[1:4] == ["› what is there?", "  Let me look.", "● Read notes.txt"]
    [ran_row] = [row for row in rows if row.startswith("● Ran echo 'from the shell' · ")]
    assert ran_row.endswith("from the shell")  # perhaps with a duration before it
    assert rows[-1].startswith("◇ the end: ") and "2 model calls, 2 tool calls" in rows[-1]


def test_nothing_that_was_recorded_drives_the_terminal(zot: Zot, recorded: Path) -> None:
    argv = zot.argv(["replay", "--fast", str(recorded)])
    with FakeTerminal(argv, cwd=zot.project, env=zot.env(), columns=100, rows=40) as terminal:
        terminal.wait_for("the end:")
        assert "what is there?" in terminal.everything and "before red after" in terminal.everything


def test_replay_takes_original_or_scaled_time(zot: Zot, tmp_path: Path) -> None:
    path = written(
        tmp_path / "slow.zotrec",
        {"type": "header", "t": 0, "format": 2, "zot": "1"},
        {"type": "event", "t": 0, "event": {"type": "turn_start", "step": 1}},
        {"type": "event", "t": 2.0, "event": {"type": "done"}},
        {"type": "end", "t": 2.0},
    )

    def seconds(*args: str) -> float:
        began = time.monotonic()
        assert replay(zot, *args, str(path)).code == 0
        return time.monotonic() - began

    assert seconds() >= 2.0
    assert seconds("--speed", "2") >= 1.0
    assert seconds("--fast") < seconds("--speed", "1")


def test_step_by_step_each_line_of_input_shows_the_next_block(zot: Zot, recorded: Path) -> None:
    whole = replay(zot, "--fast", str(recorded)).out
    assert replay(zot, "--step", str(recorded), stdin="\n" * 100).out == whole
    some = replay(zot, "--step", str(recorded), stdin="\n\nq\n").out
    assert whole.startswith(some) and "› what is there?" in some and "Ran echo" not in some


def test_first_format_recording_is_shown_but_not_verified(zot: Zot, tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    records = [
        {"type": "header", "t": 0.0, "format": 1, "zot": "0.1.0", "argv": [], "cwd": "/x", "clock": {"wall": 1.8e9}},
        {"type": "stream", "t": 0.1, "n": 1, "kind": "TextDelta", "value": {"text": "hello from then"}},
        {"type": "event", "t": 0.2, "event": {"type": "done"}},
        {"type": "end", "t": 0.2},
    ]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    ran = replay(zot, "--fast", str(path))
    assert ran.code == 0 and "  hello from then\n" in ran.out and ran.err == ""
    ran = replay(zot, "--verify", str(path))
    assert ran.code == 1 and "cannot be verified" in ran.err and len(ran.err.splitlines()) == 1


# --- what is no recording, or not any more


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"hello\n", "line 1 is not a header"),
        (b"\x00\x01\xff" * 100_000, "line 1 is not a header"),
        (b"[1,2,3]\n", "line 1 is not a header"),
        (b"[" * 100_000 + b"\n", "line 1 is not a header"),
        (b'{"type":"header","format":99,"zot":"9.9"}\n', "unsupported recording format 99 of zot 9.9"),
        (b'{"type":"header","format":"x"}\n', "header has no format"),
        (b'{"type":"header"}\n', "header has no format"),
    ],
)
@pytest.mark.parametrize("how", [("--fast",), ("--verify",), ("--to-script",)])
def test_file_that_is_not_a_recording_is_one_line(
    zot: Zot, tmp_path: Path, content: bytes, said: str, how: tuple[str, ...]
) -> None:
    path = tmp_path / "file.zotrec"
    path.write_bytes(content)
    out = [str(tmp_path / "out.json")] if how == ("--to-script",) else []
    ran = replay(zot, *how, str(path), *out)
    assert ran.code == 1 and said in ran.err and len(ran.err.splitlines()) == 1 and "Traceback" not in ran.err


@pytest.mark.parametrize("command", [("--provider", "script", "-p", "go", "--script"), ("report", "--recording")])
def test_recording_of_newer_zot_is_rejected(zot: Zot, tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "newer.zotrec"
    path.write_bytes(b'{"type":"header","format":99,"zot":"9.9"}\n')
    ran = zot(*command, str(path), model=False)
    assert ran.code == 1 and "format 99" in ran.err and len(ran.err.splitlines()) == 1
    assert not list(zot.project.iterdir())


@pytest.mark.parametrize("kind", ["fifo", "directory", "nothing"])
def test_replay_of_path_that_is_not_a_file_is_one_line(zot: Zot, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "there"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    for how in ("--fast", "--verify"):
        ran = replay(zot, how, str(path))
        assert ran.code == 1 and str(path) in ran.err and len(ran.err.splitlines()) == 1


def test_truncated_recording_is_shown_and_reported(zot: Zot, recorded: Path, tmp_path: Path) -> None:
    data = recorded.read_bytes()
    path = tmp_path / "cut.zotrec"
    path.write_bytes(data[: data.index(b'"n":2')])
    ran = replay(zot, "--fast", str(path))
    assert ran.code == 0 and "● Read notes.txt" in ran.out and "◇ the recording ends here" in ran.out


def test_a_changed_recording_is_shown_with_a_warning(zot: Zot, recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "changed.zotrec"
    path.write_bytes(recorded.read_bytes().replace(b'"text":"what is there', b'"text":"what is where', 1))
    ran = replay(zot, "--fast", str(path))
    assert ran.code == 1 and "line 4 was changed" in ran.err and "● Read notes.txt" in ran.out


@pytest.mark.parametrize(
    "line",
    [
        {"type": "event"},
        {"type": "event", "event": {"type": "tool_result"}},
        {"type": "stream", "kind": "TextDelta"},
        {"type": "stream", "kind": {}, "value": []},
        {"type": "frame", "frame": {"type": "subscribe", "intercept": 5}},
        {"type": "setup", "interceptors": 3},
        {"type": "input", "what": "prompt", "agent": "many"},
        {"type": "about", "doctor": 7},
        {"type": "strange", "t": "never"},
    ],
)
def test_malformed_recording_lines_are_harmless(zot: Zot, tmp_path: Path, line: dict[str, Any]) -> None:
    header = {"type": "header", "t": 0, "format": 2, "zot": 1, "clock": {"wall": 1e300}, "cwd": ["x"]}
    end = {"type": "end", "t": 1e300}
    path = written(tmp_path / "strange.zotrec", header, {"t": 0, **line}, end)
    for how in ("--fast", "--verify"):
        ran = replay(zot, how, str(path))
        assert ran.code in (0, 1) and "Traceback" not in ran.err + ran.out and len(ran.err.splitlines()) <= 1, ran.err


@pytest.mark.parametrize(
    "args",
    [
        ["--verify", "--step"],
        ["--live-tools"],
        ["--speed", "0"],
        ["--speed", "fast"],
        ["--to-script"],
        ["--verify", "--to-script"],
    ],
)
def test_conflicting_replay_flags_are_rejected(zot: Zot, recorded: Path, args: list[str]) -> None:
    ran = replay(zot, *args, str(recorded))
    assert ran.code == 1 and len(ran.err.splitlines()) == 1


# --- scripts


def test_a_recording_is_a_script(zot: Zot, recorded: Path, tmp_path: Path) -> None:
    (zot.project / "notes.txt").write_text("one\n")
    for path in (recorded, tmp_path / "script.json"):
        if path != recorded:
            assert replay(zot, "--to-script", str(recorded), str(path)).code == 0
            assert path.stat().st_mode & 0o777 == 0o600
        ran = zot("--json", "--provider", "script", "--script", str(path), "--no-session", "go", model=False)
        assert ran.code == 0, ran.err
        calls = [(event["name"], event["args"]) for event in ran.events if event["type"] == "tool_call"]
        assert calls == [("read", {"path": "notes.txt"}), ("bash", {"command": "echo 'from the shell'"})]
        said = [event for event in ran.events if event["type"] == "assistant_message"][-1]
        assert said["content"][0]["text"] == HOSTILE


def test_replay_scripts_failures_and_odd_arguments(zot: Zot, serve: Any, tmp_path: Path) -> None:
    serve([CallTools([("bash", "{not json")], text="So."), Refuse(400, "no such thing")])
    assert zot("-p", "--record", str(tmp_path / "run.zotrec"), "go").code == 1
    assert replay(zot, "--to-script", str(tmp_path / "run.zotrec"), str(tmp_path / "s.json")).code == 0
    first, second = json.loads((tmp_path / "s.json").read_text())["turns"]
    assert first["tool_calls"][0]["arguments"] == "{not json"
    assert second["error"]["status"] == 400 and "no such thing" in second["error"]["message"]


def test_a_script_is_never_written_over_a_file(zot: Zot, recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    ran = replay(zot, "--to-script", str(recorded), str(tmp_path / "mine"))
    assert ran.code == 1 and (tmp_path / "mine").read_text() == "mine"


def test_changed_recording_is_rejected_as_script(zot: Zot, recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "changed.zotrec"
    path.write_bytes(recorded.read_bytes().replace(b"Let me", b"Let us"))
    ran = zot("-p", "--provider", "script", "--script", str(path), "go", model=False)
    assert ran.code == 1 and "was changed: its checksum" in ran.err and len(ran.err.splitlines()) == 1


# --- what is said about it


def test_replay_uses_singular_for_one_item(zot: Zot, serve: Any, tmp_path: Path) -> None:
    path, script = tmp_path / "run.zotrec", tmp_path / "one.json"
    serve([CallTools([("bash", {"command": "true"})]), Say("done")])
    assert zot("-p", "--record", str(path), "go").code == 0
    assert "2 model calls, 1 tool call\n" in replay(zot, "--fast", str(path)).out
    assert "(1 prompt, 1 tool call)" in zot("report", model=False).err
    cut = tmp_path / "cut.zotrec"
    data = path.read_bytes()
    cut.write_bytes(data[: data.index(b'{"type":"request","t":', data.index(b'"n":1'))])
    assert replay(zot, "--to-script", str(cut), str(script)).err.startswith(f"zot: {script}: 1 answer; ")
    header = {"type": "header", "t": 0, "format": 2}
    odd = written(tmp_path / "odd.zotrec", header, {"type": "event", "t": 7300}, {"type": "end", "t": 7300})
    ran = replay(zot, "--fast", str(odd))
    assert "1 line is invalid and was skipped" in ran.err
    assert ran.out.endswith("the end: 2h01m, 0 model calls, 0 tool calls\n")


def test_replay_reports_why_it_cannot_verify(zot: Zot, recorded: Path, serve: Any, tmp_path: Path) -> None:
    cut = tmp_path / "cut.zotrec"
    cut.write_bytes(recorded.read_bytes().splitlines(keepends=True)[0])
    assert "it ends before the run starts" in replay(zot, "--verify", str(cut)).err
    serve([Say("done")])
    assert zot("-p", "go").code == 0
    report = zot("report", model=False).out.strip()
    assert "a report of a session has no initial state" in replay(zot, "--verify", report).err


def test_a_wrong_command_line_names_the_help_of_its_verb(zot: Zot) -> None:
    assert "(see zot replay --help)" in replay(zot).err and "FILE, a recording, is missing" in replay(zot).err


def test_stepping_on_terminal_shows_how_to_continue(zot: Zot, recorded: Path) -> None:
    argv = zot.argv(["replay", "--step", str(recorded)])
    with FakeTerminal(argv, cwd=zot.project, env=zot.env(), columns=100, rows=40) as terminal:
        terminal.wait_for("enter: next step; q and enter: quit")
        assert "what is there?" not in terminal.everything
        terminal.type("\r")
        terminal.wait_for("what is there?")
        terminal.type("q\r")
        assert terminal.wait_exit() == 0


# --- reports


def test_report_contains_the_last_session_redacted(zot: Zot, serve: Any, tmp_path: Path) -> None:
    secret = "sk-ant-0123456789abcdef0123"
    serve([CallTools([("bash", {"command": "echo token=hunter2hunter2"})]), Say("It is in /home/somebody.")])
    zot.environment["ANTHROPIC_API_KEY"] = secret
    assert zot("-p", f"my key is {secret}, mail me at a.person@example.org").code == 0
    ran = zot("report", model=False)
    assert ran.code == 0, ran.err
    path = Path(ran.out.strip())
    assert path.parent == zot.project and path.name.startswith("zot-report-") and path.suffix == ".zotrec"
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert secret not in text and "hunter2" not in text and "a.person@" not in text and str(zot.home) not in text
    assert "zot replay --fast" in ran.err and "Nothing was sent" in ran.err
    shown = replay(zot, "--fast", str(path)).out
    assert "◇ a report of " in shown and "my key is [redacted]" in shown and "shell        " in shown


def test_a_report_of_a_recording_verifies_still(zot: Zot, recorded: Path, tmp_path: Path) -> None:
    ran = zot("report", "--recording", str(recorded), "--out", str(tmp_path / "bug"), model=False)
    assert ran.code == 0 and Path(ran.out.strip()) == tmp_path / "bug.zotrec"
    assert str(recorded.parent) not in (tmp_path / "bug.zotrec").read_text()
    ran = replay(zot, "--verify", str(tmp_path / "bug.zotrec"))
    assert ran.code == 0 and ran.out.startswith("no difference"), ran.out


def test_a_secret_that_was_streamed_in_pieces_is_not_in_a_report(zot: Zot, serve: Any, tmp_path: Path) -> None:
    serve([Say(deltas=("the key is sk-01234567", "89abcdef0123456789", " as you see"))])
    path = tmp_path / "run.zotrec"
    assert zot("-p", "--record", str(path), "go").code == 0
    ran = zot("report", "--recording", str(path), "--out", str(tmp_path / "bug"), model=False)
    assert ran.code == 0
    text = (tmp_path / "bug.zotrec").read_text()
    assert "01234567" not in text and "89abcdef" not in text and "the key is [redacted] as you see" in text
    assert replay(zot, "--verify", str(tmp_path / "bug.zotrec")).code == 0


def test_a_report_needs_something_to_report(zot: Zot) -> None:
    ran = zot("report", model=False)
    assert ran.code == 1 and "no sessions" in ran.err and len(ran.err.splitlines()) == 1


def test_a_closed_pipe_ends_it_quietly(zot: Zot, recorded: Path) -> None:
    child = subprocess.Popen(
        zot.argv(["replay", "--fast", str(recorded)]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=zot.env()
    )
    assert child.stdout is not None and child.stderr is not None
    child.stdout.close()
    assert child.wait(30) == 141 and child.stderr.read() == b""
