"""Extensions under ``-p`` and ``--json``: the real program, real children, a scripted model."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import events_seen, seen, seen_of, write_extension
from tests.fakes.model_server import CallTools, Say, SeenRequest
from zot.features.extensions.loader.extension_trust import ExtensionTrust

WEATHER = 'hello(); tool("weather"); ready(); serve(tool_call=lambda f: text(f["id"], "sunny"))'

BLOCKING = """
hello(); subscribe(intercept=["{}"]); ready()
serve(event_intercept=lambda f: answer(f, block=True, reason="{}"))
"""


def offered(request: SeenRequest) -> list[str]:
    return sorted(tool["name"] for tool in request.json.get("tools", []))


def results(request: SeenRequest) -> list[dict[str, Any]]:
    blocks = request.json["messages"][-1]["content"]
    return [block for block in blocks if block["type"] == "tool_result"]


@pytest.mark.parametrize("mode", ["-p", "--json", "--stream"])
def test_a_tool_of_an_extension_is_offered_called_and_answered(zot: Zot, serve: Any, mode: str, tmp_path: Path) -> None:
    """ext-058, issue 3: the same in every mode"""
    server = serve([CallTools([("weather", {"city": "Berlin"})]), Say("It is sunny.")])
    directory = write_extension(tmp_path, "w", WEATHER)
    ran = zot(mode, "weather?", "-e", str(directory))
    assert ran.code == 0 and "sunny" in ran.out
    assert "weather" in offered(server.requests[0])
    assert "sunny" in json.dumps(results(server.requests[1]))
    assert seen(directory)[-1] == {"type": "shutdown"}


DEFERRED = """
hello(); subscribe(intercept=["before_agent_start"]); tool("open_box"); tool("inside", deferred=True); ready()
serve(
    tool_call=lambda f: text(f["id"], "ok", activate_tools=["inside"]),
    event_intercept=lambda f: answer(f, system_prompt=f["system_prompt"] + "!"),
)
"""


def test_deferred_tool_is_added_without_changing_system_prompt(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """ext-116, ext-128: the prompt is stable across tool steps, for its editors and for a provider's cache"""
    server = serve([CallTools([("open_box", {})]), CallTools([("inside", {})]), Say("done")])
    directory = write_extension(tmp_path, "box", DEFERRED)
    assert zot("-p", "go", "-e", str(directory)).code == 0
    assert ["inside" in offered(request) for request in server.requests] == [False, True, True]
    first, *others = (request.json["system"] for request in server.requests)
    assert first[0]["text"].endswith("!") and "- open_box" in first[0]["text"]
    assert others == [first, first]
    assert len(seen_of(directory, "event_intercept")) == 1


@pytest.mark.parametrize(
    ("flags", "tools"),
    [
        (("--no-tools",), []),
        (("--tools", "weather"), ["weather"]),
        (("--tools", "read"), ["read"]),
    ],
)
def test_tool_flags_apply_to_extensions(
    zot: Zot, serve: Any, tmp_path: Path, flags: tuple[str, ...], tools: list[str]
) -> None:
    """iface-019 (OP-11): `--tools` and `--no-tools` hold for the tools of extensions too."""
    server = serve([Say("ok")])
    ran = zot("-p", "go", *flags, "-e", str(write_extension(tmp_path, "w", WEATHER)))
    assert offered(server.requests[0]) == tools
    assert "named weather" not in ran.err


@pytest.mark.parametrize("mode", ["-p", "--json"])
def test_notes_and_faults_are_lines_on_stderr(zot: Zot, serve: Any, tmp_path: Path, mode: str) -> None:
    """ext-099, ext-028, iface-035: notes and faults are lines on stderr, cleaned of escapes, and the run succeeds."""
    serve([Say("ok")])
    noisy = write_extension(
        tmp_path,
        "noisy",
        'hello(); send(type="notify", level="warn", message="careful\\x1b[2J"); raw(b"oops\\n")\n'
        'send(type="clear_notes"); send(type="submit", text="x"); ready(); serve()',
    )
    empty = zot.home / "zot" / "extensions" / "empty"
    empty.mkdir(parents=True)
    (empty / "extension.json").touch()
    broken = write_extension(tmp_path, "broken", "sys.exit(1)")
    ran = zot(mode, "go", "-e", str(noisy), "--ext", str(broken))
    assert ran.code == 0 and "careful" not in ran.out
    reported = [line for line in ran.out.splitlines() if "extension" in line]
    assert bool(reported) == (mode == "--json")  # faults are events for programs, too
    assert {(json.loads(line)["type"], json.loads(line)["source"]) for line in reported} <= {
        ("diagnostic", "extensions")
    }
    lines = ran.err.splitlines()
    assert "[noisy] warn: careful" in lines
    assert [line for line in lines if line.startswith(f"extension load: {empty}: ")]
    assert [line for line in lines if line.startswith(f"extension load: {broken}: exited before hello")]
    assert [
        line for line in lines if line.startswith("extension noisy: sent a malformed frame") and "ext-noisy" in line
    ]


def test_blocked_turn_fails_in_every_mode(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """ext-081, issue 29.22: a blocked turn sends no request; -p, --stream and --json exit alike, with one reason."""
    server = serve([])
    body = BLOCKING.format("turn_start", "closed")
    directory = write_extension(tmp_path, "office", body)
    printed, streamed, events = (zot(mode, "go", "-e", str(directory)) for mode in ("-p", "--stream", "--json"))
    assert (printed.code, printed.out, printed.err) == (1, "", "zot: closed\n")
    assert (streamed.code, streamed.out, streamed.err) == (1, "", "zot: closed\n")
    assert (events.code, events.err) == (1, "zot: closed\n") and server.requests == []
    ends = [event for event in events.events if event["type"] == "turn_end"]
    assert ends == [{"type": "turn_end", "stop": "error", "error": "closed"}]
    assert events.events[-1] == {"type": "done", "reason": "blocked", "exit_code": 1}


def test_redactor_removes_original_from_all_outputs(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """ext-082: the model still sees its original text."""
    server = serve([CallTools([("read", {"path": "x"})], text="the key is hunter2"), Say("and hunter2 again")])
    body = """
hello(); subscribe(intercept=["assistant_message"]); ready()
serve(event_intercept=lambda f: answer(f, replace_text=f["text"].replace("hunter2", "****")))
"""
    ran = zot("--json", "go", "-e", str(write_extension(tmp_path, "r", body)))
    assert "hunter2" not in ran.out and "****" in ran.out
    assert "hunter2" in server.requests[1].body.decode()
    assert "hunter2" in zot.sessions[0].read_text()


@pytest.mark.parametrize("mode", ["-p", "--json"])
def test_a_suppressed_answer_gives_its_reason_on_stderr(zot: Zot, serve: Any, tmp_path: Path, mode: str) -> None:
    """ext-083 (OP-23): a suppressed answer is not printed, and its reason is a line on stderr."""
    serve([Say("secret plan")])
    body = BLOCKING.format("assistant_message", "withheld")
    ran = zot(mode, "go", "-e", str(write_extension(tmp_path, "r", body)))
    assert ran.code == 0 and "secret" not in ran.out and "[r] warn: withheld" in ran.err.splitlines()


def test_child_gets_no_credentials_unless_setting_names_them(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """ext-020, ext-145: a child gets no credentials unless the setting names them."""
    serve([Say("ok"), Say("ok")])
    body = 'hello(); ready(); json.dump(dict(os.environ), open(HERE + "/env.json", "w")); serve()'
    directory = write_extension(tmp_path, "e", body)
    zot.environment |= {"OPENAI_API_KEY": "sk-secret", "ZOTCORE_RPC_TOKEN": "tok", "PLAIN": "yes"}
    zot("-p", "go", "-e", str(directory))
    environment = json.loads((directory / "env.json").read_text())
    assert "OPENAI_API_KEY" not in environment and "ZOTCORE_RPC_TOKEN" not in environment
    assert environment["PLAIN"] == "yes" and environment["ZOT_AGENT"] == "1" and environment["ZOT_SESSION_ID"]
    log = (zot.home / "zot" / "logs" / "ext-e.log").read_text()
    assert "OPENAI_API_KEY" in log and "env_passthrough" in log and "sk-secret" not in log
    (zot.home / "zot" / "config.json").write_text('{"env_passthrough": ["OPENAI_API_KEY"]}')
    zot("-p", "go", "-e", str(directory))
    assert json.loads((directory / "env.json").read_text())["OPENAI_API_KEY"] == "sk-secret"
    newest = (zot.home / "zot" / "logs" / "ext-e.log").read_text().rpartition("[zot] e ")[2]
    assert "OPENAI_API_KEY" not in newest and "ZOTCORE_RPC_TOKEN" in newest


def test_a_tool_timeout_is_a_setting(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """ext-143: `extension_tool_timeout_s` limits how long a silent tool is waited for."""
    server = serve([CallTools([("slow", {})]), Say("ok")])
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "config.json").write_text('{"extension_tool_timeout_s": 1}')
    ran = zot("-p", "go", "-e", str(write_extension(tmp_path, "s", 'hello(); tool("slow"); ready(); serve()')))
    (result,) = results(server.requests[1])
    assert ran.code == 0 and result["is_error"] and "extension s/slow failed: timeout" in json.dumps(result)


def test_installed_and_linked_extensions_load_leftovers_do_not(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """ext-105, ext-106: installed and linked extensions load, and folders without a manifest are ignored."""
    server = serve([Say("ok"), Say("ok")])
    home = zot.home / "zot" / "extensions"
    home.mkdir(parents=True)
    (home / "real").symlink_to(write_extension(tmp_path, "linked", WEATHER))
    write_extension(home, "mine", 'hello(); tool("mine"); ready(); serve()')
    (zot.project / ".zot" / "extensions" / "mine").mkdir(parents=True)  # left behind by an uninstall
    (home / "dangling").symlink_to(tmp_path / "nowhere")
    ran = zot("-p", "go")
    assert ran.err == "" and {"weather", "mine"} <= set(offered(server.requests[0]))
    zot("-p", "go", "--no-ext")
    assert not {"weather", "mine"} & set(offered(server.requests[1]))


def test_a_project_extension_runs_only_when_trusted(zot: Zot, serve: Any) -> None:
    """Blueprint 12: headless modes never ask."""
    server = serve([Say("ok")] * 3)
    directory = write_extension(zot.project / ".zot" / "extensions", "p", WEATHER)
    skipped = zot("-p", "go")
    assert "weather" not in offered(server.requests[0]) and "project extension p, which is not trusted" in skipped.err
    assert zot("-p", "go", "--trust-project").err == "" and "weather" in offered(server.requests[1])
    ExtensionTrust(zot.home / "zot").trust(directory)
    assert zot("-p", "go").err == "" and "weather" in offered(server.requests[2])
    assert not (directory / "__pycache__").exists()


def test_skills_of_an_extension_are_in_the_prompt(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """ext-109: the skills of an extension are named in the prompt with its prefix."""
    server = serve([Say("ok")])
    directory = tmp_path / "kit"
    (directory / "skills" / "commit").mkdir(parents=True)
    (directory / "skills" / "commit" / "SKILL.md").write_text("---\ndescription: how we commit\n---\nbody")
    (directory / "extension.json").write_text('{"name":"kit","skills":["skills","../x"]}')
    ran = zot("-p", "go", "-e", str(directory))
    assert "kit:commit" in server.requests[0].body.decode() and "'../x': is outside" in ran.err


def test_a_run_without_extensions_does_not_load_the_host(zot: Zot, serve: Any) -> None:
    """Start-up is a feature."""
    serve([Say("ok")])
    zot.environment["PYTHONPROFILEIMPORTTIME"] = "1"
    ran = zot("-p", "go")
    assert "zot.agent.build" in ran.err and "zot.features.extensions" not in ran.err


def test_real_run_sends_events_in_order(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """ext-067, ext-069, ext-132: a real run delivers the events in order, from `session_start` to `session_end`."""
    serve([CallTools([("bash", {"command": "true"})], text="a"), Say("b")])
    events = ["session_start", "turn_start", "assistant_message", "tool_call", "turn_end", "session_end"]
    directory = write_extension(tmp_path, "w", f"hello(); subscribe({events!r}); ready(); serve()")
    zot("-p", "go", "-e", str(directory))
    assert events_seen(directory) == [
        "session_start",
        *("turn_start", "assistant_message", "tool_call", "turn_end"),
        *("turn_start", "assistant_message", "turn_end", "session_end"),
    ]
    (session_id,) = {event["session_id"] for event in seen_of(directory, "event")}
    assert session_id and session_id in zot.sessions[0].read_text()


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("when", ["starting", "running"])
def test_zot_exit_leaves_no_process(zot: Zot, serve: Any, tmp_path: Path, how: int, when: str) -> None:
    """§13: exit, SIGTERM, SIGKILL; a child that ignores signals and its own child included."""
    serve([CallTools([("weather", {})]), Say("ok")])
    body = """
import subprocess
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
grandchild = subprocess.Popen(["sleep", "300"], start_new_session=True)
open(HERE + "/pids.part", "w").write(f"{os.getpid()} {grandchild.pid}")
os.rename(HERE + "/pids.part", HERE + "/pids")
"""
    serving = 'hello(); tool("weather"); ready()\nwhile True: time.sleep(60)'
    directory = write_extension(tmp_path, "s", body + (serving if when == "running" else "time.sleep(300)"))
    process = zot.start("-p", "go", "-e", str(directory))
    deadline = time.monotonic() + 20
    while not (directory / "pids").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    pids = [int(pid) for pid in (directory / "pids").read_text().split()]
    time.sleep(0.3)  # the watcher learns of children a moment after their start
    process.send_signal(how)
    code = process.wait(20)
    assert code == (-9 if how == signal.SIGKILL else {15: 143, 2: 130}[how])
    while any(_alive(pid) for pid in pids) and time.monotonic() < deadline + 10:
        time.sleep(0.02)
    assert not [pid for pid in pids if _alive(pid)]
    assert os.getpid() not in pids


def test_note_at_the_end_is_still_shown(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """issue 29.22: a note that an extension sends after `shutdown` is a line on stderr."""
    serve([Say("hi")], repeat=True)
    body = """
def bye(frame):
    send(type="notify", level="warn", message="last words")
    sys.exit(0)
hello(); ready(); serve(shutdown=bye)
"""
    directory = write_extension(tmp_path, "bye", body)
    for mode in ("-p", "--json", "--stream"):
        ran = zot(mode, "go", "-e", str(directory))
        assert (ran.code, ran.err) == (0, "[bye] warn: last words\n")
