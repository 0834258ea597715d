"""The first hour beside other agents: the scripted model, the times, the report. No peer is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.first_hour.__main__ import chosen, not_installed
from benchmarks.first_hour.programs import CLAUDE, CODEX, PROGRAMS, ZOT, environment
from benchmarks.first_hour.report import report, table
from benchmarks.first_hour.script import AGAIN, EXPLAIN, TAX, ScriptedModel, last_prompt
from benchmarks.first_hour.user import Check, Step, model_time
from benchmarks.install_peers import FIRST_HOUR, PEERS
from tests.fakes.model_server import CallTools, Say, SeenRequest, Slow, Timing

TOOL_RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "ok"}]}


def request(body: dict[str, Any]) -> SeenRequest:
    return SeenRequest("POST", "/v1/messages", {}, b"", body)


def anthropic(*messages: Any, tools: bool = True) -> SeenRequest:
    return request({"messages": list(messages), "tools": [{"name": "Bash"}] if tools else []})


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "<reminder>"}, {"type": "text", "text": text}]}


def test_last_prompt_counts_tool_results_after_it() -> None:
    earlier = [user(EXPLAIN), TOOL_RESULT]
    assert last_prompt(anthropic(*earlier)) == (EXPLAIN, 1)
    assert last_prompt(anthropic(*earlier, user(AGAIN))) == (AGAIN, 0)
    assert last_prompt(anthropic(*earlier, user(AGAIN), TOOL_RESULT)) == (AGAIN, 1)


def test_last_prompt_reads_openai_responses() -> None:
    tools = {"type": "additional_tools", "role": "developer", "tools": []}
    prompt = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": TAX}]}
    result = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    assert last_prompt(request({"input": [tools, prompt, result]})) == (TAX, 1)


def test_side_request_takes_no_turn() -> None:
    model = ScriptedModel(ZOT.translate, 0.0)
    titles = [anthropic(user(EXPLAIN), tools=False), anthropic(user("another text")), request({})]
    assert [last_prompt(title) for title in titles] == [("", 0)] * 3
    assert all(isinstance(model.answer(title), Say) for title in titles)


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_answer_has_the_programs_tool_and_its_own_ids(program: Any) -> None:
    model = ScriptedModel(program.translate, 0.0)
    turns = [model.answer(anthropic(user(EXPLAIN))) for _ in range(2)]
    answers = [turn.turn for turn in turns if isinstance(turn, Slow)]
    calls = [answer.calls[0] for answer in answers if isinstance(answer, CallTools)]
    assert {name for name, *_ in calls} == {
        {"zot": "bash", "claude-code": "Bash", "codex": "exec_command"}[program.name]
    }
    assert "make test" in str(calls[0][1])
    assert len({id for *_, id in calls}) == len({answer.id for answer in answers}) == 2


@pytest.mark.parametrize("program", PROGRAMS)
def test_environment_has_no_key_and_not_the_real_home(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, "real")
    env = environment(program, tmp_path, "http://127.0.0.1:1")
    assert "real" not in env.values()
    assert env["HOME"] == str(tmp_path)
    assert env["HTTPS_PROXY"].startswith("http://127.0.0.1")


def test_missing_peer_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.install_peers.CACHE", tmp_path)
    assert not_installed(PROGRAMS)[0] == "claude-code is not installed: run `make peers`"
    assert len(not_installed(PROGRAMS)) == 2
    assert not_installed(chosen(["zot"])) == []


def test_unknown_program_is_refused() -> None:
    with pytest.raises(SystemExit, match="unknown program vim; expected zot, claude-code, codex"):
        chosen(["zot", "vim"])


def test_platform_package_of_claude_is_found_without_scripts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.install_peers.CACHE", tmp_path)
    peer = FIRST_HOUR[0]
    binary = peer.directory / "node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    for path in (binary, peer.directory / "node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs", peer.whole):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert peer.command == binary


def test_each_pin_has_its_own_directory() -> None:
    assert len({peer.directory for peer in (*PEERS, *FIRST_HOUR)}) == len(PEERS) + len(FIRST_HOUR)


def test_model_time_counts_overlapping_requests_once() -> None:
    timings = [Timing(1, 3), Timing(2, 4), Timing(9, 0), Timing(20, 30)]
    assert model_time(timings, 0, 10) == 4
    assert model_time(timings, 2.5, 3) == 0.5
    assert model_time([], 0, 10) == 0


def test_report_shows_keys_waits_and_failed_expectations() -> None:
    good = Step("plan", keys=["`/plan`", "⏎"], count=6, waited_s=0.25, screens=["one"], checks=[Check("no file", True)])
    bad = Step("plan", count=1, waited_s=1, screens=["two"], checks=[Check("no file", False)])
    hours = {ZOT: [good, Step("quit")], CODEX: [bad]}
    assert table(hours).splitlines()[2:] == [
        "| plan | 6 keys, 0.2 s, ok | 1 key, 1.0 s, NOT: no file |",
        "| quit | 0 keys, 0.0 s | not reached |",
        "| all | 6 keys, 0.2 s, 1 of 1 hold | 1 key, 1.0 s, 0 of 1 hold |",
    ]
    page = report({(80, 24): hours, (120, 40): {CLAUDE: [bad]}})
    assert "6 keys (`/plan` ⏎), waited 0.2 s" in page
    assert page.index("```text\none\n```") < page.index("```text\ntwo\n```") < page.index("## 120x40: plan")
