"""Project extensions in a real run: only trusted ones run, and running does not end trust."""

from __future__ import annotations

import json
import py_compile
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say

MAIN = """\
import json, os, sys
import words

def say(**frame):
    print(json.dumps(frame), flush=True)

say(type="hello", name="x")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello_ack":
        with open(os.path.join(frame["data_dir"], "state"), "a") as file:
            file.write("ran ")
        say(type="register_tool", name="project_tool", schema={"type": "object"})
        say(type="ready")
    elif frame["type"] == "tool_call":
        say(type="tool_result", id=frame["id"], content=[{"type": "text", "text": words.GREETING}])
    elif frame["type"] == "shutdown":
        break
"""


@pytest.fixture
def project(zot: Zot) -> Path:
    """An extension in the project, of two modules."""
    directory = zot.project / ".zot" / "extensions" / "x"
    directory.mkdir(parents=True)
    (directory / "main.py").write_text(MAIN)
    (directory / "words.py").write_text('GREETING = "the words you trusted"\n')
    manifest = {"name": "x", "exec": sys.executable, "args": ["main.py"]}
    (directory / "extension.json").write_text(json.dumps(manifest))
    return directory


def answer(zot: Zot, serve, *flags: str) -> tuple[str, str]:
    """The project tool's result, or nothing, and zot's stderr."""
    server = serve([CallTools([("project_tool", {})]), Say("done")])
    ran = zot("-p", *flags, "go")
    assert ran.code == 0
    result = server.requests[1].json["messages"][-1]["content"][0]
    offered = {tool["name"] for tool in server.requests[0].json["tools"]}
    said = json.dumps(result["content"]) if "project_tool" in offered else ""
    return said, ran.err


def test_print_mode_skips_untrusted_with_one_line(zot: Zot, serve, project: Path) -> None:
    """ext-140, ext-022: print mode skips an untrusted extension with one line and does not ask."""
    said, err = answer(zot, serve)
    assert said == ""
    assert [line for line in err.splitlines() if "not trusted" in line] == err.splitlines()
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("mode", ["--json", "--stream"])
def test_json_and_stream_mode_skip_untrusted(zot: Zot, serve, project: Path, mode: str) -> None:
    """ext-140: JSON and stream mode skip it as well."""
    server = serve([Say("done")])
    ran = zot(mode, "go")
    assert ran.code == 0
    assert "not trusted" in ran.err
    assert "project_tool" not in {tool["name"] for tool in server.requests[0].json["tools"]}


def test_after_trust_it_runs_and_after_untrust_it_does_not(zot: Zot, serve, project: Path) -> None:
    """ext-141: after `zot ext trust` it runs, and after `zot ext untrust` it does not."""
    assert zot("ext", "trust").code == 0
    said, err = answer(zot, serve)
    assert "the words you trusted" in said
    assert err == ""
    assert zot("ext", "untrust", model=False).code == 0
    assert answer(zot, serve)[0] == ""


def test_the_flag_trusts_for_one_run(zot: Zot, serve, project: Path) -> None:
    assert "the words you trusted" in answer(zot, serve, "--trust-project")[0]
    assert answer(zot, serve)[0] == ""


def test_two_runs_leave_directory_and_trust_unchanged(zot: Zot, serve, project: Path) -> None:
    """ext-137, ext-138: running it twice leaves no bytecode in its directory, and it stays trusted."""
    zot("ext", "trust")
    before = sorted(path.name for path in project.iterdir())
    for _ in range(2):
        assert "the words you trusted" in answer(zot, serve)[0]
    assert sorted(path.name for path in project.iterdir()) == before
    [state] = (zot.home / "zot" / "data").glob("*/x/state")
    assert state.read_text() == "ran ran "


def test_changed_content_is_skipped_with_one_line(zot: Zot, serve, project: Path) -> None:
    """ext-138, ext-140: changed content is skipped with one line on stderr."""
    zot("ext", "trust")
    (project / "words.py").write_text('GREETING = "something else"\n')
    said, err = answer(zot, serve)
    assert said == ""
    assert len(err.splitlines()) == 1
    assert "has changed since you trusted it" in err


def test_a_new_module_that_would_be_imported_instead_is_noticed(zot: Zot, serve, project: Path) -> None:
    """ext-150: a new module that could shadow another ends the trust."""
    zot("ext", "trust")
    (project / "json.py").write_text("print('mine')\n")
    assert answer(zot, serve)[0] == ""


def test_bytecode_planted_in_the_project_is_never_loaded(zot: Zot, serve, project: Path, tmp_path: Path) -> None:
    """ext-150: a bytecode file that is not checked against its source would win over it."""
    zot("ext", "trust")
    evil = tmp_path / "words.py"
    evil.write_text('GREETING = "planted"\n')
    (project / "__pycache__").mkdir()
    py_compile.compile(
        str(evil),
        cfile=str(project / "__pycache__" / f"words.{sys.implementation.cache_tag}.pyc"),
        doraise=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    assert "the words you trusted" in answer(zot, serve)[0]


def test_changed_project_guard_denies_tools_until_trusted(zot: Zot, serve, project: Path) -> None:
    """A model that edits the guard's files must not get rid of the guard."""
    manifest = json.loads((project / "extension.json").read_text())
    (project / "extension.json").write_text(json.dumps({**manifest, "guard": True}))
    zot("ext", "trust")
    (project / "words.py").write_text("")
    server = serve([CallTools([("bash", {"command": "touch witness"})]), Say("done")])
    ran = zot("-p", "go")
    assert not (zot.project / "witness").exists()
    assert "a trusted guard changed (words.py changed)" in ran.err
    assert "is_error" in json.dumps(server.requests[1].json["messages"][-1])
    zot("ext", "untrust", model=False)
    serve([CallTools([("bash", {"command": "touch witness"})]), Say("done")])
    zot("-p", "go")
    assert (zot.project / "witness").exists()
