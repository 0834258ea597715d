"""`zot auth import`: keys of other programs, listed without secrets, copied only as chosen."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.vendors import FakeVendors

OPENAI = "sk-openai-1234567890-aaaa"
CODEX = "sk-codex-1234567890-bbbb"
ANTHROPIC = "sk-ant-1234567890-cccc"
GROQ = "gsk-1234567890123-dddd"
SECRETS = (OPENAI, CODEX, ANTHROPIC, GROQ, "rotating-refresh-token", "access-token-of-codex")


@pytest.fixture
def vendors(zot: Zot) -> Iterator[FakeVendors]:
    with FakeVendors() as world:
        zot.environment.update(world.environment)
        yield world


def write(path: Path, content: Any, mode: int = 0o600) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(mode)


@pytest.fixture
def others(zot: Zot) -> Zot:
    """A home with every program zot knows."""
    home = zot.home
    tokens = {"access_token": "access-token-of-codex", "refresh_token": "rotating-refresh-token"}
    write(home / ".codex" / "auth.json", {"OPENAI_API_KEY": CODEX, "tokens": tokens})
    pi = {
        "anthropic": {"type": "api_key", "key": ANTHROPIC},
        "groq": {"type": "api_key", "key": "!pass show groq"},
        "github-copilot": {"type": "oauth", "access": "a", "refresh": "rotating-refresh-token", "expires": 1},
    }
    write(home / ".pi" / "agent" / "auth.json", pi)
    opencode = {"groq": {"type": "api", "key": GROQ}, "nobody": {"type": "api", "key": "key-of-nobody-1234"}}
    write(home / ".local" / "share" / "opencode" / "auth.json", opencode)
    write(home / ".config" / "io.datasette.llm" / "keys.json", {"// Note": "secret", "openai": OPENAI})
    write(home / ".aider.conf.yml", f"# mine\nopenai-api-key: {OPENAI}\napi-key:\n  - groq={GROQ}\nmodel: sonnet\n")
    write(home / ".bashrc", f"PS1=x\nexport ANTHROPIC_API_KEY='{ANTHROPIC}' # mine\nexport GROQ_API_KEY=$(pass groq)\n")
    return zot


def stored(zot: Zot) -> dict[str, Any]:
    path = zot.home / "zot" / "auth.json"
    return json.loads(path.read_text()) if path.exists() else {}


def test_import_lists_without_secrets_and_copies_nothing(others: Zot) -> None:
    ran = others("auth", "import", model=False)
    assert ran.code == 0, ran.err
    names = [line.split()[1] for line in ran.out.splitlines()[1:]]
    assert names == [
        "codex/openai",
        "pi/anthropic",
        "opencode/groq",
        "llm/openai",
        "aider/openai",
        "aider/groq",
        "env/ANTHROPIC_API_KEY",
    ]
    assert "…bbbb" in ran.out
    assert not any(secret in ran.out + ran.err for secret in SECRETS)
    assert "codex/chatgpt: login, not copied: its refresh token changes at each use" in ran.err
    assert "pi/github-copilot: login, not copied" in ran.err
    assert "pi/groq: pi gets this key from a program or a variable" in ran.err
    assert "opencode/nobody: unknown provider" in ran.err
    assert "copy keys with `zot auth import NAME…`" in ran.err
    assert stored(others) == {}


def test_import_json_has_no_secret(others: Zot) -> None:
    ran = others("auth", "import", "--json", model=False)
    rows = json.loads(ran.out)["credentials"]
    assert {row["name"] for row in rows if not row["can_copy"]} >= {"codex/chatgpt", "pi/github-copilot"}
    assert not any(secret in ran.out for secret in SECRETS)


def test_import_copies_named_keys_after_a_test(others: Zot, vendors: FakeVendors) -> None:
    ran = others("auth", "import", "llm/openai", "codex/openai", model=False)
    assert ran.code == 0, ran.err
    assert ran.out.splitlines() == [
        "llm/openai: stored as openai",
        "codex/openai: stored as openai (account codex); switch to it with `zot auth use openai codex`",
    ]
    assert stored(others)["openai"] == {"api_key": OPENAI}
    assert stored(others)["accounts"]["openai"]["others"]["codex"] == {"api_key": CODEX}
    tested = [request[3]["authorization"] for request in vendors.seen("/v1/models")]
    assert tested == [f"Bearer {OPENAI}", f"Bearer {CODEX}"]
    again = others("auth", "import", "llm/openai", model=False)
    assert (again.code, again.out) == (0, "llm/openai: already stored for openai\n")


def test_import_stores_no_key_its_provider_refuses(others: Zot, vendors: FakeVendors) -> None:
    vendors.refuse["/v1/models"] = (401, {"error": {"message": "no such key"}})
    ran = others("auth", "import", "llm/openai", model=False)
    assert ran.code == 1
    assert "llm/openai: not copied: openai refused this key (http 401): no such key; skip the test with" in ran.err
    assert OPENAI not in ran.err
    assert stored(others) == {}
    assert others("auth", "import", "llm/openai", "--no-test", model=False).code == 0
    assert stored(others)["openai"]["api_key"] == OPENAI


def test_import_dry_run_stores_nothing(others: Zot) -> None:
    ran = others("auth", "import", "--all", "--dry-run", model=False)
    assert "pi/anthropic: would be stored as anthropic" in ran.out
    assert stored(others) == {}


def test_import_refuses_logins_and_unknown_names(others: Zot) -> None:
    login = others("auth", "import", "codex/chatgpt", model=False)
    assert login.code != 0
    assert "a copy would log Codex out; log in with `zot auth login openai`" in login.err
    typo = others("auth", "import", "lm/openai", model=False)
    assert typo.code != 0
    assert "did you mean llm/openai" in typo.err
    assert stored(others) == {}


def test_import_asks_on_a_terminal(others: Zot, vendors: FakeVendors) -> None:
    ours, theirs = pty.openpty()
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "zot", "auth", "import"],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=others.env(),
            cwd=others.project,
        )
        os.write(ours, b"99\n2\n")
        out, _ = child.communicate(timeout=60)
        shown = os.read(ours, 65536).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "expected numbers from 1 to 7" in shown
    assert child.returncode in (0, 1)
    assert b"pi/anthropic" in out
    assert not any(secret in shown + out.decode() for secret in SECRETS)
    assert "codex" not in json.dumps(stored(others))


def test_import_of_a_project_file_needs_its_name(others: Zot) -> None:
    write(others.project / ".env", "OPENAI_API_KEY=sk-planted-by-the-repository\n")
    ran = others("auth", "import", "--all", "--no-test", model=False)
    assert ran.code == 0, ran.err
    assert "env/OPENAI_API_KEY is from a file of this directory; copy it by its name" in ran.err
    assert "sk-planted" not in json.dumps(stored(others))
    assert others("auth", "import", "env/OPENAI_API_KEY", "--no-test", model=False).code == 0
    assert "sk-planted" in json.dumps(stored(others))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (".codex/auth.json", '{"OPENAI_API_KEY": "sk-cut', "the JSON is incomplete"),
        (".codex/auth.json", "[1]", "expected one JSON object"),
        (".codex/auth.json", '{"OPENAI_API_KEY": 5}', ""),
        (".pi/agent/auth.json", '{"openai": "sk-bare"}', "pi/openai: not an entry; skipped"),
        (".config/io.datasette.llm/keys.json", '{"openai": "short"}', "llm/openai: not a key; skipped"),
        (".config/io.datasette.llm/keys.json", '{"openai": "two words of a key"}', "llm/openai: not a key; skipped"),
        (".codex/auth.json", "[" * 100_000, ""),
        (".aider.conf.yml", "openai-api-key:\napi-key: [=,=,]\n\0", ""),
        (".codex/auth.json", "x" * 1_100_000, "larger than 1 MiB; skipped"),
    ],
)
def test_import_of_a_malformed_file_is_one_line(zot: Zot, name: str, content: str, said: str) -> None:
    write(zot.home / name, content)
    ran = zot("auth", "import", model=False)
    assert ran.code == 0
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert ran.err.count("\n") <= 2, ran.err
    assert "sk-cut" not in ran.err


def test_import_skips_files_of_others_and_links_outside(zot: Zot, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    write(outside, {"OPENAI_API_KEY": OPENAI})
    (zot.home / ".codex").mkdir()
    (zot.home / ".codex" / "auth.json").symlink_to(outside)
    write(zot.home / ".bashrc", f"export ANTHROPIC_API_KEY={ANTHROPIC}\n", 0o666)
    (zot.home / ".pi" / "agent").mkdir(parents=True)
    os.mkfifo(zot.home / ".pi" / "agent" / "auth.json")
    ran = zot("auth", "import", "--all", "--no-test", model=False)
    assert ran.code == 0
    assert "leads out of" in ran.err
    assert "other users may change it (mode 666); skipped" in ran.err
    assert "not a regular file" in ran.err
    assert stored(zot) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_import_skips_a_file_of_another_user(zot: Zot) -> None:
    write(zot.home / ".codex" / "auth.json", {"OPENAI_API_KEY": OPENAI})
    os.chown(zot.home / ".codex" / "auth.json", 12345, 12345)
    ran = zot("auth", "import", "--all", "--no-test", model=False)
    assert "belongs to another user; skipped" in ran.err
    assert stored(zot) == {}


def test_import_of_a_program_copies_all_its_keys(others: Zot) -> None:
    ran = others("auth", "import", "aider", "--no-test", model=False)
    assert ran.out.splitlines() == ["aider/openai: stored as openai", "aider/groq: stored as groq"]


def test_import_unknown_name_is_an_error(zot: Zot) -> None:
    ran = zot("auth", "import", "nosuch", model=False)
    assert ran.code == 2 and 'found no credential "nosuch"' in ran.err
