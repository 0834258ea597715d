"""The guide to deeper extensions as a reader follows it: its files, its manifest, its commands, its starters."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import toolchains
from tests.e2e.conftest import Zot
from tests.e2e.test_extension_guides import DOCS, MAIN, commands, files
from tests.fakes.model_server import CallTools, Say

PAGE = DOCS / "guides" / "deeper-extensions.md"


@pytest.fixture
def reader(zot: Zot) -> Zot:
    zot.environment |= toolchains.environment()
    return zot


def deploy(reader: Zot, language: str) -> Path:
    page = files(PAGE)
    assert "zot ext new deploy --lang python --template progress" in commands(PAGE)
    made = reader("ext", "new", "deploy", "--lang", language, "--template", "progress")
    assert made.code == 0, made.err
    directory = reader.project / "deploy"
    manifest = json.loads(page["extension.json"])
    if language == "typescript":
        manifest |= {"exec": "node", "args": ["start.mjs"]}
    (directory / "extension.json").write_text(json.dumps(manifest))
    (directory / MAIN[language]).write_text(page[f"{language}/{MAIN[language]}"])
    return directory


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_the_example_passes_the_check_also_under_less(reader: Zot, language: str) -> None:
    """ext2-153, ext2-163 to ext2-170: no failure and no word too many."""
    directory = deploy(reader, language)
    ran = reader("ext", "check", str(directory), "--modes", "--deny", "dialogs", "--features", "all")
    assert ran.code == 0, ran.out
    assert "WARN uses-needed" not in ran.out


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_the_example_deploys_asks_and_rewrites(reader: Zot, serve: Any, language: str) -> None:
    """ext2-055, ext2-159: input is rewritten, progress is an event, and without a user production stays as it is."""
    directory = deploy(reader, language)
    calls = [CallTools([("deploy", {"env": "staging"})]), CallTools([("deploy", {"env": "production"})])]
    server = serve([*calls, Say("done")])
    ran = reader("--json", "--ext", str(directory), "fix #12")
    assert ran.code == 0, ran.err
    said = json.dumps(server.requests[-1].json["messages"])
    assert "fix issue 12" in said
    assert "staging is deployed" in said and "the user said no" in said
    events = [json.loads(line) for line in ran.out.splitlines()]
    progress = [event for event in events if event["type"] == "tool_progress"]
    assert progress[0]["fraction"] == pytest.approx(1 / 3)  # at most 20 a second are sent, the newest


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_the_command_of_the_example_calls_a_model(reader: Zot, serve: Any, language: str) -> None:
    """ext2-112: `/status-report staging` without a screen."""
    directory = deploy(reader, language)
    server = serve([Say("All is well.")])
    ran = reader("-p", "--ext", str(directory), "/status-report staging")
    assert (ran.code, ran.out) == (0, "All is well.\n"), ran.err
    assert "Write one line about staging." in json.dumps(server.requests[0].json["messages"])


def test_the_typescript_of_the_guide_is_well_typed(reader: Zot) -> None:
    directory = deploy(reader, "typescript")
    tsc = [str(toolchains.TSX / "tsc"), "--typeRoots", str(toolchains.TSX.parent / "@types")]
    ran = subprocess.run(tsc, cwd=directory, capture_output=True, text=True, timeout=110)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("template", ["progress", "question", "status", "provider"])
def test_the_typescript_of_a_template_is_well_typed(reader: Zot, template: str) -> None:
    assert reader("ext", "new", "made", "--lang", "typescript", "--template", template).code == 0
    tsc = [str(toolchains.TSX / "tsc"), "--typeRoots", str(toolchains.TSX.parent / "@types")]
    ran = subprocess.run(tsc, cwd=reader.project / "made", capture_output=True, text=True, timeout=110)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("language", ["python", "typescript", "go"])
def test_a_provider_template_answers(reader: Zot, language: str) -> None:
    """ext2-121, ext2-124: the starter's model through the real zot."""
    assert reader("ext", "new", "corp", "--lang", language, "--template", "provider").code == 0
    ran = reader("-p", "--ext", "corp", "--model", "corp/echo", "hello there", model=False)
    assert (ran.code, ran.out.strip()) == (0, "HELLO THERE"), ran.err


@pytest.mark.parametrize("language", ["python", "typescript", "go"])
def test_a_question_template_denies_without_a_user(reader: Zot, serve: Any, language: str) -> None:
    """ext2-074, ext2-146: nobody can be asked in print mode, so the guard blocks; other commands run."""
    assert reader("ext", "new", "ask", "--lang", language, "--template", "question").code == 0
    (reader.project / "kept").mkdir()
    calls = [CallTools([("bash", {"command": "rm -r kept"})]), CallTools([("bash", {"command": "echo fine"})])]
    server = serve([*calls, Say("done")])
    ran = reader("-p", "--ext", "ask", "go")
    assert ran.code == 0, ran.err
    assert (reader.project / "kept").is_dir()
    assert "fine" in json.dumps(server.requests[2].json["messages"])


def test_the_table_of_arguments_names_those_of_the_tools(reader: Zot, serve: Any) -> None:
    """Issue 31: a guard's author reads there which argument has the path or the command."""
    server = serve([Say("ok")])
    assert reader("-p", "hello").code == 0
    schemas = {tool["name"]: tool["input_schema"] for tool in server.requests[0].json["tools"]}
    rows = re.findall(r"^\| `(\w+)` \| (`.+) \|$", PAGE.read_text("utf-8").split("`event.args` of")[1], re.MULTILINE)
    listed = {tool: set(re.findall(r"`(\w+)`", text.split(" (")[0])) for tool, text in rows}
    assert set(listed) == {"bash", "read", "write", "edit", "glob", "grep"}
    assert listed == {tool: set(schemas[tool]["properties"]) for tool in listed}
