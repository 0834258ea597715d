"""A new author's path in each language: make a starter, run its own test, check it, let the agent call its tool."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests import toolchains
from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say

OWN_TESTS = {
    "python": ["python3", "test_main.py"],
    "typescript": ["node", "--test"],
    "go": ["go", "test", "."],
    "bash": ["bash", "test.sh"],
    "node": ["node", "--test"],
}
LANGUAGES = tuple(OWN_TESTS)


@pytest.fixture
def author(zot: Zot) -> Zot:
    zot.environment |= toolchains.environment()
    return zot


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_starter_works_from_new_to_a_tool_call_of_the_agent(author: Zot, serve, language: str) -> None:
    made = author("ext", "new", "my-words", "--lang", language)
    assert made.code == 0, made.err
    starter = author.project / "my-words"
    assert (starter / "README.md").is_file()

    own = subprocess.run(
        OWN_TESTS[language], cwd=starter, env=author.env(), capture_output=True, text=True, timeout=110
    )
    assert own.returncode == 0, own.stdout + own.stderr

    checked = author("ext", "check", str(starter))
    assert checked.code == 0, checked.out + checked.err

    server = serve([CallTools([("my_words_count", {"text": "one two three"})]), Say("Three.")])
    ran = author("-p", "--ext", str(starter), "count")
    assert (ran.code, ran.out) == (0, "Three.\n")
    assert ran.err in ("", "waiting for extension my-words\n")  # a busy machine takes its time
    assert "my_words_count" in {tool["name"] for tool in server.requests[0].json["tools"]}
    assert "3 words, 13 characters" in json.dumps(server.requests[1].json["messages"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_guard_starter_denies_its_example(author: Zot, serve, language: str) -> None:
    assert author("ext", "new", "watch", "--lang", language, "--guard").code == 0
    manifest = json.loads((author.project / "watch" / "extension.json").read_text())
    assert manifest["guard"] is True
    witness = author.project / "witness"
    witness.mkdir()
    (witness / "file").touch()
    calls = [CallTools([("bash", {"command": "rm -rf witness"})]), CallTools([("bash", {"command": "echo fine"})])]
    server = serve([*calls, Say("done")])
    ran = author("-p", "--ext", "watch", "go")
    assert (ran.code, ran.out) == (0, "done\n")
    assert (witness / "file").exists()
    assert "refused by watch: rm -rf" in json.dumps(server.requests[1].json["messages"])
    assert "fine" in json.dumps(server.requests[2].json["messages"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_pipe_recipe_gets_its_answers(author: Zot, language: str) -> None:
    """ext-149: an ack without directories, one command, shutdown."""
    assert author("ext", "new", "recipe", "--lang", language).code == 0
    starter = author.project / "recipe"
    manifest = json.loads((starter / "extension.json").read_text())
    frames = (
        '{"type":"hello_ack","protocol_version":1,"zot_version":"0","provider":"p","model":"m","cwd":"/"}\n'
        '{"type":"command_invoked","id":"1","name":"recipe"}\n'
        '{"type":"shutdown"}\n'
    )
    argv = [manifest["exec"], *manifest["args"]]
    played = subprocess.run(
        argv, cwd=starter, env=author.env(), input=frames, capture_output=True, text=True, timeout=110
    )
    assert played.returncode == 0, played.stderr
    answers = [json.loads(line) for line in played.stdout.splitlines()]
    types = [answer["type"] for answer in answers]
    assert types[0] == "hello"
    assert types.index("register_command") < types.index("ready") < types.index("command_response")
    assert types[-1] == "shutdown_ack"
    assert answers[types.index("command_response")]["id"] == "1"


def test_a_starter_keeps_to_itself(author: Zot) -> None:
    """It carries its SDK, so that it works where zot is not importable and nothing can be downloaded."""
    author("ext", "new", "alone", "--lang", "python")
    starter = author.project / "alone"
    ran = subprocess.run(
        [
            "python3",
            "-I",
            "-S",
            "-c",
            "import sys; sys.path.insert(0, '.'); import main, zot_ext; print(zot_ext.__file__)",
        ],
        cwd=starter,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(ran.stdout.strip()).is_relative_to(starter)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("x",), "--lang: expected one of"),
        (("x", "--lang", "cobol"), "--lang: expected one of"),
        (("--lang", "bash"), "the name is missing"),
        (("../x", "--lang", "bash"), "is not a valid name"),
        (("Big", "--lang", "bash"), "is not a valid name"),
    ],
)
def test_ext_new_reports_invalid_arguments(author: Zot, words: tuple[str, ...], reason: str) -> None:
    ran = author("ext", "new", *words)
    assert ran.code == 1
    assert reason in ran.err


def test_ext_new_leaves_nonempty_directory_unchanged(author: Zot) -> None:
    (author.project / "x").mkdir()
    (author.project / "x" / "mine").write_text("mine")
    ran = author("ext", "new", "x", "--lang", "bash")
    assert ran.code == 1
    assert "not empty" in ran.err
    assert [path.name for path in (author.project / "x").iterdir()] == ["mine"]


def test_the_place_can_be_chosen(author: Zot) -> None:
    assert author("ext", "new", "x", "--lang", "bash", "--dir", "deep/er").code == 0
    assert (author.project / "deep" / "er" / "main.sh").is_file()


@pytest.mark.parametrize("language", ["python", "typescript", "go"])
@pytest.mark.parametrize("template", ["progress", "question", "status", "provider"])
def test_a_template_passes_its_own_test_and_the_check(author: Zot, language: str, template: str) -> None:
    """ext2-163 to ext2-170: what authors start from is sound."""
    made = author("ext", "new", "my-start", "--lang", language, "--template", template)
    assert made.code == 0, made.err
    starter = author.project / "my-start"
    own = subprocess.run(
        OWN_TESTS[language], cwd=starter, env=author.env(), capture_output=True, text=True, timeout=110
    )
    assert own.returncode == 0, own.stdout + own.stderr
    checked = author("ext", "check", str(starter))
    assert checked.code == 0, checked.out + checked.err
    warned = {line.split()[1] for line in checked.out.splitlines() if line.startswith("  WARN ")}
    assert warned <= {"handshake-hello-late:"}, checked.out
    assert "__" not in (starter / "README.md").read_text().replace("__pycache__", "")


@pytest.mark.parametrize("language", ["python", "typescript", "go"])
def test_the_progress_starter_reads_the_users_project(author: Zot, language: str) -> None:
    """Issue 31: a relative path of the model is one of the project, not of the extension's directory."""
    assert author("ext", "new", "my-start", "--lang", language, "--template", "progress").code == 0
    (author.project / "notes").mkdir()
    (author.project / "notes" / "a.txt").write_text("one\ntwo\n")
    script = author.project / "count.json"
    call = {"name": "my_start_count", "args": {"folder": "notes"}}
    script.write_text(json.dumps({"turns": [{"tool_calls": [call]}, {"text": "Counted."}]}))
    run = author("--provider", "script", "--script", str(script), "--ext", "my-start", "--json", "count")
    assert "2 lines in 1" in run.out, run.out + run.err


def test_the_question_starter_says_which_extension_needed_a_user(author: Zot) -> None:
    """Issue 31: without a user the reason of the denial names the extension."""
    assert author("ext", "new", "my-start", "--lang", "python", "--template", "question").code == 0
    script = author.project / "remove.json"
    call = {"name": "bash", "args": {"command": "rm -rf nothing"}}
    script.write_text(json.dumps({"turns": [{"tool_calls": [call]}, {"text": "Denied."}]}))
    run = author("--provider", "script", "--script", str(script), "--ext", "my-start", "--json", "remove")
    assert "denied: my-start must ask, and no user can be asked in this mode" in run.out, run.out + run.err


@pytest.mark.parametrize("name", ["zot", "z0t", "system", "syst3m", "approval", "appr0val"])
def test_a_name_that_imitates_zot_is_refused(author: Zot, name: str) -> None:
    """ext2-068: the user must not take its dialogs for zot's."""
    ran = author("ext", "new", name, "--lang", "python")
    assert ran.code == 1
    assert "could be taken for zot itself" in ran.err
    assert not (author.project / name).exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--lang", "python", "--template", "game"), "--template: expected one of progress, question"),
        (("--lang", "bash", "--template", "status"), "--template: there is none in bash"),
        (("--lang", "go", "--template", "status", "--guard"), "--guard cannot be combined"),
    ],
)
def test_a_wrong_template_is_reported(author: Zot, words: tuple[str, ...], reason: str) -> None:
    ran = author("ext", "new", "x", *words)
    assert ran.code == 1
    assert reason in ran.err
