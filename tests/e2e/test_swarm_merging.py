"""``zot swarm diff|merge|rm|prune`` on real workers in real repositories; the model is scripted by the task."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say, SeenRequest, Silent, Turn
from tests.fakes.swarm_home import SwarmHome
from tests.unit.swarm.repositories import everything, git, put, repository
from zot.system.files import find_program
from zot.system.jail.jail import detect_support

LINES = "".join(f"line {number}\n" for number in range(1, 11))


BREAK = """
echo mine > b.txt; git add b.txt; git commit -qm mine; git log --format=%s
for name in index HEAD info/exclude objects/info/alternates refs/heads/main hooks/pre-commit config; do
  echo broken > REPO/.git/$name; done; rm -rf REPO/.git/objects/* REPO/.git/refs; git -C REPO update-ref -d HEAD
echo over
"""


def answer(request: SeenRequest) -> Turn:
    """A task is ``FILE: text``: the file is written. ``hang`` is never answered; a conflict is resolved."""
    messages = request.json["messages"]
    if messages[-1]["role"] != "user" and "half.txt" in json.dumps(messages):
        return Refuse(400, {"error": {"message": "no more"}})
    if messages[-1]["role"] != "user" and "slow.txt" in json.dumps(messages):
        return Silent(Say("never"), 0)
    if messages[-1]["role"] != "user":
        return Say("done", usage=(1000, 100))
    text = messages[-1]["content"]
    text = text if isinstance(text, str) else "".join(part.get("text", "") for part in text)
    if text.startswith("hang"):
        return Silent(Say("never"), 0)
    if text.startswith("break "):
        return CallTools([("bash", {"command": BREAK.replace("REPO", text.removeprefix("break "))})])
    if text.startswith("clone"):
        command = "git init -q inner; echo x > inner/x; echo y > sub/y; echo big > big.bin"
        return CallTools([("bash", {"command": command})])
    if text.startswith("Your changes conflict"):
        return CallTools([("write", {"path": "a.txt", "content": "both\n"})])
    name, _, content = text.partition(": ")
    return CallTools([("write", {"path": name, "content": content})])


@pytest.fixture
def swarm(zot: Zot) -> Iterator[SwarmHome]:
    with FakeModelServer([answer], repeat=True) as server:
        home = SwarmHome(zot, server.url)
        os.rmdir(zot.project)
        repository(zot.project, {"a.txt": LINES, "b.txt": "b\n", "mine.txt": "mine\n"})
        (zot.project / "mine.txt").write_bytes(b"mine, \xff not committed")
        yield home
        home.close()


def worker(swarm: SwarmHome, task: str, *args: str) -> str:
    id = swarm.start(task, "--once", *args)
    swarm.until(id, "done")
    return id


def test_a_worker_s_changes_are_looked_at_merged_and_cleared_up(swarm: SwarmHome, zot: Zot) -> None:
    """iface-258: A worktree worker changes no file of the origin working tree.
    iface-265: `rm` refuses with unmerged changes unless forced."""
    repo = zot.project
    before = everything(repo)
    id = worker(swarm, f"a.txt: {LINES}more\n", "--name", "adder")
    assert everything(repo) == before
    assert swarm("diff", "adder").out.splitlines()[-1] == "+more"
    assert swarm("diff", id[:-1], "--stat").out == "1 file, +1 -0\n"
    refused = swarm("rm", "adder")
    assert refused.code == 1 and "has unmerged changes; --force" in refused.err
    merged = swarm("merge", "adder")
    assert (merged.code, merged.out) == (0, "adder: merged into main\nchanged, not committed: a.txt\n")
    assert (repo / "a.txt").read_text() == f"{LINES}more\n"
    assert (repo / "mine.txt").read_bytes() == b"mine, \xff not committed"
    assert git(repo, "status", "--porcelain") == " M a.txt\n M mine.txt"
    assert swarm.record(id)["merged"] == "main" and "merged" in swarm("list", "--all").out
    assert swarm("rm", "adder").code == 0
    assert not swarm.place(id).exists() and git(repo, "branch", "--list", "zot/*") == ""
    for verb in ("diff", "merge", "rm"):
        assert swarm(verb, "adder").code == 2, verb


@pytest.mark.skipif(detect_support(find_program).level == "none", reason="needs a jail")
def test_worker_commits_in_own_repository_and_cannot_break_yours(swarm: SwarmHome, zot: Zot) -> None:
    repo = zot.project
    before = everything(repo)
    head = git(repo, "rev-parse", "main")
    id = worker(swarm, f"break {repo}")
    (told,) = [event for event in swarm.events(id) if event["type"] == "tool_result"]
    assert "mine\nfirst\n" in json.dumps(told).replace("\\n", "\n") and "over" in json.dumps(told)
    assert everything(repo) == before and git(repo, "rev-parse", "main") == head
    assert git(repo, "fsck", "--no-dangling") == ""
    assert swarm("merge", id, "--no-ff").code == 0
    assert "mine" in git(repo, "log", "--format=%s").splitlines()


def test_conflict_exits_3_and_its_worker_resolves_it(swarm: SwarmHome, zot: Zot) -> None:
    """iface-263: `merge` with conflicts leaves the target untouched and exits 3."""
    repo = zot.project
    id = worker(swarm, "a.txt: by the worker\n")
    put(repo / "a.txt", "by the user\n")
    git(repo, "commit", "-qm", "mine", "a.txt")
    before = everything(repo)
    ran = swarm("merge", id)
    assert ran.code == 3 and "conflicts in a.txt" in ran.out and "nothing was changed" in ran.err
    assert "    by the user\n    =======\n    by the worker\n" in ran.out
    assert everything(repo) == before
    report = json.loads(swarm("merge", id, "--json").out)
    assert [conflict["path"] for conflict in report["rows"][0]["conflicts"]] == ["a.txt"]
    ran = swarm("merge", id, "--repair")
    assert ran.code == 3 and "is resolving conflicts in a.txt" in ran.err
    swarm.seen_at(id, "assistant_message")
    swarm.until(id, "done", "idle")
    assert everything(repo) == before
    ran = swarm("merge", id)
    assert ran.code == 0, ran.err + ran.out
    assert (repo / "a.txt").read_text() == "both\n"
    swarm("stop", id)
    assert swarm.record(id)["merged"] == "main"


def test_merge_names_conflicting_uncommitted_changes(swarm: SwarmHome, zot: Zot) -> None:
    """iface-264: `merge` into a dirty overlapping tree is refused."""
    id = worker(swarm, "mine.txt: by the worker\n")
    before = everything(zot.project)
    ran = swarm("merge", id)
    assert ran.code == 1 and "you have uncommitted changes in mine.txt" in ran.out
    assert everything(zot.project) == before


def test_all_are_merged_one_after_another_if_the_check_passes(swarm: SwarmHome, zot: Zot) -> None:
    repo = zot.project
    tasks = ("x.txt: fine\n", "y.txt: BAD\n", "z.txt: fine too\n")
    ids = [worker(swarm, task) for task in tasks]
    half = swarm.start("half.txt: done\n", "--name", "half")
    swarm.until(half, "failed")
    running = swarm.start("hang there")
    swarm.until(running, "running")
    ran = swarm("merge", "--all", "--check", "! grep -r BAD . && ls")
    assert ran.code == 1, ran.err
    assert re.findall(r"^\S+: (.*)$", ran.out, re.MULTILINE)[:3] == [
        *("merged into main", "not merged, the check failed on the merged files:", "merged into main")
    ]
    assert "hang-there is running; skipped" in ran.err
    assert "half is failed and was skipped; merge it by name if you want it" in ran.err
    assert git(repo, "status", "--porcelain").splitlines() == [" M mine.txt", "?? x.txt", "?? z.txt"]
    refused = swarm("merge", running)
    assert refused.code == 1 and "is running: wait for it, or stop it first" in refused.err
    assert swarm("rm", running, "--force").code == 1
    pruned = swarm("prune")
    assert set(pruned.out.split()) == {ids[0], ids[2]} and "unmerged" in pruned.err
    assert swarm("prune", "--older", "1h", "--force").out == ""
    assert swarm("prune", "--force").out.split() == [ids[1], half]


def test_stopped_worker_is_merged_only_by_name(swarm: SwarmHome, zot: Zot) -> None:
    done, half = swarm.start("x.txt: fine\n", "--name", "rested"), swarm.start("slow.txt: half\n", "--name", "halved")
    swarm.until(done, "idle")
    swarm.seen_at(half, "tool_result")
    assert swarm("stop", done, half).code == 0
    assert (swarm.status(done), swarm.status(half)) == ("stopped", "stopped")
    ran = swarm("merge", "--all")
    assert ran.code == 0 and "rested: merged into main" in ran.out
    assert "halved was stopped during its task and was skipped; merge it by name if you want it" in ran.err
    assert swarm("merge", "halved").code == 0 and (zot.project / "slow.txt").is_file()


def test_merge_options(swarm: SwarmHome, zot: Zot) -> None:
    repo = zot.project
    id = worker(swarm, "new.txt: new\n", "--name", "maker")
    ran = swarm("merge", "maker", "--patch")
    assert ran.out == f"{repo}/maker.patch\n"
    git(repo, "apply", "--check", "maker.patch")
    assert swarm("merge", "maker", "--patch").code == 1  # it is there
    assert swarm("merge", "maker", "--patch", "--no-ff").code == 1
    (repo / "maker.patch").unlink()
    git(repo, "branch", "next")
    assert swarm("merge", id, "--into", "next").code == 0
    assert git(repo, "show", "next:new.txt") == "new" and not (repo / "new.txt").exists()
    ran = swarm("merge", id, "--no-ff")
    assert ran.code == 0 and git(repo, "log", "-1", "--format=%s").startswith("Merge zot/maker-")
    assert (repo / "new.txt").read_text() == "new\n" and git(repo, "status", "--porcelain") == " M mine.txt"
    assert swarm("merge").code == 1 and swarm("merge", id, "--all").code == 1


def test_outside_a_repository_a_worktree_is_refused_with_a_hint(swarm: SwarmHome, zot: Zot, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    ran = swarm("start", "--worktree", "--cwd", str(tmp_path / "plain"), "do it")
    assert ran.code == 1 and "is not in a git repository; make one with `git init`" in ran.err
    shared = swarm.start("b.txt: x", "--shared", "--once")
    swarm.until(shared, "done", "failed")
    ran = swarm("diff", shared)
    assert ran.code == 1 and "has no worktree" in ran.err
    assert swarm("rm", shared).code == 0


@pytest.mark.skipif(detect_support(find_program).level == "none", reason="needs a jail")
def test_files_git_excludes_are_reported_once(swarm: SwarmHome, zot: Zot, tmp_path: Path) -> None:
    repo = zot.project
    inner = repository(tmp_path / "inner")
    put(repo / ".gitattributes", "*.bin filter=lfs\n")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(repo, "add", ".gitattributes")
    git(repo, "commit", "-qm", "more")
    repository(repo / "nested")
    note = (
        "submodules are not checked out: sub; Git LFS files are not fetched: the worktree has their pointers; "
        "nested repositories are excluded: nested"
    )
    ran = swarm("start", "--once", "clone something")
    assert ran.err.splitlines()[0] == f"note: {note}" and ran.err.count("submodules") == 1
    id = ran.out.strip()
    swarm.until(id, "done")
    assert f"  note     {note}" in swarm("show", id).out.splitlines()
    assert json.loads(swarm("show", id, "--json").out)["notes"] == note.split("; ")
    left = (
        "a nested repository is excluded: inner; changes in submodules are excluded: sub; "
        "Git LFS is not run, so these files are taken as they are: big.bin"
    )
    assert left.rpartition("; ")[0] in swarm("diff", id).err
    merged = swarm("merge", id)
    assert merged.code == 0 and (repo / "big.bin").read_text() == "big\n" and not (repo / "inner").exists()
    assert merged.err == f"note: clone-something: {left}\n"
    refused = swarm("rm", id)
    assert refused.code == 1 and "contains files a merge would not keep (a nested repository" in refused.err
    (items := tmp_path / "items").write_text("one.txt\ntwo.txt\n")
    mapped = swarm("map", str(items), "{item}: text")
    assert mapped.code == 0 and mapped.err.count("submodules are not checked out: sub") == 1, mapped.err
