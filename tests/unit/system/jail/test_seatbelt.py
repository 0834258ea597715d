"""The text of macOS's Seatbelt profile and its order; not run on a Mac."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zot.errors import ConfigError
from zot.system.jail import seatbelt
from zot.system.jail.jail import detect_support
from zot.system.jail.launcher import JailLauncher
from zot.system.jail.policy import PROTECTED, Policy

POLICY = Policy(root="/Users/me/project", read=("/opt/data",), write=("/Users/me/other",))


def rules(text: str) -> list[Any]:
    """The profile parsed as lists in parentheses."""
    stack: list[list[Any]] = [[]]
    for word in re.findall(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()"]+', text):
        if word == "(":
            stack.append([])
        elif word == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(re.sub(r"\\(.)", r"\1", word[1:-1]) if word.startswith('"') else word)
    assert len(stack) == 1
    return stack[0]


def verdict(found: list[Any], operation: str, path: str) -> str:
    """The sandbox's decision: the last matching rule."""
    answer = "deny"
    for rule in found[2:]:
        operations = [word for word in rule[1:] if isinstance(word, str)]
        filters = [part for part in rule[1:] if isinstance(part, list)]
        fits = any(operation == name or (name.endswith("*") and operation.startswith(name[:-1])) for name in operations)
        if fits and (not filters or any(_matches(part, path) for part in filters)):
            answer = rule[0]
    return answer


def _matches(part: list[str], path: str) -> bool:
    kind, value = part[0], part[1]
    return path == value if kind == "literal" else kind == "subpath" and (path == value or path.startswith(f"{value}/"))


def test_everything_is_denied_first() -> None:
    found = rules(seatbelt.profile(POLICY, (), ()))
    assert found[:2] == [["version", "1"], ["deny", "default"]]
    assert [rule[0] for rule in found if rule[0] not in ("version", "allow", "deny")] == []


@pytest.mark.parametrize(
    ("operation", "path", "wanted"),
    [
        ("file-read-data", "/Users/me/project/a", "allow"),
        ("file-write-data", "/Users/me/project/a", "allow"),
        ("file-write-create", "/Users/me/other/b/c", "allow"),
        ("file-read-data", "/opt/data/x", "allow"),
        ("file-write-data", "/opt/data/x", "deny"),
        ("file-read-data", "/Users/me/.ssh/id_rsa", "deny"),
        ("file-read-data", "/Users/me/project-2/x", "deny"),
        ("file-read-metadata", "/Users/me", "allow"),
        ("file-read-data", "/Users/me", "deny"),
        ("file-write-data", "/usr/bin/x", "deny"),
        ("process-exec", "/usr/bin/git", "allow"),
        ("process-exec", "/Users/me/.local/bin/x", "deny"),
        ("file-read-data", "/private/etc/master.passwd", "deny"),
        ("file-write-data", "/dev/null", "allow"),
        ("file-read-data", "/dev/disk0", "deny"),
        ("file-write-unlink", "/Users/me/project", "deny"),
        ("network-outbound", "/var/run/docker.sock", "deny"),
        ("network-outbound", "/Users/me/project/sock", "allow"),
        *(("file-write-create", f"/Users/me/project/{name}", "deny") for name in PROTECTED),
        ("file-write-data", "/Users/me/project/.zot/extensions/x", "deny"),
    ],
)
def test_profile_allows_only_policy_paths(operation: str, path: str, wanted: str) -> None:
    assert verdict(rules(seatbelt.profile(POLICY, (), ())), operation, path) == wanted


def test_existing_repository_is_protected(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    found = rules(seatbelt.profile(Policy(root=str(tmp_path)), (), ()))
    for name in ("hooks/pre-commit", "config", "config.worktree"):
        assert verdict(found, "file-write-data", f"{tmp_path}/.git/{name}") == "deny"
    assert verdict(found, "file-write-unlink", f"{tmp_path}/.git") == "deny"
    assert verdict(found, "file-write-create", f"{tmp_path}/.git/index.lock") == "allow"


def test_network_is_one_extra_rule() -> None:
    closed, opened = (set(seatbelt.profile(policy, (), ()).splitlines()) for policy in (POLICY, _with_network()))
    assert closed < opened and "(allow network*)" in opened - closed
    assert not any("network*" in line for line in closed)


def _with_network() -> Policy:
    return Policy(root=POLICY.root, read=POLICY.read, write=POLICY.write, network=True)


def test_a_path_cannot_end_its_string() -> None:
    odd = '/Users/me/a") (allow default) (literal "\\b'
    found = rules(seatbelt.profile(Policy(root=odd), (), ()))
    assert ["allow", "default"] not in found and verdict(found, "file-write-data", f"{odd}/x") == "allow"
    with pytest.raises(ConfigError, match="cannot be named"):
        seatbelt.profile(Policy(root="/Users/me/a\nb"), (), ())


def test_mac_jail_must_pass_its_probe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert detect_support(lambda name: None).why.startswith("/usr/bin/sandbox-exec does not run")
    for code, level in ((0, "reduced"), (1, ""), (3, ""), (4, "")):
        program = tmp_path / f"sandbox-exec-{code}"
        program.write_text(f"#!/bin/sh\nexit {code}\n")
        program.chmod(0o755)
        monkeypatch.setattr(seatbelt, "PROGRAM", str(program))
        machine = detect_support(lambda name: None)
        assert machine.level == level and machine.why


def test_commands_are_started_by_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "sandbox-exec"
    program.write_text('#!/bin/sh\n[ "$1" = -p ] && printf "%s" "$2" >profile && shift 2 && exec "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(seatbelt, "PROGRAM", str(program))
    monkeypatch.setattr(sys, "platform", "darwin")
    project = tmp_path / "project"
    project.mkdir()
    starter = JailLauncher(Policy(root=str(project)), "", str(tmp_path))
    try:
        child, cell = starter.start(
            ["/bin/sh", "-c", "echo $HOME; ulimit -Hc"],
            str(project),
            {"PATH": "/usr/bin:/bin"},
            (subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE),
        )
        out, _ = child.communicate(timeout=60)
        cell.release()
    finally:
        starter.close()
    assert out.decode().split()[1] == "0" and "jail" in out.decode().split()[0]
    assert rules((project / "profile").read_text())[1] == ["deny", "default"]


def test_windows_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    machine = detect_support(lambda name: None)
    assert machine.level == "" and "WSL 2" in machine.why


def test_programs_and_preserved_paths_are_in_profile() -> None:
    own = Policy(
        root="/data", write=("/own",), plain=("/data", "/own"), kept=("/own/main.py",), programs=("/usr/bin/git",)
    )
    found = rules(seatbelt.profile(own, (), ()))
    assert verdict(found, "process-exec", "/usr/bin/git") == "allow"
    assert verdict(found, "process-exec", "/bin/sh") == "allow"
    assert verdict(found, "process-exec", "/usr/bin/curl") == "deny"
    assert verdict(found, "file-write-data", "/own/main.py") == "deny"
    assert verdict(found, "file-write-data", "/own/notes.txt") == "allow"
    assert verdict(found, "file-write-data", "/data/.zot/x") == "allow"  # nobody else runs anything of it
