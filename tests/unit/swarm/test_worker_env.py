"""Environment variables sent to a worker on another machine."""

from __future__ import annotations

from zot.swarm.engines.engine import WorkerKey
from zot.swarm.worker_env import portable_environment

KEY = WorkerKey(provider="here", value="sk-of-this-worker")


def test_portable_variables_are_sent_and_local_paths_are_not() -> None:
    common = {"LANG": "de_DE.UTF-8", "LC_ALL": "C", "TZ": "Europe/Vienna", "CI": "1", "CFLAGS": "-O2"}
    here = {"PATH": "/here", "HOME": "/home/me", "VIRTUAL_ENV": "/here/venv", "LD_PRELOAD": "/x.so", "SHLVL": "2"}
    here |= {"XDG_RUNTIME_DIR": "/run/user/1", "SSH_AUTH_SOCK": "/run/agent", "RAY_ADDRESS": "head:6379"}
    here |= {"ZOT_HOME": "/home/me/.zot", "ZOT_SWARM_AGENT_ID": "w", "GIT_DIR": "/repo", "MY_OWN": "thing"}
    assert portable_environment(common | here) == common
    assert portable_environment(common | here, ("*",)) == common | {"MY_OWN": "thing"}


def test_named_variables_are_sent_unless_secret() -> None:
    named = {"FEATURE_X": "on", "APP_MODE": "test", "APP_DEBUG": "1"}
    secrets = {"APP_TOKEN": "t", "GITHUB_TOKEN": "t", "OPENAI_API_KEY": "k", "ZOT_TELEGRAM_TOKEN": "t"}
    secrets |= {"APP_DATABASE": "postgres://me:word@db/x", "APP_COPY": f"--key={KEY.value}", "CFLAGS": f"-D{KEY.value}"}
    found = portable_environment(
        named | secrets, ("FEATURE_X", "APP_*", "GITHUB_TOKEN", "OPENAI_API_KEY", "ZOT_*"), KEY
    )
    assert found == named
    assert portable_environment({"APP_URL": "http://db:80/a@b"}, ("APP_*",)) == {"APP_URL": "http://db:80/a@b"}
