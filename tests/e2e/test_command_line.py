"""The command line as a user meets it: flags, exit codes, messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from zot.cli.flags import FLAGS
from zot.cli.help import COMMANDS
from zot.cli.verb_table import subcommands


def last_line(text: str) -> str:
    return text.rstrip("\n").rsplit("\n", 1)[-1]


def system_text(server) -> str:
    return json.dumps(server.requests[-1].json["system"])


def tool_names(server) -> list[str]:
    return [tool["name"] for tool in server.requests[-1].json.get("tools", [])]


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_is_on_stdout_names_extensions_and_exits_0(zot: Zot, flag: str) -> None:
    """iface-001, iface-012, iface-280, iface-312: both spellings of help print to stdout, name `zot ext install` and
    `--ext PATH`, and exit 0.
    """
    ran = zot(flag)
    assert (ran.code, ran.err) == (0, "")
    assert "zot ext install" in ran.out and "--ext PATH" in ran.out and "--max-steps" in ran.out
    assert ran.out.count("\n") <= 60 and all(len(line) <= 100 for line in ran.out.splitlines())


@pytest.mark.parametrize("words", [("--help-all",), ("help", "all")])
def test_whole_help_names_every_flag_and_command(zot: Zot, words: tuple[str, ...]) -> None:
    ran = zot(*words)
    assert (ran.code, ran.err) == (0, "")
    assert all(flag.label in ran.out and flag.help in ran.out for flag in FLAGS)
    assert all(verb.usage in ran.out for verb in subcommands(""))


def test_short_help_names_every_command() -> None:
    assert set(COMMANDS) == {verb.path for verb in subcommands("")}


def test_help_beats_version_and_version_beats_list_models(zot: Zot) -> None:
    """iface-002: help wins over the version, and the version over the list of models."""
    assert "Usage: zot [FLAGS]" in zot("-h", "--version").out
    assert zot("--list-models", "--version").out.startswith("zot ")


@pytest.mark.parametrize("flag", ["-v", "--version"])
def test_version_is_one_line(zot: Zot, flag: str) -> None:
    """iface-003, iface-012: both spellings of the version print one line that begins with `zot `."""
    ran = zot(flag)
    assert ran.code == 0
    assert ran.out.startswith("zot ") and ran.out.count("\n") == 1


def test_an_unknown_flag_is_named_in_the_last_line(zot: Zot) -> None:
    """iface-004, iface-280: an unknown flag exits 1 with one line on stderr that names it and `--help`."""
    ran = zot("--frobnicate")
    assert (ran.code, ran.out) == (1, "")
    assert "--frobnicate" in last_line(ran.err) and "--help" in ran.err and ran.err.count("\n") == 1


def test_flag_without_its_value_is_an_error(zot: Zot) -> None:
    """iface-005: a flag at the end without its value is an error."""
    ran = zot("-p", "x", "--model")
    assert ran.code == 1
    assert "--model needs a value" in ran.err


def test_reasoning_level_ignores_case_and_bad_value_lists_all(zot: Zot, serve) -> None:
    """iface-006, iface-282: levels are accepted in any case; an unknown one exits 1 and lists all seven."""
    for level in ("HIGH", "xhigh", "max", "minimal", "off"):
        serve([Say("ok")])
        assert zot("-p", "x", "--reasoning", level).code == 0
    ran = zot("-p", "x", "--reasoning", "huge")
    assert ran.code == 1
    assert all(level in ran.err for level in ("off", "minimum", "low", "medium", "high", "xhigh", "max"))


@pytest.mark.parametrize("value", ["0", "-1", "abc", "1.5", ""])
def test_max_steps_must_be_a_positive_whole_number(zot: Zot, value: str) -> None:
    """iface-007: zero, negative numbers and words are refused."""
    ran = zot("-p", "x", "--max-steps", value)
    assert ran.code == 1
    assert "--max-steps" in ran.err


def test_without_max_steps_sixty_tool_steps_run(zot: Zot, serve) -> None:
    """iface-008: without `--max-steps` a run of sixty tool steps is not cut off."""
    server = serve([*[CallTools([("bash", {"command": "true"})])] * 60, Say("finished")])
    assert zot("-p", "go").out == "finished\n"
    assert len(server.requests) == 61


def test_max_steps_two_makes_exactly_two_model_calls(zot: Zot, serve) -> None:
    """iface-009, engine-151: `--max-steps 2` makes exactly two model calls and exits 1."""
    server = serve([CallTools([("bash", {"command": "true"})])], repeat=True)
    ran = zot("-p", "go", "--max-steps", "2")
    assert (ran.code, ran.out, len(server.requests)) == (1, "", 2)
    assert "max steps (2) exceeded" in ran.err


def test_appended_prompts_are_all_there_in_order(zot: Zot, serve) -> None:
    """iface-010: several `--append-system-prompt` texts all appear, in order."""
    server = serve([Say("ok")])
    zot("-p", "x", "--append-system-prompt", "FIRST-ADDED", "--append-system-prompt", "SECOND-ADDED")
    text = system_text(server)
    assert 0 < text.index("FIRST-ADDED") < text.index("SECOND-ADDED")


def test_system_prompt_beats_system_md_which_beats_the_default(zot: Zot, serve) -> None:
    """iface-011, engine-239: `--system-prompt` wins over SYSTEM.md, and SYSTEM.md over the default."""
    server = serve([Say("ok")], repeat=True)
    zot("-p", "x")
    default = system_text(server)
    assert "zero-overhead-tool" in default
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "SYSTEM.md").write_text("I AM FROM THE FILE\n")
    zot("-p", "x")
    assert "I AM FROM THE FILE" in system_text(server) and "zero-overhead-tool" not in system_text(server)
    zot("-p", "x", "--system-prompt", "I AM FROM THE FLAG")
    assert "I AM FROM THE FLAG" in system_text(server) and "FROM THE FILE" not in system_text(server)


def test_empty_system_prompt_removes_identity_keeps_agents_md(zot: Zot, serve) -> None:
    """iface-285, engine-250: an empty `--system-prompt` removes the identity and preserves AGENTS.md."""
    (zot.project / "AGENTS.md").write_text("HOUSE RULES")
    server = serve([Say("ok")])
    zot("-p", "x", "--system-prompt", "")
    text = system_text(server)
    assert "HOUSE RULES" in text and "zero-overhead-tool" not in text and "bash" in text


@pytest.mark.parametrize("flag", ["--no-context-files", "-nc"])
def test_context_files_can_be_disabled(zot: Zot, serve, flag: str) -> None:
    """iface-286, engine-241: `--no-context-files` and its short form leave AGENTS.md out of the prompt."""
    (zot.project / "AGENTS.md").write_text("HOUSE RULES")
    server = serve([Say("ok")])
    zot("-p", "x", flag)
    assert "HOUSE RULES" not in system_text(server)


@pytest.mark.parametrize("flag", ["--with-skills", "--with-skill", "--experimental-oauth", "--no-extensions"])
def test_flags_kept_for_users_of_the_reference_change_nothing(zot: Zot, serve, flag: str) -> None:
    """iface-013, iface-014: flags kept for users of the reference are accepted, and the request stays the same."""
    server = serve([Say("ok")], repeat=True)
    zot("-p", "x")
    assert zot("-p", "x", flag).out == "ok\n"
    assert server.requests[0].json == server.requests[1].json


def test_unknown_provider_flag_lists_the_providers(zot: Zot) -> None:
    """iface-015: an unknown provider exits 1 and lists the known providers."""
    ran = zot("-p", "x", "--provider", "nope")
    assert ran.code == 1
    assert all(name in ran.err for name in ("nope", "anthropic", "openai", "kimi", "ollama"))


def test_ollama_without_a_model_asks_for_one(zot: Zot) -> None:
    """iface-016: `--provider ollama` without a model exits 1 and asks for `--model`."""
    ran = zot("-p", "x", "--provider", "ollama")
    assert ran.code == 1
    assert "--model" in ran.err


def test_relative_and_absolute_cwd_share_session_folder(zot: Zot, serve) -> None:
    """iface-017: a relative `--cwd` and its absolute form share one session folder."""
    serve([Say("ok")], repeat=True)
    (zot.project / "sub").mkdir()
    zot("-p", "x", "--cwd", "sub")
    zot("-p", "x", "--cwd", str(zot.project / "sub"))
    assert len(zot.sessions) == 2
    assert len({path.parent for path in zot.sessions}) == 1


def test_a_cwd_that_is_not_a_directory_is_an_error(zot: Zot) -> None:
    """iface-018: a `--cwd` that is no directory exits 1 and is named."""
    ran = zot("-p", "x", "--cwd", "missing")
    assert ran.code == 1
    assert "--cwd" in ran.err and "missing" in ran.err


def test_no_tools_sends_an_empty_tool_list_even_with_skills(zot: Zot, serve) -> None:
    """iface-019, engine-230: `--no-tools` sends no tools, not even the one for skills."""
    server = serve([Say("ok")])
    zot("-p", "x", "--no-tools")
    assert tool_names(server) == []


def test_tools_flag_offers_named_tools_and_rejects_unknown_ones(zot: Zot, serve) -> None:
    """iface-020: `--tools` offers only the named tools; an unknown name ends the run before it begins."""
    server = serve([Say("ok")])
    ran = zot("-p", "x", "--tools", "read, bash,frob")
    assert ran.code == 2 and "frob" in ran.err and not server.requests
    assert zot("-p", "x", "--tools", "read, bash").code == 0
    assert tool_names(server) == ["bash", "read"]


@pytest.mark.parametrize("flag", ["--no-skill", "--no-skills"])
def test_no_skill_removes_the_tool_and_the_manifest(zot: Zot, serve, flag: str) -> None:
    """iface-021, iface-013, engine-231: `--no-skill` removes the `skill` tool and the manifest, even with
    `--with-skills`.
    """
    server = serve([Say("ok")])
    zot("-p", "x", flag, "--with-skills")
    assert "skill" not in tool_names(server)
    assert "write-zot-extension" not in system_text(server)


def test_no_session_creates_no_file(zot: Zot, serve) -> None:
    """iface-022: `--no-session` creates no session file."""
    serve([Say("ok")])
    assert zot("-p", "x", "--no-session").code == 0
    assert zot.sessions == []


@pytest.mark.parametrize("flag", ["-c", "--continue"])
def test_continue_without_sessions_starts_a_new_one(zot: Zot, serve, flag: str) -> None:
    """iface-023, iface-012: `--continue` where there are no sessions starts a new one."""
    serve([Say("ok")])
    assert zot("-p", "x", flag).out == "ok\n"
    assert len(zot.sessions) == 1


@pytest.mark.parametrize("mode", ["-p", "--json", "--stream"])
def test_a_missing_session_file_is_an_error_in_every_mode(zot: Zot, serve, mode: str) -> None:
    """iface-024: a missing `--session` file exits 1 in every mode, and no request is sent."""
    server = serve([Say("ok")])
    ran = zot(mode, "x", "--session", "nowhere.jsonl")
    assert ran.code == 1 and ran.types == (["error", "done"] if mode == "--json" else [])
    assert "nowhere.jsonl" in ran.err
    assert server.requests == []


def test_missing_credential_error_names_variable_flag_and_login(zot: Zot) -> None:
    """iface-025, engine-111: the message names the variable, `--api-key` and `/login`, and stdout stays empty."""
    ran = zot("-p", "x")
    assert (ran.code, ran.out) == (1, "")
    assert all(word in ran.err for word in ("ANTHROPIC_API_KEY", "--api-key", "/login"))


def test_list_models_needs_neither_network_nor_credential(zot: Zot) -> None:
    """iface-026, engine-112: `--list-models` works with neither network nor credential."""
    ran = zot("--list-models")
    assert (ran.code, ran.err) == (0, "")
    assert "claude-sonnet-5-5" in ran.out and "gpt-5" in ran.out


def test_a_model_of_models_json_is_listed_as_the_users(zot: Zot) -> None:
    """iface-027, engine-097: a model from models.json is listed with source `user`."""
    home = zot.home / "zot"
    home.mkdir(exist_ok=True)
    model = {"id": "my-own-model", "contextWindow": 1000}
    (home / "models.json").write_text(json.dumps({"providers": {"ollama": {"models": [model]}}}))
    row = next(line for line in zot("--list-models").out.splitlines() if "my-own-model" in line)
    assert "user" in row.split()


def test_bad_temperature_and_stats_without_print_are_errors(zot: Zot) -> None:
    """iface-283: a temperature out of range is refused, and so is `--stats` without `-p`."""
    assert "--temperature" in zot("-p", "x", "--temperature", "3").err
    ran = zot("--json", "x", "--stats", "f")
    assert ran.code == 1
    assert "--stats" in ran.err


def test_flag_value_may_follow_equals_sign_and_begin_with_dash(zot: Zot, serve) -> None:
    server = serve([Say("ok")])
    assert zot("-p", "x", "--append-system-prompt=- dash", "--append-system-prompt", "--other").code == 0
    assert "- dash" in system_text(server) and "--other" in system_text(server)


def test_everything_after_two_dashes_is_prompt(zot: Zot, serve) -> None:
    server = serve([Say("ok")])
    done = zot.start("-p", *zot.endpoint(True), "--", "--not", "a flag")
    done.communicate(timeout=30)
    assert "--not a flag" in json.dumps(server.requests[0].json["messages"])


@pytest.mark.parametrize("prompt", ["run the tests", "verify that it works", "inspect main.py", "pack it", "tg me"])
def test_first_argument_that_is_not_a_verb_is_a_prompt(zot: Zot, prompt: str) -> None:
    """`zot run the tests` is a prompt: only the names of verbs have another meaning."""
    (zot.project / "script.json").write_text('{"turns": [{"text": "done"}]}')
    process = zot.start(*prompt.split(), "--json", "--provider", "script", "--script", "script.json")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, b"")
    events = [json.loads(line) for line in out.splitlines()]
    assert events[0]["content"] == [{"type": "text", "text": prompt}]
    assert events[-1] == {"type": "done", "reason": "end_turn", "exit_code": 0}


def test_bad_models_json_is_reported_and_unchanged(zot: Zot, serve) -> None:
    """engine-100: a malformed models.json is reported and left unchanged, and the run succeeds."""
    serve([Say("ok")])
    path = zot.home / "zot" / "models.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("{broken")
    ran = zot("-p", "x")
    assert ran.out == "ok\n"
    assert str(path) in ran.err and path.read_text() == "{broken"


def test_bad_config_json_is_reported_and_unchanged(zot: Zot, serve) -> None:
    """iface-273: a malformed config.json is reported and left unchanged, and the run succeeds."""
    serve([Say("ok")])
    path = zot.home / "zot" / "config.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"provider": ')
    ran = zot("-p", "x")
    assert ran.out == "ok\n"
    assert str(path) in ran.err and path.read_text() == '{"provider": '


def test_nothing_ever_prints_a_traceback(zot: Zot, tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    lines = [
        ["--session", str(binary), "-p", "x", "--api-key", "k"],
        ["--session", str(tmp_path), "-p", "x", "--api-key", "k"],
        ["--provider", "script", "--script", str(binary), "-p", "x"],
        ["--base-url", "nonsense", "--api-key", "k", "-p", "x"],
        ["--base-url", "http://127.0.0.1:1", "--api-key", "k", "-p", "x", "--model", "claude-sonnet-5-5"],
        ["sessions", "frob"],
        ["docs", "no-such-topic"],
    ]
    for line in lines:
        ran = zot(*line, model=False)
        assert ran.code == 1, line
        assert "Traceback" not in ran.err and ran.err.startswith("zot: "), (line, ran.err)


def test_project_modules_do_not_shadow_zot_imports(zot: Zot, serve) -> None:
    for name in ("asyncio", "msgspec", "pathlib", "ssl"):
        (zot.project / f"{name}.py").write_text("import os; os._exit(9)")
    serve([Say("an answer")])
    ran = zot("-p", "hi")
    assert (ran.code, ran.out) == (0, "an answer\n"), ran.err


def test_columns_of_the_command_table_do_not_touch(zot: Zot) -> None:
    """A long summary must not run into the next column."""
    for line in zot("--help").out.splitlines():
        for name, about in COMMANDS.items():
            if f" {name} " in f" {line}" and about in line:
                rest = line.split(about, 1)[1]
                assert not rest or rest.startswith("  "), line
