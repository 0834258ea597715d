"""The jail in a real run: flags, the verb, the tools, and ordinary work inside."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from attack.jail_rows import ATTEMPTS
from tests.e2e.conftest import Ran, Zot
from tests.fakes.model_server import CallTools, Say, Silent
from tests.toolchains import environment

ROOT = Path(__file__).parents[2]
LEVELS = ("full", "reduced")


def jail(zot: Zot, *words: str) -> Ran:
    return zot("jail", "--", *words)


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest, zot: Zot, tmp_path: Path) -> str:
    """At the reduced level there is no bubblewrap on PATH."""
    if request.param == "reduced":
        (tmp_path / "bin").mkdir()
        for name in ("sh", "bash", "true", "git", "cat", "env", "sleep", "ls", "dirname"):
            (tmp_path / "bin" / name).symlink_to(shutil.which(name) or f"/bin/{name}")
        zot.environment["PATH"] = str(tmp_path / "bin")
    assert zot("jail", "--check").out.startswith(request.param)
    return request.param


# Whoever runs the tests as an ordinary user is the one who tries; root becomes one, and tries itself in `make torture`.
USERS = [pytest.param(65534, id="an ordinary user"), pytest.param(0, id="root", marks=pytest.mark.torture)]


@pytest.mark.parametrize("user", USERS if os.geteuid() == 0 else [0])
@pytest.mark.parametrize("which", LEVELS)
def test_every_attempt_ends_as_documented(which: str, user: int) -> None:
    """Every attempt to get out, each at both levels; none is skipped."""
    argv = [sys.executable, "-m", "attack.jail", "--level", which, "--user", str(user)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=600)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(ATTEMPTS) >= 126, done.stderr
    open_ones = {(row.area, row.what) for row in ATTEMPTS if row.open_at_reduced and which == "reduced"}
    won = {(row["area"], row["what"]): row["won"] for row in rows if row["won"]}
    assert {name: won[name] for name in won.keys() - open_ones} == {}
    if user or os.geteuid() != 0:  # root without capabilities can do less to what others run
        assert sorted(open_ones - won.keys()) == [], "the table says more is open than is"


def test_a_command_runs_inside_and_gives_its_exit_code(zot: Zot, level: str) -> None:
    """engine-228: writing outside the root fails however it is spelled, `cd subdir && ls` works."""
    (zot.project / "sub").mkdir()
    (zot.project / "sub" / "file").write_text("x")
    ran = jail(zot, "sh", "-c", "cd sub && ls && echo y >made; exit 3")
    assert (ran.code, ran.out) == (3, "file\n")
    assert (zot.project / "sub" / "made").read_text() == "y\n"
    outside = zot.project.parent / "elsewhere"
    for spelled in (str(outside), "../elsewhere", "$(dirname $PWD)/elsewhere", "/proc/self/root" + str(outside)):
        jail(zot, "sh", "-c", f"echo x >{spelled}")
        assert not outside.exists()  # at the full level it has a /tmp of its own to write to


def test_jail_names_missing_requirement(zot: Zot) -> None:
    ran = jail(zot, "no-such-program")
    assert (ran.code, ran.err) == (2, "zot: zot jail: no program no-such-program on PATH\n")
    assert "the command is missing" in zot("jail").err
    assert zot("jail", "--check").out.startswith("full")


def test_without_a_jail_everything_is_allowed(zot: Zot, serve: Any) -> None:
    """engine-229: an unlocked jail allows everything: outside paths, `..`, links and protected names, by every tool."""
    out = zot.project.parent / "out"
    out.mkdir()
    (out / "read").write_text("from outside")
    (zot.project / "link").symlink_to(out)
    calls = [
        ("bash", {"command": "echo x >../out/bash; mkdir .vscode; echo x >.vscode/tasks.json"}),
        ("write", {"path": str(out / "write"), "content": "x"}),
        ("write", {"path": "link/through", "content": "x"}),
        ("write", {"path": ".zot/config.json", "content": "{}"}),
        ("edit", {"path": "../out/read", "edits": [{"oldText": "from outside", "newText": "edited there"}]}),
        ("read", {"path": "../out/read"}),
    ]
    server = serve([CallTools(calls), Say("done")])
    assert zot("-p", "go").code == 0
    assert sorted(path.name for path in out.iterdir()) == ["bash", "read", "through", "write"]
    assert (zot.project / ".vscode" / "tasks.json").exists() and (zot.project / ".zot" / "config.json").exists()
    told = json.dumps(server.requests[-1].json["messages"])
    assert "edited there" in told and "jailed" not in told


@pytest.mark.parametrize("level", ["reduced"], indirect=True)
def test_a_machine_with_less_refuses_the_full_level(zot: Zot, level: str) -> None:
    """engine-229: an unavailable jail level is an error with the fix."""
    ran = zot("jail", "--require", "full", "--", "true")
    assert ran.code == 1 and "no jail of level full: bubblewrap is not installed" in ran.err
    ran = zot("-p", "--provider", "script", "--jail", "--require-jail", "full", "go")
    assert ran.code == 1 and "install bubblewrap" in ran.err


def test_the_tools_of_a_run_are_inside(zot: Zot, serve, level: str) -> None:
    """engine-225: bash and the tools that open files, in one run."""
    secret = zot.project.parent / "secret"
    secret.write_text("s3cr3t")
    (zot.project / "link").symlink_to(secret)
    calls = [
        ("bash", {"command": f"cat {secret}; echo x >{secret}; curl -m 2 http://1.1.1.1; env"}),
        ("read", {"path": "../secret"}),
        ("read", {"path": "link"}),
        ("write", {"path": "../new", "content": "x"}),
        ("write", {"path": "link", "content": "x"}),
        ("edit", {"path": str(secret), "edits": [{"oldText": "s3cr3t", "newText": "x"}]}),
        ("write", {"path": "inside/new", "content": "x"}),
    ]
    server = serve([CallTools(calls), Say("done")])
    zot.environment["SOME_SECRET"] = "s3cr3t"
    ran = zot("-p", "--jail", "go")
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    results = json.dumps(server.requests[-1].json["messages"][-1])
    assert "s3cr3t" not in results and results.count("jailed: ") == 5
    assert secret.read_text() == "s3cr3t" and (zot.project / "inside" / "new").read_text() == "x"
    assert sorted(os.listdir(zot.project)) == ["inside", "link"], "nothing is left behind"


def test_sdk_program_can_use_jail(zot: Zot) -> None:
    script = {
        "turns": [
            {"tool_calls": [{"name": "write", "args": {"path": "../out", "content": "x"}}]},
            {"text": "done"},
        ]
    }
    code = (
        "import json, sys\nfrom zot.sdk import SyncRuntime\n"
        "with SyncRuntime(provider='script', script=json.loads(sys.argv[1]), jail='on') as runtime:\n"
        "    print([e for e in runtime.prompt('go') if type(e).__name__ == 'ToolResult'])\n"
    )
    argv = [sys.executable, "-c", code, json.dumps(script)]
    done = subprocess.run(argv, cwd=zot.project, env=zot.env(), capture_output=True, text=True, timeout=60)
    assert "jailed: " in done.stdout and not (zot.project.parent / "out").exists(), done.stderr


def test_nothing_stays_behind_when_zot_is_killed(zot: Zot, serve) -> None:
    serve([CallTools([("bash", {"command": "sleep 987.7"})]), Say("done")])
    running = zot.start("-p", "--jail", "go")
    deadline = time.monotonic() + 30
    while not (zot.project / ".zot").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait(timeout=10)
    while os.listdir(zot.project):
        assert time.monotonic() < deadline, os.listdir(zot.project)
        time.sleep(0.05)
    while subprocess.run(["pgrep", "-f", "sleep 987.7"], capture_output=True).returncode == 0:
        assert time.monotonic() < deadline, "it outlived zot"
        time.sleep(0.05)


def test_jail_names_outlive_command_briefly_even_after_kill(zot: Zot, serve) -> None:
    """The next command mostly comes at once; a zot killed in between leaves nothing either."""
    for killed in (False, True):
        server = serve([CallTools([("bash", {"command": "true"})]), Silent(Say("never ends"))])
        running = zot.start("-p", "--jail", "go")
        server.wait_for_requests(2)  # the command is over
        if killed:
            running.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 30
        while os.listdir(zot.project):
            assert time.monotonic() < deadline, os.listdir(zot.project)
            time.sleep(0.05)
        assert killed or running.poll() is None
        running.kill()
        running.wait(timeout=10)


# --- harmless work goes on


def test_git_works_inside(zot: Zot, level: str) -> None:
    (zot.home / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n[alias]\n\tx = !touch y\n")
    subprocess.run(["git", "init", "-q", zot.project], check=True)
    (zot.project / "file").write_text("x\n")
    script = "git status --short && git add -A && git commit -qm first && git diff HEAD && git log --format=%an%ae"
    ran = jail(zot, "sh", "-c", script)
    assert (ran.code, ran.out) == (0, "?? file\nAnnann@example.org\n"), ran.err
    assert sorted(os.listdir(zot.project)) == [".git", "file"]


def test_a_run_in_a_repository_is_warned_of_nothing(zot: Zot, serve, level: str) -> None:
    """The jail's own cover over a name that git would read is not a change by the command."""
    subprocess.run(["git", "init", "-q", zot.project], check=True)
    once = CallTools([("bash", {"command": "git status --short"})])
    server = serve([once, once, Say("done")])
    assert zot("-p", "--jail", "go").code == 0
    told = json.dumps(server.requests[-1].json["messages"])
    assert told.count("[exit 0]") == 2 and "[jail:" not in told, told


def test_a_python_project_is_tested_inside(zot: Zot) -> None:
    (zot.project / "test_it.py").write_text("import socket\ndef test_it():\n    s = socket.socket(); s.bind(('', 0))\n")
    script = f"{sys.executable} -m venv --without-pip v && v/bin/python -c 'print(1)' && {sys.executable} -m pytest -q"
    ran = jail(zot, "sh", "-c", script)
    assert ran.code == 0 and "1 passed" in ran.out, ran.out + ran.err


def test_a_node_project_is_tested_inside(zot: Zot) -> None:
    scripts = {"build": "node -e \"require('fs').writeFileSync('built', 'x')\"", "test": "node --test"}
    (zot.project / "package.json").write_text(json.dumps({"name": "x", "version": "1.0.0", "scripts": scripts}))
    (zot.project / "a.test.js").write_text("require('node:test')('it works', () => {})\n")
    ran = jail(zot, "sh", "-c", "npm run build && npm test")
    assert ran.code == 0 and (zot.project / "built").exists(), ran.out + ran.err


def test_a_go_project_is_built_and_tested_inside(zot: Zot) -> None:
    (zot.project / "go.mod").write_text("module example.org/x\n\ngo 1.19\n")
    (zot.project / "x.go").write_text(
        "package main\n\nfunc main() { println(answer()) }\n\nfunc answer() int { return 42 }\n"
    )
    test = 'package main\n\nimport "testing"\n\nfunc TestIt(t *testing.T) { if answer() != 42 { t.Fail() } }\n'
    (zot.project / "x_test.go").write_text(test)
    zot.environment |= environment()  # a warm cache, which the jail may write to
    cache = zot.environment["GOCACHE"]
    ran = zot("jail", "--write", cache, "--", "sh", "-c", "go build -o built . && ./built && go test ./...")
    assert ran.code == 0 and "42" in ran.err + ran.out and "ok" in ran.out, ran.out + ran.err
