"""The guides as a reader follows them: every file is taken from the page, every command is run."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests import toolchains
from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say

DOCS = Path(__file__).parent.parent.parent / "docs"
FIRST = DOCS / "guides" / "your-first-extension.md"
PORTING = DOCS / "guides" / "porting-extensions.md"
_FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MAIN = {"python": "main.py", "typescript": "main.ts"}
LAST_LINE = {"python": 'if __name__ == "__main__":', "typescript": "await ext.run();"}


def files(page: Path) -> dict[str, str]:
    return dict(_FILE.findall(page.read_text("utf-8")))


def commands(page: Path) -> str:
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL))


@pytest.fixture
def reader(zot: Zot) -> Zot:
    zot.environment |= toolchains.environment()
    return zot


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_the_first_extension_works_step_by_step(reader: Zot, language: str) -> None:
    page = files(FIRST)
    assert f"zot ext new notes --lang {language}" in commands(FIRST)
    assert reader("ext", "new", "notes", "--lang", language).code == 0
    reader.project = notes = reader.project / "notes"
    for name in ("count.json", "remember.json"):
        (notes / name).write_text(page[name])

    script = ("--provider", "script", "--script")
    ran = reader(*script, "count.json", "--ext", ".", "-p", "How many words?")
    assert (ran.code, ran.out) == (0, "Three words.\n")
    assert ran.err in ("", "waiting for extension notes\n")  # a busy machine takes its time
    ran = reader(*script, "count.json", "--ext", ".", "--json", "How many words?")
    assert "3 words, 13 characters" in ran.out

    (notes / MAIN[language]).write_text(page[f"{language}/{MAIN[language]}"])
    ran = reader(*script, "remember.json", "--ext", ".", "-p", "Remember how tests are run")
    assert (ran.code, ran.out) == (0, "Noted.\n")
    named = next(line.split()[1] for line in reader("ext", "doctor", ".").out.splitlines() if "data  " in line)
    assert (Path(named) / "notes.txt").read_text() == "tests are run with make test\n"
    assert not list(notes.rglob("notes.txt"))
    assert "remembered tests are run with make test" in reader("ext", "logs", "notes").out

    checked = reader("ext", "check", ".")
    assert checked.code == 0, checked.out

    assert reader("ext", "install", ".").code == 0
    assert "notes" in reader("ext", "list").out
    assert "notes 0.1.0 (global process): ready" in reader("ext", "doctor").out
    assert reader("ext", "remove", "notes", "--yes").code == 0


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_the_guard_of_the_guide_guards(reader: Zot, serve, language: str) -> None:
    page = files(FIRST)
    reader("ext", "new", "notes", "--lang", language)
    main = reader.project / "notes" / MAIN[language]
    guard = page[f"{language}/guard.{main.suffix[1:]}"]
    text = page[f"{language}/{MAIN[language]}"]
    main.write_text(text.replace(LAST_LINE[language], f"{guard}\n\n{LAST_LINE[language]}"))
    (reader.project / ".env").write_text("KEY=hunter2")
    calls = [
        ("write", {"path": ".env", "content": "KEY=1"}),
        ("read", {"path": "./.env"}),
        ("bash", {"command": "cat .env"}),
        ("bash", {"command": "echo fine"}),
    ]
    server = serve([*(CallTools([call]) for call in calls), Say("done")])
    assert reader("-p", "--ext", "notes", "go").code == 0
    assert (reader.project / ".env").read_text() == "KEY=hunter2"
    told = json.dumps(server.requests[-1].json["messages"])
    assert told.count("refused: .env is not for models") == 3 and "hunter2" not in told and "fine" in told


def test_the_typescript_of_the_guide_is_well_typed(reader: Zot) -> None:
    reader("ext", "new", "notes", "--lang", "typescript")
    notes = reader.project / "notes"
    page = files(FIRST)
    text = page["typescript/main.ts"].replace("await ext.run();", page["typescript/guard.ts"] + "\nawait ext.run();")
    (notes / "main.ts").write_text(text)
    types = toolchains.TSX.parent / "@types"
    tsc = [str(toolchains.TSX / "tsc"), "--typeRoots", str(types)]
    ran = subprocess.run(tsc, cwd=notes, capture_output=True, text=True, timeout=110)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(("status", "runs"), [(0, True), (2, False)])
def test_migrated_hook_still_decides(reader: Zot, serve, status: int, runs: bool) -> None:
    reader("ext", "new", "hook", "--lang", "python")
    hook = reader.project / "hook"
    for name, text in files(PORTING).items():
        (reader.project / name).write_text(text)
    (hook / "hook.sh").write_text(f"#!/bin/sh\ncat > asked.json\necho 'not in this house' >&2\nexit {status}\n")
    (hook / "hook.sh").chmod(0o755)
    server = serve([CallTools([("bash", {"command": "touch witness"})]), Say("done")])
    ran = reader("-p", "--ext", "hook", "go")
    assert ran.code == 0
    assert (reader.project / "witness").exists() is runs
    asked = json.loads((hook / "asked.json").read_text())
    assert (asked["tool_name"], asked["tool_input"]) == ("Bash", {"command": "touch witness"})
    assert ("not in this house" in json.dumps(server.requests[1].json["messages"])) is not runs


def test_edit_loop_page_names_existing_commands(reader: Zot) -> None:
    """Every `zot` command and flag of the page exists, and the quoted question is exact."""
    page = (DOCS / "guides" / "editing-extensions.md").read_text("utf-8")
    words = " ".join(page.split())
    known = reader("docs", "command-line").out
    verbs = set(re.findall(r"zot (ext \w+)", words))
    assert verbs >= {
        "ext new",
        "ext logs",
        "ext trace",
        "ext check",
        "ext replay",
        "ext doctor",
        "ext trust",
        "ext install",
    }
    assert [verb for verb in sorted(verbs) if f"zot {verb}" not in known] == []
    assert [flag for flag in sorted(set(re.findall(r"(?<![\w-])--[a-z-]+", words))) if flag not in known] == []
    source = Path(__file__).parents[2] / "src" / "zot" / "frontends" / "terminal"
    assert any("trust this directory while I edit" in file.read_text("utf-8") for file in source.rglob("*.py"))


# --- the tables name what exists


def calls_in(text: str) -> set[tuple[str, str]]:
    return set(re.findall(r"\b(ext|ctx|event)\.([A-Za-z_]+)", text))


def test_the_porting_table_of_pi_names_existing_calls() -> None:
    """ext2-159: each call is a method of the TypeScript SDK."""
    rows = [row for row in PORTING.read_text("utf-8").split("## From pi", 1)[1].splitlines() if row.startswith("|")]
    section = "\n".join(row.rsplit(" | ", 1)[-1] for row in rows)  # the column of zot
    sources = (Path(__file__).parents[2] / "sdks" / "typescript" / "src").glob("*.ts")
    source = "\n".join(path.read_text("utf-8") for path in sources)
    known = set(re.findall(r"^\s+(?:abstract |override |readonly |get |async )*(\w+)[(<;:]", source, re.MULTILINE))
    assert sorted(name for _, name in calls_in(section) if name not in known) == []


@pytest.mark.parametrize("page", ["porting-extensions", "deeper-extensions"])
def test_the_python_calls_of_the_guides_exist(page: str) -> None:
    """ext2-159: each call is a method of the Python SDK."""
    from zot.ext import Context, Extension, Interception

    text = (DOCS / "guides" / f"{page}.md").read_text("utf-8").split("## From pi", 1)[0]
    text = re.sub(r"```typescript\n.*?```", "", text, flags=re.DOTALL)
    owners = {"ext": Extension, "ctx": Context, "event": Interception}
    attributes = {"ext": {"appended"}, "ctx": {"id", "params"}, "event": {"text", "args", "data", "ctx", "tool_name"}}
    missing = [
        f"{owner}.{name}"
        for owner, name in calls_in(text)
        if not hasattr(owners[owner], name) and name not in attributes[owner]
    ]
    assert sorted(missing) == []
