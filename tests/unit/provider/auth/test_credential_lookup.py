"""Where credentials come from; key commands are real programs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from zot.errors import ConfigError, NotLoggedIn
from zot.provider.auth.auth_store import AuthStore, KeyCommand, OAuthToken
from zot.provider.auth.credential_lookup import Credential, clear_key_command_cache, find_credential, has_credential
from zot.provider.providers import builtin_providers

PROVIDERS = builtin_providers()

OPENAI, ANTHROPIC, KIMI = PROVIDERS["openai"], PROVIDERS["anthropic"], PROVIDERS["kimi"]


@pytest.fixture(autouse=True)
def fresh_commands() -> Generator[None]:
    clear_key_command_cache()
    yield
    clear_key_command_cache()


def command(code: str, timeout_ms: int = 20_000) -> KeyCommand:
    return KeyCommand(sys.executable, ("-c", code), timeout_ms)


def test_flag_beats_environment_beats_file_beats_command(tmp_path: Path) -> None:
    """engine-117: a key is looked for in the flag, then the environment, then auth.json, then `api_key_command`."""
    store = AuthStore(tmp_path)
    environ: dict[str, str] = {}
    commands = {"openai": command("print('from-command')")}
    api_key = ""

    def found() -> tuple[str, str]:
        credential = find_credential(OPENAI, store, environ, api_key=api_key, commands=commands)
        assert credential is not None
        return credential.key, credential.source

    assert found() == ("from-command", "command")
    store.set_api_key("openai", "from-file")
    assert found() == ("from-file", "file")
    environ["OPENAI_API_KEY"] = " from-env\n"
    assert found() == ("from-env", "env")
    api_key = "from-flag"
    assert found() == ("from-flag", "flag")


def test_kimi_key_beats_moonshot_key(tmp_path: Path) -> None:
    """engine-118: with both variables set, `KIMI_API_KEY` is used; `MOONSHOT_API_KEY` serves only on its own."""
    environ = {"MOONSHOT_API_KEY": "moonshot", "KIMI_API_KEY": "kimi"}
    found = find_credential(KIMI, AuthStore(tmp_path), environ)
    assert found is not None
    assert found.key == "kimi"
    found = find_credential(KIMI, AuthStore(tmp_path), {"MOONSHOT_API_KEY": "moonshot"})
    assert found is not None
    assert found.key == "moonshot"


def test_empty_variable_is_not_a_credential(tmp_path: Path) -> None:
    assert find_credential(OPENAI, AuthStore(tmp_path), {"OPENAI_API_KEY": " "}) is None


def test_the_oauth_variable_beats_the_key_variable(tmp_path: Path) -> None:
    environ = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_OAUTH_TOKEN": "token"}
    assert find_credential(ANTHROPIC, AuthStore(tmp_path), environ) == Credential("token", "oauth", source="env")


def test_a_stored_login_gives_its_token_and_account(tmp_path: Path) -> None:
    store = AuthStore(tmp_path)
    expiry = "2999-01-01T00:00:00Z"
    store.set_oauth("openai", OAuthToken(access_token="at", account_id="acc", expiry=expiry))
    assert find_credential(OPENAI, store, {}) == Credential("at", "oauth", "acc", "file", "default", expiry)


def test_expired_login_error_asks_for_login(tmp_path: Path) -> None:
    store = AuthStore(tmp_path)
    store.set_oauth("openai", OAuthToken(access_token="at", expiry="2020-01-01T00:00:00Z"))
    with pytest.raises(NotLoggedIn, match=r"OpenAI has expired.*/login"):
        find_credential(OPENAI, store, {})
    assert not has_credential(OPENAI, store, {})


def test_an_expired_login_that_can_be_refreshed_is_a_credential(tmp_path: Path) -> None:
    """The sender of a request refreshes it first; this lookup uses no network."""
    store, expiry = AuthStore(tmp_path), "2020-01-01T00:00:00Z"
    store.set_oauth("openai", OAuthToken(access_token="at", refresh_token="rt", expiry=expiry))
    assert find_credential(OPENAI, store, {}) == Credential("at", "oauth", "", "file", "default", expiry)
    assert has_credential(OPENAI, store, {})
    store.set_oauth("groq", OAuthToken(access_token="at", refresh_token="rt", expiry=expiry))
    with pytest.raises(NotLoggedIn, match="expired"):  # nobody knows where to refresh it
        find_credential(PROVIDERS["groq"], store, {})


def test_key_command_may_be_in_the_stored_entry(tmp_path: Path) -> None:
    entry: dict[str, Any] = {"program": sys.executable, "args": ["-c", "print('k')"]}
    (tmp_path / "auth.json").write_text(json.dumps({"additional_api_key_creds": {"groq": {"api_key_command": entry}}}))
    found = find_credential(PROVIDERS["groq"], AuthStore(tmp_path), {})
    assert found == Credential("k", source="command")


def counting(path: Path) -> KeyCommand:
    return command(f"open({str(path)!r}, 'a').write('x'); print('key')")


def test_a_key_command_runs_once_per_process(tmp_path: Path) -> None:
    log = tmp_path / "runs"
    commands = {"openai": counting(log)}
    for _ in range(3):
        find_credential(OPENAI, AuthStore(tmp_path), {}, commands=commands)
    assert log.read_text() == "x"
    clear_key_command_cache()
    find_credential(OPENAI, AuthStore(tmp_path), {}, commands=commands)
    assert log.read_text() == "xx"


def test_background_work_and_questions_never_run_a_key_command(tmp_path: Path) -> None:
    log = tmp_path / "runs"
    commands = {"openai": counting(log)}
    assert find_credential(OPENAI, AuthStore(tmp_path), {}, commands=commands, background=True) is None
    assert has_credential(OPENAI, AuthStore(tmp_path), {}, commands)
    assert not log.exists()


def test_arguments_reach_the_program_without_a_shell(tmp_path: Path) -> None:
    literal = KeyCommand(sys.executable, ("-c", "import sys; print(sys.argv[1])", "$HOME;`id`"))
    found = find_credential(OPENAI, AuthStore(tmp_path), {}, commands={"openai": literal})
    assert found is not None
    assert found.key == "$HOME;`id`"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print('a'); print('b')", "several lines"),
        ("print('x' * 70000)", "64 KiB"),
        ("import sys\nwhile True: sys.stdout.write('x' * 4096)", "64 KiB"),
        ("print()", "printed nothing"),
        ("pass", "printed nothing"),
        ("print('s3cret'); raise SystemExit(3)", "status 3"),
        ("import sys; sys.stderr.write('s3cret'); raise SystemExit(1)", "status 1"),
        ("print('s3cret\\x1b[0m')", "control characters"),
    ],
)
def test_a_bad_answer_is_an_error_without_the_secret(tmp_path: Path, code: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as raised:
        find_credential(OPENAI, AuthStore(tmp_path), {}, commands={"openai": command(code)})
    assert "openai" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_a_missing_program_is_an_error_naming_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot start .*no-such-program"):
        find_credential(OPENAI, AuthStore(tmp_path), {}, commands={"openai": KeyCommand("no-such-program")})


def test_slow_key_command_is_killed_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid))\n"
        "child.wait()"
    )
    with pytest.raises(ConfigError, match="within 2000 ms"):
        find_credential(OPENAI, AuthStore(tmp_path), {}, commands={"openai": command(code, timeout_ms=2000)})
    pid = int(pid_file.read_text())
    deadline = time.monotonic() + 10
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)  # the kernel reaps the orphan in its own time
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_a_credential_never_shows_its_key() -> None:
    assert "s3cret" not in f"{Credential('s3cret')!r} {Credential('s3cret')}"
