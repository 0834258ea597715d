"""Files that the user's git configuration names cannot be changed by a command in the jail."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot

HOOK = "tools/hooks/pre-commit"
SETTINGS = {
    "core.hooksPath": ("tools/hooks", HOOK),
    "include.path": ("../shared.gitconfig", "shared.gitconfig"),
    "filter.x.clean": ("tools/clean.sh %f", "tools/clean.sh"),
    "filter.y.process": ("sh -c 'exec tools/process.sh'", ""),
    "core.fsmonitor": ("tools/monitor.sh", "tools/monitor.sh"),
    "diff.x.textconv": ("./tools/text.py", "tools/text.py"),
    "merge.x.driver": ("tools/merge.sh %O %A %B", "tools/merge.sh"),
    "alias.st": ("!tools/status.sh", "tools/status.sh"),
    "core.sshCommand": ("tools/ssh", "tools/ssh"),
    "gpg.program": ("tools/gpg", "tools/gpg"),
    "core.attributesFile": ("attributes", "attributes"),
}


@pytest.fixture
def project(zot: Zot) -> Path:
    subprocess.run(["git", "init", "-q"], cwd=zot.project, check=True)
    return zot.project


@pytest.mark.parametrize("scope", ["--local", "--global"])
@pytest.mark.parametrize("exists", [True, False], ids=["exists", "missing"])
@pytest.mark.parametrize("key", [key for key, (_, path) in SETTINGS.items() if path])
def test_named_file_is_read_only(zot: Zot, project: Path, key: str, exists: bool, scope: str) -> None:
    value, path = SETTINGS[key]
    if key == "include.path" and scope == "--global":
        value = str(project / path)
    env = {**zot.env(), "HOME": str(zot.home)}
    subprocess.run(["git", "config", scope, key, value], cwd=project, check=True, env=env)
    if exists:
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text("")
    script = f'mkdir -p "$(dirname {path})"; echo evil > {path}; rm -rf {path}; mv tools moved; echo fine > other'
    zot("jail", "--require", "full", "--", "sh", "-c", script, model=False)
    assert (project / "other").read_text() == "fine\n"
    assert (project / path).read_text() == "" if exists else not (project / path).exists()
    if not exists:
        assert not (project / path).exists()


def test_project_without_repository_is_unaffected(zot: Zot) -> None:
    ran = zot("jail", "--", "sh", "-c", "mkdir -p tools/hooks; echo x > tools/hooks/a", model=False)
    assert ran.code == 0 and (zot.project / "tools" / "hooks" / "a").exists()
