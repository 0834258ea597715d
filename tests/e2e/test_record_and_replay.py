"""``--record``, ``--ext-trace``, ``zot ext replay`` and ``zot ext trace``, on real runs with real extensions."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.extension_kit import BROKEN, install
from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say

SECRET = "sk-ant-this-is-the-key"


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return install(BROKEN / "good.py", tmp_path / "sample")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run, in which the model calls the extension's tool once."""
    place = tmp_path_factory.mktemp("recorded")
    sample = install(BROKEN / "good.py", place / "sample")
    files = ["--record", str(place / "run.jsonl"), "--ext-trace", str(place / "trace.jsonl")]
    turns = [CallTools([("echo", {"text": "one two"})], text="Let me see."), Say("All done.")]
    with FakeModelServer(turns) as server:
        zot = Zot(place, place, server.url, {"ANTHROPIC_API_KEY": SECRET})
        ran = zot("-p", "--ext", str(sample), *files, "go")
    assert (ran.code, ran.out) == (0, "All done.\n"), ran.err
    return place


@pytest.fixture
def recording(recorded: Path, tmp_path: Path) -> Path:
    """Its journal, with the trace beside it."""
    for name in ("run.jsonl", "trace.jsonl"):
        shutil.copy2(recorded / name, tmp_path / name)
    return tmp_path / "run.jsonl"


def records(path: Path, kind: str = "") -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if not kind or line["type"] == kind]


def changed(sample: Path, before: str, after: str) -> None:
    main = sample / "main.py"
    text = main.read_text()
    assert before in text
    main.write_text(text.replace(before, after))


# --- what is recorded


def test_recording_contains_the_whole_run_in_order(recording: Path) -> None:
    kinds = [record["type"] for record in records(recording)]
    assert kinds[0] == "header" and kinds[-1] == "end"
    assert {"frame", "request", "stream", "event"} <= set(kinds)
    times = [record["t"] for record in records(recording)]
    assert times == sorted(times)


def test_recording_header_describes_run_without_secrets(recording: Path, recorded: Path) -> None:
    [header] = records(recording, "header")
    assert header["format"] == 2 and header["cwd"] == str(recorded)
    place = header["argv"].index("--api-key")
    assert header["argv"][place + 1] == "[removed]"
    assert header["clock"]["wall"] > 1_700_000_000


def test_recording_has_no_credential_and_is_private(recording: Path) -> None:
    text = recording.read_text()
    assert SECRET not in text and "test-key" not in text
    assert recording.stat().st_mode & 0o777 == 0o600


def test_a_credential_a_tool_prints_is_taken_out(zot: Zot, serve: Any, tmp_path: Path) -> None:
    serve([CallTools([("bash", {"command": f"echo {SECRET}"})]), Say("ok")])
    zot.environment["ANTHROPIC_API_KEY"] = SECRET
    assert zot("-p", "--record", str(tmp_path / "run.jsonl"), "go").code == 0
    text = (tmp_path / "run.jsonl").read_text()
    assert SECRET not in text and "[removed]" in text


def test_recording_redacts_stored_key_and_secret_variables(zot: Zot, serve: Any, tmp_path: Path) -> None:
    stored, variable = "sk-stored-0123456789", 'a "quoted" password'
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "auth.json").write_text(json.dumps({"openai": {"api_key": stored}}))
    zot.environment["DATABASE_PASSWORD"] = variable
    serve([Say(f"it is {stored}")])
    assert zot("-p", "--record", str(tmp_path / "run.zotrec"), f"what is {variable}?").code == 0
    text = (tmp_path / "run.zotrec").read_text()
    assert stored not in text and "quoted" not in text and text.count("[removed]") > 3


def test_recorded_requests_repeat_only_changes(recording: Path) -> None:
    first, second = records(recording, "request")
    assert (first["shared"], second["shared"]) == (0, 1)
    assert "echo" in {tool["name"] for tool in first["tools"]}
    assert "tools" not in second and "system" not in second
    assert second["messages"][0]["role"] == "assistant"


def test_recording_contains_each_stream_event(recording: Path) -> None:
    streams = records(recording, "stream")
    text = "".join(each["value"]["text"] for each in streams if each["kind"] == "TextDelta" and each["n"] == 2)
    assert text == "All done."
    assert [each["kind"] for each in streams][-1] == "Finished"


def test_tool_results_are_recorded(recording: Path) -> None:
    [result] = [r["event"] for r in records(recording, "event") if r["event"]["type"] == "tool_result"]
    assert result["content"] == [{"type": "text", "text": "one two"}]


def test_a_refused_request_is_recorded_with_its_status(zot: Zot, serve: Any, tmp_path: Path) -> None:
    serve([Refuse(400, "no such thing")])
    assert zot("-p", "--record", str(tmp_path / "run.jsonl"), "go").code == 1
    [refusal] = records(tmp_path / "run.jsonl", "refusal")
    assert refusal["error"]["status"] == 400


def test_unwritable_recording_stops_run_before_start(zot: Zot, serve: Any) -> None:
    server = serve([Say("ok")])
    ran = zot("-p", "--record", "no/such/directory/run.jsonl", "go")
    assert ran.code == 1 and "--record" in ran.err and len(ran.err.splitlines()) == 1
    assert server.requests == []


def test_a_full_disk_does_not_end_the_run(zot: Zot, serve: Any) -> None:
    serve([Say("ok")])
    assert zot("-p", "--record", "/dev/full", "go").out == "ok\n"


# --- replay


@pytest.mark.parametrize("file", ["run.jsonl", "trace.jsonl"])
def test_the_same_extension_gives_no_difference(zot: Zot, recording: Path, sample: Path, file: str) -> None:
    """Recordings and traces alike."""
    ran = zot("ext", "replay", str(recording.with_name(file)), str(sample), model=False)
    assert (ran.code, ran.out.partition(":")[0]) == (0, "no difference"), ran.out


def test_a_changed_answer_is_named_with_its_place(zot: Zot, recording: Path, sample: Path) -> None:
    changed(sample, "text or ", "text and text.upper() or ")
    ran = zot("ext", "replay", str(recording), str(sample), model=False)
    assert ran.code == 1
    first, recorded, now = ran.out.splitlines()
    assert "tool_result" in first and "at .content[0].text" in first and f"{recording}:" in first
    assert (recorded.split(maxsplit=1)[1], now.split(maxsplit=1)[1]) == ('"one two"', '"ONE TWO"')


def test_missing_frame_is_the_difference(zot: Zot, recording: Path, sample: Path) -> None:
    changed(sample, 'self.send("tool_result"', 'self.unknown("tool_result"')
    changed(sample, "def unknown(self, frame):", "def unknown(self, frame, **keys):")
    ran = zot("ext", "replay", str(recording), str(sample), "--timeout", "1", model=False)
    assert ran.code == 1 and "tool_result" in ran.out and "now:      nothing" in ran.out


def test_a_frame_that_was_not_recorded_is_the_difference(zot: Zot, recording: Path, sample: Path) -> None:
    changed(sample, 'self.send("shutdown_ack")', 'self.send("shutdown_ack"); self.send("clear_notes")')
    ran = zot("ext", "replay", str(recording), str(sample), model=False)
    assert ran.code == 1 and "after the end: clear_notes" in ran.out


def test_replay_ignores_times_ids_and_directories(zot: Zot, sample: Path, tmp_path: Path) -> None:
    changed(
        sample,
        "def on_ack(self, ack):\n        pass",
        "def on_ack(self, ack):\n"
        "        import datetime, os, uuid\n"
        "        words = f\"{datetime.datetime.now()} took {os.getpid()} ms in {ack['data_dir']}\"\n"
        '        self.send("notify", level="info", message=words)\n'
        '        self.send("call_tool", id=uuid.uuid4().hex, name="read", args={})',
    )
    trace = tmp_path / "trace.jsonl"
    with trace.open("wb") as file:
        subprocess.run(
            zot.argv(["ext", "trace", "--json", str(sample)]),
            stdin=subprocess.DEVNULL,
            stdout=file,
            env=zot.env(),
            check=True,
        )
    ran = zot("ext", "replay", str(trace), str(sample), model=False)
    assert ran.code == 0, ran.out
    assert zot("ext", "replay", "--exact", str(trace), str(sample), model=False).code == 1


def test_a_recording_of_others_names_whom_it_has(zot: Zot, recording: Path, tmp_path: Path) -> None:
    lines = recording.read_text()
    recording.write_text(lines + lines.replace('"extension":"sample"', '"extension":"second"'))
    other = install(BROKEN / "good.py", tmp_path / "other")
    (other / "extension.json").write_text('{"name":"other","exec":"python3","args":["main.py"]}')
    ran = zot("ext", "replay", str(recording), str(other), model=False)
    assert ran.code == 1 and "it has: sample, second" in ran.err
    assert zot("ext", "replay", "--extension", "second", str(recording), str(other), model=False).code == 0


def test_invalid_recording_is_rejected_with_its_line(zot: Zot, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello\n")
    ran = zot("ext", "replay", str(tmp_path / "notes.txt"), str(sample), model=False)
    assert ran.code == 1 and "line 1" in ran.err and len(ran.err.splitlines()) == 1


# --- trace


def test_a_trace_has_every_frame_with_open_ids_and_latency(recording: Path) -> None:
    frames = [json.loads(line) for line in recording.with_name("trace.jsonl").read_text().splitlines()]
    kinds = [(each["direction"], each["frame"]["type"]) for each in frames]
    assert kinds[0] == ("in", "hello") and kinds[1] == ("out", "hello_ack")
    assert kinds[-2:] == [("out", "shutdown"), ("in", "shutdown_ack")]
    [asked] = [each for each in frames if each["frame"]["type"] == "tool_call"]
    [answer] = [each for each in frames if each["frame"]["type"] == "tool_result"]
    assert asked["pending"] == [asked["frame"]["id"]]
    assert answer["latency"] == pytest.approx(answer["t"] - asked["t"], abs=1e-5)
    assert "pending" not in answer


def test_a_trace_reads_as_one_line_per_frame(zot: Zot, recording: Path) -> None:
    trace = recording.with_name("trace.jsonl")
    ran = zot("ext", "trace", str(trace), model=False)
    lines = ran.out.splitlines()
    assert len(lines) == len(trace.read_text().splitlines())
    assert "sample ← hello" in lines[0] and lines[0].endswith(" B)")
    assert any("→ tool_call #" in line and "[1 open]" in line for line in lines)
    assert any("← tool_result #" in line and " after " in line and " ms " in line for line in lines)


def test_live_trace_replays_typed_input(zot: Zot, sample: Path) -> None:
    typed = '/sample\necho {"text":"hi"}\n{"type":"panel_key","panel_id":"sample-panel","key":"down"}\nwhat is this\n'
    ran = zot("ext", "trace", str(sample), stdin=typed, model=False)
    assert ran.code == 0
    for words in (
        "→ command_invoked #1",
        "← command_response #1",
        "← tool_result #2",
        "← panel_render",
        "← shutdown_ack",
    ):
        assert words in ran.out
    assert "write /command args" in ran.err


def test_follow_shows_frames_as_they_are_written(zot: Zot, recording: Path, tmp_path: Path) -> None:
    lines = recording.with_name("trace.jsonl").read_bytes().splitlines(keepends=True)
    growing = tmp_path / "growing.jsonl"
    follower = zot.start("ext", "trace", "sample", "--follow", str(growing))
    zot_out = follower.stdout
    assert zot_out is not None
    try:
        growing.write_bytes(lines[0] + lines[1][:20])
        assert b"hello" in zot_out.readline()
        with growing.open("ab") as file:
            file.write(lines[1][20:])
        assert b"hello_ack" in zot_out.readline()
    finally:
        os.kill(follower.pid, signal.SIGINT)
        assert follower.wait(20) == 130


def test_line_that_is_not_a_frame_is_traced_as_text(zot: Zot, tmp_path: Path) -> None:
    noisy = install(BROKEN / "banner.py", tmp_path / "noisy")
    ran = zot("ext", "trace", str(noisy), stdin="", model=False)
    assert "← NOT A FRAME 'sample 1.0 starting'" in ran.out


def test_recording_in_project_is_not_a_change_of_a_command(zot: Zot, serve: Any) -> None:
    """It grows while a command runs; going back would take it away."""
    commands = [CallTools([("bash", {"command": f"echo {n} > {n}.txt"})]) for n in range(3)]
    serve([*commands, Say("ok")])
    assert zot("-p", "--record", "run.zotrec", "--ext-trace", "trace.jsonl", "go").code == 0
    would = zot("sessions", "rewind", "--to", "1", "--files", "--dry-run", model=False)
    assert "2.txt" in would.out and "run.zotrec" not in would.out and "trace.jsonl" not in would.out
