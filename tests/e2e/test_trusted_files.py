"""Trust covers the files that run: after a change, a hook, an MCP server or a plugin of a project does not run them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_hooks import entry, last_result, project, run
from tests.e2e.test_plugins import install, write
from tests.fakes.mcp_server import command
from tests.fakes.model_server import CallTools

BASH = CallTools([("bash", {"command": "echo ran > made"})])
SCRIPT = "#!/bin/sh\ntouch unchanged\n"
CHANGED = "#!/bin/sh\ntouch changed\n"
PYTHON = "open('unchanged', 'w')\n"
PYTHON_CHANGED = "open('changed', 'w')\n"
LARGE = SCRIPT + "exit 0\n" + "#" * (5 << 20)

# command, files of the project, the file that changes and its new content
SHAPES: dict[str, tuple[str, Mapping[str, str], str, str]] = {
    "path": ("./tools/x.sh", {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "variable": ('"$CLAUDE_PROJECT_DIR"/tools/x.sh', {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "interpreter": ("sh tools/x.sh", {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "cd": ("cd tools && ./x.sh && mv unchanged .. ", {"tools/x.sh": SCRIPT}, "tools/x.sh", "touch ../changed"),
    "bash -c": ("bash -c './tools/x.sh'", {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "bash -c cd": ('bash -c "cd tools; ../tools/x.sh; mv unchanged .."', {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "pipe": ("cat|./tools/x.sh", {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "and": ("true&&./tools/x.sh", {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "subshell": ("(./tools/x.sh)", {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "output": ("./tools/x.sh>log", {"tools/x.sh": SCRIPT, "log": ""}, "tools/x.sh", CHANGED),
    "input": ("sh<tools/x.sh", {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "pattern": ("for f in tools/*.sh; do sh $f; done", {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "new in pattern": ("for f in tools/*.sh; do sh $f; done", {"tools/x.sh": SCRIPT}, "tools/y.sh", CHANGED),
    "quotes": ("./to'ol's/x.sh", {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "space": ("'./my tools/x.sh'", {"my tools/x.sh": SCRIPT}, "my tools/x.sh", CHANGED),
    "assignment": ("D=tools; ./$D/x.sh", {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "substitution": ("sh `echo tools/x.sh`", {"tools/x.sh": SCRIPT}, "tools/x.sh", CHANGED),
    "make": ("make -s go", {"Makefile": "go:\n\t./x.sh\n", "x.sh": SCRIPT}, "x.sh", CHANGED),
    "makefile": ("make -s go", {"Makefile": "go:\n\ttouch unchanged\n"}, "Makefile", "go:\n\ttouch changed\n"),
    "python -m": ("python3 -m pack.tool", {"pack/tool.py": PYTHON}, "pack/tool.py", PYTHON_CHANGED),
    "python -c": ("python3 -c 'import tool'", {"tool.py": PYTHON}, "tool.py", PYTHON_CHANGED),
    "import": ("python3 t/x.py", {"t/x.py": "import helper\n", "t/helper.py": PYTHON}, "t/helper.py", PYTHON_CHANGED),
    "new module": ("python3 t/x.py", {"t/x.py": "import json\n" + PYTHON}, "t/json.py", PYTHON_CHANGED),
    "package": (
        "python3 t/x.py",
        {"t/x.py": "from lib.deep import f\n", "t/lib/deep.py": PYTHON + "f = 1\n"},
        "t/lib/__init__.py",
        PYTHON_CHANGED,
    ),
    "source": ("sh t/x.sh", {"t/x.sh": '. "$(dirname "$0")/lib.sh"\n', "t/lib.sh": SCRIPT}, "t/lib.sh", CHANGED),
    "exec": ("sh t/x.sh", {"t/x.sh": "exec ./t/y\n", "t/y": SCRIPT}, "t/y", CHANGED),
    "large": ("./tools/x.sh", {"tools/x.sh": LARGE}, "tools/x.sh", LARGE.replace("unchanged", "changed")),
}


def put(root: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(0o755)


def ran_files(zot: Zot) -> list[str]:
    """Which content ran, and whether the call of the model did."""
    return [name for name in ("unchanged", "changed", "tools/changed", "made") if (zot.project / name).exists()]


# One of each kind; `make attack` tries all of them.
KINDS = ("variable", "cd", "pipe", "input", "new in pattern", "make", "python -m", "new module", "source", "large")


@pytest.mark.parametrize("shape", KINDS)
def test_hook_with_a_changed_file_does_not_run(zot: Zot, serve: Any, shape: str) -> None:
    line, files, name, content = SHAPES[shape]
    put(zot.project, files)
    project(zot, PreToolUse=[entry(line, "Bash")])
    assert zot("hooks", "trust", model=False).code == 0
    _, server = run(zot, serve, BASH)
    assert ran_files(zot) == ["unchanged", "made"], last_result(server.requests[1])
    for done in ran_files(zot):
        (zot.project / done).unlink()
    # changed by the agent during a run: the next call is denied
    before = (zot.project / name).read_text() if (zot.project / name).exists() else None
    change = CallTools([("write", {"path": name, "content": content})])
    _, server = run(zot, serve, change, BASH)
    denied = last_result(server.requests[2])
    assert "changed since you trusted it" in denied and name in denied
    assert ran_files(zot) == []
    # changed between two runs: the hook needs trust again
    ran, _ = run(zot, serve, BASH)
    assert "skipped 1 untrusted hook" in ran.err and ran_files(zot) == ["made"]
    # unchanged again: it runs
    if before is None:
        (zot.project / name).unlink()
    else:
        put(zot.project, {name: before})
    run(zot, serve, BASH)
    assert ran_files(zot) == ["unchanged", "made"]


def test_question_names_files_and_what_they_do_not_cover(zot: Zot) -> None:
    put(zot.project, {"Makefile": "go:\n\t./x.sh\n", "x.sh": SCRIPT})
    project(zot, PreToolUse=[entry("make go"), entry("python3 -m tool"), entry("$RUN $(cat name)")])
    listed = zot("hooks", "list", model=False).out
    assert f"script {zot.project / 'Makefile'}" in listed and f"script {zot.project / 'x.sh'}" in listed
    assert "not covered: runs make, which can run anything in this project" in listed
    assert "not covered: runs python3 -m tool, which can load any module of this project" in listed
    assert "not covered: uses $RUN, which can name any file of this project" in listed
    assert "builds a command while it runs" in listed
    trusted = zot("hooks", "trust", model=False).err
    assert "runs make, which can run anything in this project" in trusted


def test_hook_with_a_file_that_cannot_be_read_is_never_trusted(zot: Zot, serve: Any) -> None:
    put(zot.project, {"tools/x.sh": SCRIPT})
    with (zot.project / "tools" / "x.sh").open("r+b") as file:
        file.truncate(65 << 20)
    project(zot, PreToolUse=[entry("sh tools/x.sh", "Bash")])
    ran = zot("hooks", "trust", model=False)
    assert ran.code == 1 and "cannot be trusted: cannot read" in ran.err and "x.sh" in ran.err
    _, server = run(zot, serve, BASH, args=("--trust-project",))
    assert "changed since you trusted it" in last_result(server.requests[1]) and ran_files(zot) == []


def test_edited_sources_do_not_disable_a_hook(zot: Zot, serve: Any) -> None:
    """A word of a script is no file that it runs."""
    files = {"main.py": "", "test.py": "", "README.md": "", "tools/x.sh": "# the main test of README.md\n" + SCRIPT}
    put(zot.project, files)
    project(zot, PreToolUse=[entry("tools/x.sh >> hook.log", "Bash")])
    zot("hooks", "trust", model=False)
    changes = [CallTools([("write", {"path": name, "content": "new"})]) for name in ("main.py", "test.py", "README.md")]
    run(zot, serve, BASH, *changes, BASH)
    assert ran_files(zot) == ["unchanged", "made"]


# --- plugins

PLUGIN_SHAPES = {name: SHAPES[name] for name in ("cd", "bash -c", "and", "import", "source", "large")}


def make_plugin(root: Path, line: str, files: Mapping[str, str]) -> Path:
    write(root / ".claude-plugin", **{"plugin.json": {"name": "tidy", "version": "1"}})
    hooks = {"hooks": {"PreToolUse": [entry(f'cd "$CLAUDE_PLUGIN_ROOT"; {line}', "Bash")]}}
    write(root, **{"hooks__hooks.json": hooks})
    put(root, files)
    return root


@pytest.mark.parametrize("shape", PLUGIN_SHAPES)
def test_plugin_with_a_changed_file_does_not_run(zot: Zot, serve: Any, tmp_path: Path, shape: str) -> None:
    line, files, name, content = SHAPES[shape]
    told = install(zot, make_plugin(tmp_path / "tidy", line, files))
    placed = zot.home / "zot" / "plugins" / "tidy"
    assert f"script {name}" in told or f"/{name}" in told
    run(zot, serve, BASH)
    assert (placed / "unchanged").exists() and ran_files(zot) == ["made"]
    (zot.project / "made").unlink()
    (placed / "unchanged").unlink()
    change = CallTools([("write", {"path": str(placed / name), "content": content})])
    _, server = run(zot, serve, change, BASH)
    assert "changed since you trusted it" in last_result(server.requests[2]) and ran_files(zot) == []
    assert "changed since you accepted it" in run(zot, serve, BASH)[0].err
    assert not (placed / "unchanged").exists() and not list(placed.rglob("changed"))


@pytest.mark.parametrize("name", ["-rf", "../up", "a/b", ".hidden", "A B"])
def test_plugin_name_that_is_no_plain_word_is_refused(zot: Zot, tmp_path: Path, name: str) -> None:
    root = write(tmp_path / "p" / ".claude-plugin", **{"plugin.json": {"name": name}}).parent
    ran = zot("plugin", "install", str(root), "--yes", model=False)
    assert ran.code == 1 and '"name": expected' in ran.err


# --- MCP servers

FIND = CallTools([("mcp_search", {"query": "echo"})])
ECHO = CallTools([("mcp__fake__echo", {"text": "from the server"})])
SERVER = "#!/bin/sh\ntouch unchanged\nexec {run}\n"

SERVER_SHAPES: dict[str, dict[str, Any]] = {
    "path": {"command": "./tools/x.sh"},
    "interpreter": {"command": "sh", "args": ["tools/x.sh"]},
    "working directory": {"command": "sh", "args": ["x.sh"], "cwd": "tools"},
    "shell": {"command": "bash", "args": ["-c", "cd tools && ./x.sh"]},
    "variable": {"command": "sh", "args": ["-c", ". $FILE"], "env": {"FILE": "tools/x.sh"}},
}


def configure(zot: Zot, **servers: dict[str, Any]) -> None:
    (zot.project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def script(zot: Zot, content: str = SERVER) -> None:
    words = command()
    run_line = shlex.join([words["command"], *words["args"]])
    put(zot.project, {"tools/x.sh": content.replace("touch ", f"touch {zot.project}/").replace("{run}", run_line)})


@pytest.mark.parametrize("shape", SERVER_SHAPES)
def test_server_with_a_changed_file_does_not_start(zot: Zot, serve: Any, shape: str) -> None:
    script(zot)
    configure(zot, fake=SERVER_SHAPES[shape])
    trusted = zot("mcp", "trust", "fake", model=False)
    assert trusted.code == 0 and f"script {zot.project / 'tools' / 'x.sh'}" in trusted.err
    _, server = run(zot, serve, FIND, ECHO)
    assert "from the server" in last_result(server.requests[2]) and ran_files(zot) == ["unchanged"]
    (zot.project / "unchanged").unlink()
    # changed during a run, before its first start
    zot("mcp", "list", model=False)
    change = CallTools([("write", {"path": "tools/x.sh", "content": CHANGED})])
    _, server = run(zot, serve, change, FIND, ECHO)
    assert "changed since you trusted it" in last_result(server.requests[3])
    # changed between two runs
    ran, _ = run(zot, serve, FIND)
    assert "fake of" in ran.err and "is untrusted and was skipped" in ran.err
    assert "changed since you trusted it" in zot("mcp", "list", model=False).out
    assert ran_files(zot) == []


def test_server_question_shows_every_field(zot: Zot) -> None:
    login = {"clientId": "me", "clientSecret": "${PLAIN}", "scopes": ["read", "write"]}
    configure(zot, far={"url": "https://example.org/mcp", "headers": {"X-Team": "a"}, "oauth": login})
    assert "https://example.org/mcp [X-Team: a] [oauth: client_id me, client_secret ${PLAIN}, scopes read write]" in (
        zot("mcp", "trust", model=False).err
    )
    configure(zot, far={"url": "https://example.org/mcp", "headers": {"X-Team": "a"}, "oauth": {**login, "scopes": []}})
    assert "changed since you trusted it" in zot("mcp", "list", model=False).out


@pytest.mark.parametrize(
    "fields",
    [
        {"url": "https://example.org/mcp", "oauth": {"clientSecret": "${AWS_SECRET_ACCESS_KEY}"}},
        {"url": "https://example.org/${AWS_SECRET_ACCESS_KEY:-none}"},
        {"url": "https://example.org/mcp", "headers": {"X": "${NONE:-${AWS_SECRET_ACCESS_KEY}}"}},
        {"command": "true", "env": {"X": "${AWS_SECRET_ACCESS_KEY}"}},
        {"command": "true", "args": ["${AWS_SECRET_ACCESS_KEY}"]},
    ],
)
def test_project_server_that_names_a_secret_is_refused(zot: Zot, serve: Any, fields: dict[str, Any]) -> None:
    configure(zot, far=fields)
    ran, _ = run(zot, serve, args=("--trust-project",))
    assert "far: a project's entry cannot use ${AWS_SECRET_ACCESS_KEY}, which looks like a secret" in ran.err
    assert "move the entry to your own mcp.json" in ran.err
    assert zot("mcp", "trust", "far", model=False).code != 0


def test_added_project_server_is_trusted_with_its_files(zot: Zot, serve: Any) -> None:
    script(zot)
    assert zot("mcp", "add", "--project", "fake", "--", "./tools/x.sh", model=False).code == 0
    _, server = run(zot, serve, FIND, ECHO)
    assert "from the server" in last_result(server.requests[2])
    refused = zot("mcp", "add", "--project", "--env", "X=${GITHUB_TOKEN}", "two", "--", "true", model=False)
    assert refused.code != 0 and "${GITHUB_TOKEN}" in refused.err


def test_server_of_a_plugin_with_a_changed_file_does_not_start(zot: Zot, serve: Any, tmp_path: Path) -> None:
    words = command()
    root = write(tmp_path / "p" / ".claude-plugin", **{"plugin.json": {"name": "tidy"}}).parent
    servers = {"fake": {"command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/lib/x.sh"]}}
    write(root, **{".mcp.json": {"mcpServers": servers}})
    put(root, {"lib/x.sh": f"exec {shlex.join([words['command'], *words['args']])}\n"})
    assert "lib/x.sh" in install(zot, root)
    call = CallTools([("mcp__plugin_tidy_fake__echo", {"text": "from the plugin"})])
    _, server = run(zot, serve, FIND, call)
    assert "from the plugin" in last_result(server.requests[2])
    placed = zot.home / "zot" / "plugins" / "tidy" / "lib" / "x.sh"
    change = CallTools([("write", {"path": str(placed), "content": CHANGED})])
    _, server = run(zot, serve, change, FIND, call)
    assert "changed since you trusted it" in last_result(server.requests[3])
    assert "changed since you accepted it" in run(zot, serve)[0].err and ran_files(zot) == []
