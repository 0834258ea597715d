"""Jail policies grant no more than configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.errors import ConfigError
from zot.system.jail import syscalls
from zot.system.jail.jail import Jail, detect_support
from zot.system.jail.policy import jailed_environment, policy_for
from zot.system.jail.system_paths import toolchains


@pytest.mark.parametrize("which", ["home", "above", "root"])
def test_directory_containing_home_is_not_a_project(tmp_path: Path, which: str) -> None:
    home = tmp_path / "users" / "me"
    home.mkdir(parents=True)
    path = {"home": home, "above": home.parent, "root": Path("/")}[which]
    with pytest.raises(ConfigError, match="home directory"):
        policy_for(path, home=str(home))
    (tmp_path / "project").mkdir()
    with pytest.raises(ConfigError, match="home directory"):
        policy_for(tmp_path / "project", write=[path], home=str(home))


def test_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not-there is not a directory"):
        policy_for(tmp_path, read=[tmp_path / "not-there"], home="/nowhere")


def test_the_environment_is_an_allow_list() -> None:
    given = {"PATH": "/bin", "LC_ALL": "C", "HOME": "/h", "GITHUB_TOKEN": "s", "MY_OWN": "s", "SSH_AUTH_SOCK": "/s"}
    assert jailed_environment(given) == {"PATH": "/bin", "LC_ALL": "C", "HOME": "/h"}
    assert jailed_environment(given, ["MY_OWN"])["MY_OWN"] == "s"
    assert jailed_environment(given, ["MY_*"])["MY_OWN"] == "s"


def test_proxy_with_password_is_excluded() -> None:
    proxies = {"HTTP_PROXY": "http://me:pw@proxy:1", "https_proxy": "http://proxy:1"}
    assert jailed_environment(proxies) == {"https_proxy": "http://proxy:1"}
    assert jailed_environment(proxies, ["HTTP_PROXY"]) == proxies


def test_toolchains_are_readable_and_a_home_is_not(tmp_path: Path) -> None:
    home = tmp_path / "me"
    for path in ("sdk/go/bin", ".cargo/bin", ".rustup", ".local/bin", "bin"):
        (home / path).mkdir(parents=True)
    path = ":".join(str(home / name) for name in ("sdk/go/bin", ".cargo/bin", ".local/bin", "bin", "not-there"))
    found = toolchains(f"/usr/bin:{path}:relative", str(home))
    assert str(home / "sdk/go") in found and str(home / ".rustup") in found
    assert str(home) not in found and str(home / ".cargo") not in found and str(home / ".local") not in found


@pytest.mark.parametrize("entry", ["", "/..", "/../..", "/./"])
def test_a_home_on_the_path_is_not_opened(tmp_path: Path, entry: str) -> None:
    home = tmp_path / "me"
    home.mkdir()
    assert toolchains(f"/usr/bin:{home}{entry}", str(home)) == []


def test_sibling_of_a_program_is_not_always_its_installation(tmp_path: Path) -> None:
    home = tmp_path / "me"
    for path in (".docker/bin", ".docker/lib", ".fly/bin", ".pyenv/bin", ".config/x/bin"):
        (home / path).mkdir(parents=True)
    path = ":".join(str(home / name / "bin") for name in (".docker", ".fly", ".pyenv", ".config/x"))
    found = toolchains(path, str(home))
    wanted = [".config/x/bin", ".docker/bin", ".docker/lib", ".fly/bin", ".pyenv", ".pyenv/bin"]
    assert found == [str(home / name) for name in wanted]


def test_a_machine_without_either_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """engine-229: where neither bubblewrap nor Landlock works, locking is refused with the reason."""
    monkeypatch.setattr(syscalls, "landlock_abi", lambda: 0)
    machine = detect_support(lambda name: None)
    assert machine.level == ""
    with pytest.raises(ConfigError, match=r"bubblewrap is not installed.*no Landlock"):
        Jail(policy_for(tmp_path, home="/nowhere"), machine)


def test_failing_bubblewrap_is_reported_with_its_stderr(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    machine = detect_support(lambda name: str(broken))
    assert machine.level in ("reduced", "") and "No permissions to create new namespace" in machine.why
