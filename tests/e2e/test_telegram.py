"""issue 34: ``examples/telegram`` as a process, with a Bot API server, and zot with scripted answers."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.telegram import FakeTelegram
from tests.fakes.zot_process import Zot

BRIDGE = Path(__file__).parents[2] / "examples" / "telegram" / "bridge.py"
TOUCH = {"tool_calls": [{"name": "bash", "args": {"command": "echo x >> touched"}}]}
DONE = {"text": "All done."}
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489") + bytes(40)

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    with FakeTelegram() as found:
        yield found


@pytest.fixture
def bridge(zot: Zot, tmp_path: Path, telegram: FakeTelegram) -> Iterator[Start]:
    running: list[subprocess.Popen[str]] = []

    def start(*flags: str, turns: list[dict[str, Any]] | None = None, users: tuple[int, ...] = (7,), delay_ms: int = 0):
        script, state = tmp_path / "script.json", tmp_path / "state"
        script.write_text(json.dumps({"turns": turns or [DONE], "repeat": True, "delay_ms": delay_ms}))
        state.mkdir(exist_ok=True)
        if users:
            (state / "allowed.json").write_text(json.dumps({"users": [*users]}))
        options = [*(("--pair",) if "--pair" in flags else ()), "--state", str(state), "--api", telegram.address]
        of_zot = ["--provider", "script", "--script", str(script), *(flag for flag in flags if flag != "--pair")]
        running.append(
            subprocess.Popen(
                [sys.executable, str(BRIDGE), *options, str(zot.project), *of_zot],
                env={**zot.env(), "TELEGRAM_BOT_TOKEN": telegram.token},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        return running[-1]

    yield start
    for each in running:
        each.kill()
        each.wait()


def _line(process: subprocess.Popen[str], part: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if part in line:
            return line
    raise AssertionError(f"no line with {part!r}")


def test_user_with_the_code_is_paired(bridge: Start, telegram: FakeTelegram, tmp_path: Path) -> None:
    process = bridge(users=())
    code = re.search(r"\d{4} \d{4}", _line(process, "pairing code"))
    assert code is not None
    telegram.say("hello")
    telegram.until("Send the code")
    telegram.say(code[0])
    telegram.until("You are in")
    telegram.say("go")
    telegram.until("All done.")
    allowed = tmp_path / "state" / "allowed.json"
    assert json.loads(allowed.read_text()) == {"users": [7]} and allowed.stat().st_mode & 0o777 == 0o600
    telegram.say(code[0], user=8)
    telegram.until("Send the code", chat=8)


def test_code_is_void_after_five_wrong_ones(bridge: Start, telegram: FakeTelegram) -> None:
    process = bridge(users=())
    code = re.search(r"\d{4} \d{4}", _line(process, "pairing code"))
    assert code is not None
    wrong = f"{(int(code[0].replace(' ', '')) + 1) % 10**8:08}"
    for user in range(20, 25):
        telegram.say(wrong, user=user)
        telegram.until("Send the code", chat=user)
    telegram.say(code[0])
    telegram.until("Send the code")
    assert not [call for call in telegram.sent if "You are in" in call.get("text", "")]


def test_strangers_and_groups_get_nothing(bridge: Start, telegram: FakeTelegram, zot: Zot) -> None:
    bridge("--permission-mode", "everything", turns=[TOUCH, DONE])
    telegram.say("go", user=8)
    telegram.say("go", user=7, chat=-100, kind="group")
    telegram.say("go", user=8, chat=7)
    telegram.until("Send the code", chat=8)
    time.sleep(1)
    assert not (zot.project / "touched").exists()
    assert not [call for call in telegram.sent if "All done" in call.get("text", "")]


def test_button_approves_exactly_its_call(bridge: Start, telegram: FakeTelegram, zot: Zot) -> None:
    bridge(turns=[TOUCH, DONE])
    telegram.say("go")
    assert '"command": "echo x >> touched"' in telegram.until("zot wants to run bash")["text"]
    buttons = telegram.buttons(telegram.until("Allow this call?"))
    assert [*buttons] == ["Once", "Always bash", "Deny"] and all(len(data) <= 64 for data in buttons.values())
    choice, number, bound = buttons["Once"].split(":")
    for data in (f"{choice}:{number}:{bound[:-1]}A", f"{choice}:{number}:", f"{choice}:0:{bound}", "once", ""):
        telegram.press(data)
    telegram.press(buttons["Once"], user=8)
    telegram.press(buttons["Once"], user=8, chat=7)
    time.sleep(1)
    assert not (zot.project / "touched").exists()
    telegram.press(buttons["Once"])
    telegram.until("All done.")
    assert (zot.project / "touched").read_text() == "x\n"


def test_old_button_approves_no_later_call(bridge: Start, telegram: FakeTelegram, zot: Zot) -> None:
    bridge(turns=[TOUCH, TOUCH, DONE])
    telegram.say("go")
    first = telegram.buttons(telegram.until("Allow this call?"))
    telegram.press(first["Once"])
    telegram.until("Once", method="editMessageText")
    second = telegram.buttons(telegram.until("Allow this call?", after=len(telegram.sent) - 2))
    assert second["Once"] != first["Once"]
    telegram.press(first["Once"])
    telegram.until("over", method="answerCallbackQuery", chat=7)
    assert (zot.project / "touched").read_text() == "x\n"
    telegram.press(second["Deny"])
    telegram.until("All done.")
    assert (zot.project / "touched").read_text() == "x\n"


def test_each_chat_is_a_conversation(bridge: Start, telegram: FakeTelegram, tmp_path: Path) -> None:
    bridge(users=(7, 8))
    telegram.say("the heron", user=7)
    telegram.say("the stork", user=8)
    telegram.until("All done.", chat=7)
    telegram.until("All done.", chat=8)
    sessions = {path.name: path.read_text() for path in (tmp_path / "state" / "sessions").iterdir()}
    assert sorted(sessions) == ["7-0001.jsonl", "8-0001.jsonl"]
    assert "heron" in sessions["7-0001.jsonl"] and "stork" not in sessions["7-0001.jsonl"]
    telegram.say("/new")
    telegram.until("new conversation")
    telegram.say("the ibis")
    telegram.until("All done.", after=len(telegram.sent) - 1)
    assert "ibis" in (tmp_path / "state" / "sessions" / "7-0002.jsonl").read_text()


def test_conversation_goes_on_after_a_restart(bridge: Start, telegram: FakeTelegram, tmp_path: Path) -> None:
    first = bridge()
    telegram.say("the heron")
    telegram.until("All done.")
    first.send_signal(signal.SIGINT)
    assert first.wait(15) == 0
    bridge()
    count = len(telegram.sent)
    telegram.say("the stork")
    telegram.until("All done.", after=count)
    session = (tmp_path / "state" / "sessions" / "7-0001.jsonl").read_text()
    assert "heron" in session and "stork" in session


def test_text_during_a_prompt_joins_it(bridge: Start, telegram: FakeTelegram, tmp_path: Path) -> None:
    sleep = {"tool_calls": [{"name": "bash", "args": {"command": "sleep 2"}}]}
    bridge("--permission-mode", "everything", turns=[sleep, DONE])
    telegram.say("go")
    telegram.until("", method="sendChatAction")
    telegram.say("and be brief")
    telegram.until("All done.")
    session = (tmp_path / "state" / "sessions" / "7-0001.jsonl").read_text()
    assert "and be brief" in session
    assert len([call for call in telegram.sent if call.get("text") == "All done."]) == 1


def test_stop_ends_the_prompt_and_its_buttons(bridge: Start, telegram: FakeTelegram, zot: Zot) -> None:
    bridge(turns=[TOUCH, DONE])
    telegram.say("go")
    buttons = telegram.buttons(telegram.until("Allow this call?"))
    telegram.say("/stop")
    telegram.until("stopped")
    time.sleep(0.5)
    telegram.press(buttons["Once"])
    telegram.until("over", method="answerCallbackQuery")
    assert not (zot.project / "touched").exists()
    telegram.say("/stop")
    telegram.until("nothing is running")


def test_zot_that_cannot_start_says_why(bridge: Start, telegram: FakeTelegram) -> None:
    bridge("--model", "no-such", "--provider", "anthropic")
    telegram.say("go")
    telegram.until("⚠")
    telegram.say("/status")
    time.sleep(0.5)
    telegram.say("/help")
    telegram.until("start a new conversation")


def test_file_comes_in_and_is_attached(bridge: Start, telegram: FakeTelegram, zot: Zot, tmp_path: Path) -> None:
    bridge()
    telegram.send_file("../../evil name.txt", b"the heron flies\n", caption="look")
    telegram.until("All done.")
    assert (zot.project / "telegram-files" / "evil_name.txt").read_text() == "the heron flies\n"
    assert "the heron flies" in (tmp_path / "state" / "sessions" / "7-0001.jsonl").read_text()
    telegram.send_file("evil name.txt", b"another")
    telegram.send_file("x", PNG, photo=True)
    telegram.until("All done.", after=len(telegram.sent) - 1)
    time.sleep(0.5)
    names = sorted(path.name for path in (zot.project / "telegram-files").iterdir())
    assert names[:2] == ["evil_name-2.txt", "evil_name.txt"] and names[2].startswith("photo-")


def test_file_goes_out_from_the_project_only(bridge: Start, telegram: FakeTelegram, zot: Zot, tmp_path: Path) -> None:
    bridge()
    (zot.project / "report.txt").write_text("numbers")
    (tmp_path / "secret.txt").write_text("secret")
    (zot.project / "link.txt").symlink_to(tmp_path / "secret.txt")
    telegram.say("/file report.txt")
    assert telegram.until("numbers", method="sendDocument")["name"] == "report.txt"
    for path in ("link.txt", "../secret.txt", str(tmp_path / "secret.txt"), "", "no/such"):
        count = len(telegram.sent)
        telegram.say(f"/file {path}")
        telegram.until("no file", after=count)
    assert not [call for call in telegram.sent if "secret" in call.get("data", "")]


def test_link_in_place_of_the_directory_is_refused(
    bridge: Start, telegram: FakeTelegram, zot: Zot, tmp_path: Path
) -> None:
    bridge()
    (tmp_path / "elsewhere").mkdir()
    (zot.project / "telegram-files").symlink_to(tmp_path / "elsewhere")
    telegram.send_file("a.txt", b"x")
    telegram.until("is a link")
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_question_is_answered_by_a_number(bridge: Start, telegram: FakeTelegram, tmp_path: Path) -> None:
    asked = {"question": "Which bird?", "options": [{"label": "heron"}, {"label": "stork"}]}
    more = {"tool_calls": [{"name": "more_tools", "args": {"names": ["ask_user"]}}]}
    call = {"tool_calls": [{"name": "ask_user", "args": {"questions": [asked]}}]}
    bridge("--permission-mode", "everything", turns=[more, call, DONE])
    telegram.say("go")
    assert "2. stork" in telegram.until("Which bird?")["text"]
    telegram.say("2")
    telegram.until("All done.")
    assert "stork" in (tmp_path / "state" / "sessions" / "7-0001.jsonl").read_text().rpartition("tool_outcome")[2]


def test_long_answer_is_a_file_and_no_address_is_fetched(bridge: Start, telegram: FakeTelegram) -> None:
    bridge(turns=[{"text": "word " * 5_000}, {"text": "see https://evil.example/?q=secret *bold*"}])
    telegram.say("go")
    assert telegram.until("word word", method="sendDocument")["name"] == "message.txt"
    telegram.say("again")
    said = telegram.until("evil.example")
    assert said["link_preview_options"] == {"is_disabled": True} and "parse_mode" not in said


def test_telegram_that_says_wait_is_waited_for(bridge: Start, telegram: FakeTelegram) -> None:
    bridge()
    telegram.failures = [(429, {"description": "Too Many Requests", "parameters": {"retry_after": 1}})]
    telegram.say("/status")
    telegram.until("mode ask")


@pytest.mark.parametrize(("code", "said"), [(401, "the token is wrong"), (409, "another program uses this bot")])
def test_fatal_errors_end_the_bridge(bridge: Start, telegram: FakeTelegram, code: int, said: str) -> None:
    telegram.poll_failure = code, {"description": "x"}
    process = bridge()
    output = process.communicate(timeout=20)[0]
    assert process.returncode == 1 and said in output and telegram.token not in output and "Traceback" not in output


def test_token_reaches_no_tool(bridge: Start, telegram: FakeTelegram, zot: Zot) -> None:
    show = {"tool_calls": [{"name": "bash", "args": {"command": "env > environment"}}]}
    bridge("--permission-mode", "everything", turns=[show, DONE])
    telegram.say("go")
    telegram.until("All done.")
    assert telegram.token not in (zot.project / "environment").read_text()


def test_user_who_leaves_needs_a_new_code(bridge: Start, telegram: FakeTelegram) -> None:
    bridge()
    telegram.say("/leave")
    telegram.until("you are removed")
    telegram.say("go")
    telegram.until("Send the code")
