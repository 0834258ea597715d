"""What a mode does not let run is not talked past it: not by a command that begins like an allowed one, not by files of
the project, not by a link, not by a client."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attack.stage import zot_in
from attack.table import attack
from tests.fakes.model_server import CallTools, FakeModelServer, Say
from tests.fakes.rpc_client import FakeRpcClient
from tests.fakes.zot_process import Zot

Call = tuple[str, dict[str, Any]]


def _bash(*commands: str) -> list[Call]:
    return [("bash", {"command": command}) for command in commands]


def _paths(watched: Path, zot: Zot) -> list[str]:
    """All that is there but what zot writes down for itself."""
    own = zot.home / "zot"
    return sorted(str(path) for path in watched.rglob("*") if path != own and not path.is_relative_to(own))


def _try(zot: Zot, calls: Sequence[Call], *flags: str, watched: Path | None = None, allowed: int = 0) -> str:
    """Every call, where nobody can be asked; what came of it that should not have. So many are ``allowed`` to run."""
    watched = watched or zot.project
    before = _paths(watched, zot)
    with FakeModelServer([CallTools(list(calls)), Say("finished")]) as server:
        ran = zot("-p", "go", "--no-session", *flags, "--base-url", server.url, "--api-key", "k")
        told = str(server.requests[-1].json["messages"][-1])
    after = _paths(watched, zot)
    if ran.out != "finished\n" or told.count("denied: ") != len(calls) - allowed:
        return f"not every call was refused: {told}\n{ran.err}"
    return "" if after == before else f"made: {set(after) - set(before)}"


def _keep(zot: Zot, mode: int = 0o600, prefix: str = "echo") -> None:
    path = zot.home / "zot" / "permissions.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"projects": {str(zot.project): [{"tool": "bash", "prefix": [prefix]}]}}))
    path.chmod(mode)


_RIDERS = {
    "joined": ["echo a && touch X", "echo a; touch X", "echo a & touch X", "echo a || touch X", "echo a\ntouch X"],
    "piped or redirected": ["echo a | tee X", "echo a > X", "echo a >> X", "echo a 2>X", "echo a >|X", "echo a<>X"],
    "substituted": [
        "echo $(touch X)",
        "echo `touch X`",
        'echo "$(touch X)"',
        "echo <(touch X)",
        "echo ${a:=$(touch X)}",
    ],
    "disguised": [
        "X=1 echo a",
        "echo\ttouch\vX",
        "echo a\\\n; touch X",
        "ec'ho' a # \r\ntouch X",
        "./echo a",
        "echo\u00a0a",
    ],
}


def _ride(commands: list[str]) -> Any:
    def run(scratch: Path) -> str:
        zot = zot_in(scratch)
        _keep(zot)
        return _try(zot, _bash(*commands, "echo this is allowed"), "--permission-mode", "ask", allowed=1)

    return run


for _name, _commands in _RIDERS.items():
    attack(
        "permission",
        f"commands {_name} after a saved approval of `echo …`",
        expect="needs approval",
        quick=_name != "disguised",
    )(_ride(_commands))


# Commands that begin like reading: none may run unasked. `src` is a directory, `list` names a file elsewhere.
_NOT_READING = {
    "run a program": [
        "find . -exec touch X ';'",
        "find . -execdir touch X ';'",
        "find . -ok touch X ';'",
        "rg --pre touch X",
        "rg --pre=./run a",
        "rg --hostname-bin=./run a",
        "sort --compress-program=./run a",
        "sort --compress-prog ./run a",
        "diff -l a b",
        "file -z a",
        "git -c core.fsmonitor=./run status",
        "git -C src status",
        "git --exec-path=. status",
        "git --git-dir=src status",
        "git diff --ext-diff",
        "git diff --textconv",
        "git show --ext-d",
        "GIT_EXTERNAL_DIFF=./run git diff",
        "env ls",
        "xargs ls",
        "ls $(touch X)",
        "cat <(touch X)",
        "ls & touch X",
        "ls\ntouch X",
        "ls |& tee X",
        "./ls",
    ],
    "write a file": [
        "find . -delete",
        "find . -fprint X",
        "find . -fprintf X a",
        "find . -fls X",
        "sort -o X a",
        "sort -uo X a",
        "sort --outp=X a",
        "uniq a X",
        "uniq - X",
        "uniq - -- -X",
        "tree -o X",
        "tree -R -L 1 -H .",
        "file -C -m a",
        "git diff --output=X",
        "git log --outp X",
        "git branch X",
        "git tag X",
        "git branch -D main",
        "git remote add X y",
        "echo a > X",
        "echo a >> X",
        "echo a 2>X",
        "echo a >/dev/nullX",
        "cat a | tee X",
        "ls && touch X",
        "ls || touch X",
        "hostname X",
    ],
    "read another file": [
        "cat /etc/passwd",
        "cat ../secret",
        "cat link/key",
        "grep -r secret link/",
        "grep -R secret .",
        "grep --dereference-rec secret .",
        "grep -f/etc/passwd a",
        "grep -flink/key a",
        "rg -L secret",
        "find -L . -name key",
        "find link/ -name key",
        "diff src other",
        "diff -r src other",
        "sort --files0-from=list",
        "wc --files0 list",
        "jq -f a b",
        "jq -n 'import \"key\" as $k; $k'",
        "cd /etc && cat passwd",
        "cd link && cat key",
        "cat *",
        "cat ~/x",
        "cat $HOME/x",
    ],
}


def _look(commands: list[str]) -> Any:
    def run(scratch: Path) -> str:
        zot = zot_in(scratch)
        (scratch / "secret").mkdir()
        (scratch / "secret" / "key").write_text("the secret")
        for name in ("src", "other"):
            (zot.project / name).mkdir()
        (zot.project / "link").symlink_to(scratch / "secret")
        (zot.project / "list").write_text("/etc/passwd\0")
        for name in ("a", "b"):
            (zot.project / name).write_text("1\n")
        return _try(zot, _bash(*commands, "cat a | sort | uniq"), "--permission-mode", "ask", allowed=1)

    return run


for _name, _commands in _NOT_READING.items():
    attack("permission", f"commands that begin like reading and {_name}", expect="needs approval")(_look(_commands))


_RUNNING_SETTINGS = (
    "[core]\n\tfsmonitor = ./run\n",
    "[core] fsmonitor = ./run\n",
    "[include]\n\tpath = ../more\n",
    '[diff "x"]\n\ttextconv = ./run\n',
    '[filter "x"]\n\tclean = ./run\n',
    "[core]\n\thooksPath = .\n",
    "[core]\n\tbare = \\\nfalse\n",
    "[core]\n\tworktree = /\n",
)


@attack(
    "permission", "reading with git where the repository's settings, hooks or submodules run", expect="needs approval"
)
def a_repository_that_runs(scratch: Path) -> str:
    for number, settings in enumerate((*_RUNNING_SETTINGS, "hook", "bare", "submodule", "file")):
        place = scratch / str(number)
        place.mkdir()
        zot = zot_in(place)
        git = zot.project / (".git" if settings != "file" else "git")
        for name in ("objects", "refs", "hooks"):
            (git / name).mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text(settings if settings.startswith("[") else "[core]\n\tbare = false\n")
        if settings == "hook":
            (git / "hooks" / "post-index-change").write_text("#!/bin/sh\ntouch X\n")
        if settings == "submodule":
            (git / "index").write_bytes(b"DIRC" + b"\0" * 20 + b"\x00\x00\xe0\x00")
        if settings == "bare":
            for name in ("HEAD", "objects", "refs"):
                (git / name).rename(zot.project / name)
        if settings == "file":
            (zot.project / ".git").write_text("gitdir: git\n")
        if problem := _try(zot, _bash("git status", "git log"), "--permission-mode", "ask"):
            return f"{settings}: {problem}"
    return ""


@attack("permission", "a saved approval in a file that other users can write", expect="allows nothing")
def a_file_of_others(scratch: Path) -> str:
    zot = zot_in(scratch)
    _keep(zot, 0o666, "touch")
    return _try(zot, _bash("touch a"), "--permission-mode", "ask")


@attack("permission", "project files that widen the mode or contain approvals", expect="not read")
def files_of_the_project(scratch: Path) -> str:
    zot = zot_in(scratch)
    rules = {"projects": {str(zot.project): [{"tool": "bash"}]}}
    for place in (zot.project, zot.project / ".zot"):
        place.mkdir(exist_ok=True)
        (place / "config.json").write_text('{"permission_mode": "everything"}')
        (place / "permissions.json").write_text(json.dumps(rules))
    return _try(zot, _bash("touch X"), "--permission-mode", "ask")


@attack("permission", "reading outside the project through a link in it", expect="needs approval")
def reading_through_a_link(scratch: Path) -> str:
    zot = zot_in(scratch)
    (scratch / "secret").mkdir()
    (scratch / "secret" / "key").write_text("the secret")
    (zot.project / "link").symlink_to(scratch / "secret")
    calls: list[Call] = [
        ("read", {"path": "link/key"}),
        ("read", {"path": "../secret/key"}),
        ("grep", {"pattern": "secret", "path": "link"}),
        ("glob", {"pattern": "link/*"}),
    ]
    return _try(zot, calls, "--permission-mode", "ask", "--tools", "read,grep,glob")


@attack(
    "permission", "edits where git, an editor or zot would run them, and outside the project", expect="needs approval"
)
def edits_that_run(scratch: Path) -> str:
    zot = zot_in(scratch)
    (zot.project / ".git" / "hooks").mkdir(parents=True)
    (zot.project / "hooks").symlink_to(".git/hooks")
    places = [".git/hooks/pre-commit", "hooks/pre-commit", ".vscode/tasks.json", ".zot/extensions/x/extension.json"]
    places += ["../escaped", str(scratch / "home" / "zot" / "permissions.json")]
    calls: list[Call] = [("write", {"path": place, "content": "x"}) for place in places]
    return _try(zot, calls, "--permission-mode", "accept-edits", watched=scratch)


@attack("permission", "changing something while planning", expect="refused")
def changing_while_planning(scratch: Path) -> str:
    zot = zot_in(scratch)
    _keep(zot)
    calls: list[Call] = [("write", {"path": "X", "content": "x"}), ("edit", {"path": "X", "edits": []})]
    return _try(zot, [*calls, *_bash("touch a")], "--permission-mode", "plan")


@attack("permission", "a client of `zot rpc` that widens the mode it was started with", expect="refused")
def a_client_that_widens(scratch: Path) -> str:
    zot = zot_in(scratch)
    with FakeModelServer([CallTools([("write", {"path": "X", "content": "x"})]), Say("ok")]) as server:
        argv = zot.argv(["rpc", "--permission-mode", "plan", "--base-url", server.url, "--api-key", "k"])
        client = FakeRpcClient(argv, zot.env(), zot.project)
        client.ask("hello", capabilities=["approvals"])
        widened = [client.ask("set_permission_mode", permission_mode=mode) for mode in ("ask", "accept-edits", "yolo")]
        client.send("prompt", message="go")
        client.until("done")
        client.close()
    if any(answer["success"] for answer in widened):
        return f"it was allowed: {widened}"
    return "the file was written" if (zot.project / "X").exists() else ""
