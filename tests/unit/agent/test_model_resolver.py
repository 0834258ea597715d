"""One decision per run: provider, model, address and credential, from real files and a given environment."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from zot.agent.model_resolver import ModelQuery, ResolvedModel, require_credential, resolve
from zot.agent.settings import Settings
from zot.errors import ConfigError, NotLoggedIn, UsageError
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.credential_lookup import clear_key_command_cache
from zot.provider.catalog import Catalog
from zot.provider.dialects.dialect import Endpoint
from zot.provider.http_client import connect
from zot.provider.scripted_client import DEMONSTRATION, ScriptedClient

ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-ant"}
OPENAI = {"OPENAI_API_KEY": "sk-oa"}


@pytest.fixture(autouse=True)
def fresh_commands() -> Generator[None]:
    clear_key_command_cache()
    yield
    clear_key_command_cache()


class Home:
    """A zot home and an environment in which things are resolved."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = AuthStore(path)

    def write(self, name: str, value: Any) -> None:
        (self.path / name).write_text(json.dumps(value))

    def config(self, **values: Any) -> None:
        self.write("config.json", values)

    def stored_config(self) -> dict[str, Any]:
        return json.loads((self.path / "config.json").read_text())

    def resolve(self, environ: dict[str, str] | None = None, **typed: Any) -> ResolvedModel:
        return resolve(ModelQuery(**typed), Settings(self.path), Catalog(self.path), self.store, environ or {})


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def pair(resolved: ResolvedModel) -> tuple[str, str]:
    return resolved.provider.id, resolved.model.id


def endpoint(resolved: ResolvedModel) -> Endpoint:
    assert resolved.endpoint is not None
    return resolved.endpoint


# -- provider ---------------------------------------------------------------------------------------------------


def test_nothing_given_is_anthropic_with_its_default(home: Home) -> None:
    resolved = home.resolve(ANTHROPIC)
    assert pair(resolved) == ("anthropic", "claude-sonnet-5-5")
    assert resolved.notices == []
    assert endpoint(resolved).base_url == "https://api.anthropic.com"
    assert endpoint(resolved).api_key == "sk-ant"


def test_flag_beats_config(home: Home) -> None:
    home.config(provider="openai", model="gpt-4o")
    assert pair(home.resolve(OPENAI)) == ("openai", "gpt-4o")
    assert pair(home.resolve(ANTHROPIC, provider="anthropic")) == ("anthropic", "claude-sonnet-5-5")
    assert home.resolve(ANTHROPIC, provider="anthropic").notices == []


def test_unknown_provider_flag_is_an_error_listing_known_ones(home: Home) -> None:
    """iface-015: an unknown `--provider` is an error that lists the known ones, and the config is left alone."""
    home.config(provider="openai")
    with pytest.raises(UsageError, match=r'"nope".*anthropic, openai, kimi'):
        home.resolve(OPENAI, provider="nope")
    assert home.stored_config() == {"provider": "openai"}


def test_an_alias_can_be_typed(home: Home) -> None:
    assert home.resolve({"KIMI_API_KEY": "k"}, provider="moonshot").provider.id == "kimi"


def test_unknown_provider_in_config_falls_back_and_is_repaired(home: Home) -> None:
    home.config(provider="gone", model="x", other=1)
    resolved = home.resolve(OPENAI)
    assert pair(resolved) == ("openai", "gpt-6.1-sol")
    (notice,) = resolved.notices
    assert '"gone"' in notice
    assert "openai" in notice
    assert home.stored_config() == {"provider": "openai", "model": "", "other": 1}
    assert home.resolve(OPENAI).notices == []


def test_repaired_setting_is_reported_even_if_run_fails(home: Home) -> None:
    home.config(provider="gone")
    with pytest.raises(NotLoggedIn, match='unknown provider "gone"'):
        require_credential(home.resolve())


def test_stale_setting_is_not_repaired_by_a_failed_command_line(home: Home) -> None:
    home.config(provider="gone")
    with pytest.raises(UsageError, match="unknown model"):
        home.resolve(OPENAI, model="nope")
    assert home.stored_config() == {"provider": "gone"}


def test_unrepairable_setting_is_reported_in_the_same_line(home: Home) -> None:
    home.config(provider="gone")
    (home.path / ".config.json.lock").mkdir()
    (notice,) = home.resolve(OPENAI).notices
    assert "(cannot save the setting)" in notice


def test_only_key_selects_its_provider_without_a_notice(home: Home) -> None:
    """engine-108: with a key for openai alone, openai and its default are used without a notice."""
    resolved = home.resolve(OPENAI)
    assert pair(resolved) == ("openai", "gpt-6.1-sol")
    assert resolved.notices == []
    require_credential(resolved)


def test_configured_provider_without_credential_falls_back(home: Home) -> None:
    home.config(provider="anthropic")
    resolved = home.resolve(OPENAI)
    assert pair(resolved) == ("openai", "gpt-6.1-sol")
    assert resolved.notices == ["no credential for anthropic; using openai (gpt-6.1-sol)"]


def test_kimi_is_the_last_of_the_three(home: Home) -> None:
    assert pair(home.resolve({"KIMI_API_KEY": "k"})) == ("kimi", "kimi-for-coding")
    assert pair(home.resolve({"KIMI_API_KEY": "k", **OPENAI})) == ("openai", "gpt-6.1-sol")


def test_an_explicit_provider_disables_that_fallback(home: Home) -> None:
    """engine-109: a provider named on the command line is never replaced by another that has a key."""
    resolved = home.resolve(OPENAI, provider="anthropic")
    assert pair(resolved) == ("anthropic", "claude-sonnet-5-5")
    assert resolved.endpoint is None
    assert resolved.notices == []
    with pytest.raises(NotLoggedIn, match="available: openai"):
        require_credential(resolved)


def test_explicit_model_disables_provider_fallback(home: Home) -> None:
    resolved = home.resolve(OPENAI, model="claude-opus-4-1")
    assert pair(resolved) == ("anthropic", "claude-opus-4-1")
    assert resolved.missing


def test_fallback_notice_mentions_expired_login(home: Home) -> None:
    home.store.set_oauth("anthropic", OAuthToken(access_token="t", expiry="2020-01-01T00:00:00Z"))
    resolved = home.resolve(OPENAI)
    assert pair(resolved) == ("openai", "gpt-6.1-sol")
    (notice,) = resolved.notices
    assert "expired" in notice


def test_kimi_without_a_credential_is_not_logged_in(home: Home) -> None:
    """engine-110: kimi without a credential counts as not logged in and names `KIMI_API_KEY`."""
    resolved = home.resolve(provider="kimi")
    assert resolved.endpoint is None
    with pytest.raises(NotLoggedIn, match="KIMI_API_KEY"):
        require_credential(resolved)


def test_missing_credential_error_names_all_ways_to_start(home: Home) -> None:
    """engine-111, iface-025: the message names the variable, `--api-key`, `/login` and a provider that needs no key."""
    with pytest.raises(NotLoggedIn) as raised:
        require_credential(home.resolve())
    text = str(raised.value)
    for word in ("ANTHROPIC_API_KEY", "--api-key", "/login", "--provider ollama", "--provider script"):
        assert word in text
    assert "zot local install small && zot --provider local" in text


def test_credential_hint_runs_no_key_command(home: Home, tmp_path: Path) -> None:
    log = tmp_path / "ran"
    program = {"program": sys.executable, "args": ["-c", f"open({str(log)!r}, 'w'); print('k')"]}
    home.config(api_key_command={"groq": program})
    assert "groq" in home.resolve(provider="anthropic").missing
    assert not log.exists()


def test_a_key_command_is_run_for_the_provider_in_use(home: Home) -> None:
    home.config(api_key_command={"openai": {"program": sys.executable, "args": ["-c", "print('from-command')"]}})
    assert endpoint(home.resolve(provider="openai")).api_key == "from-command"


def test_failing_key_command_is_named_as_missing(home: Home) -> None:
    home.config(api_key_command={"openai": {"program": "no-such-program"}})
    with pytest.raises(NotLoggedIn, match="no-such-program"):
        require_credential(home.resolve(provider="openai"))


def test_broken_auth_json_is_named_and_environment_works(home: Home) -> None:
    (home.path / "auth.json").write_text("{")
    assert endpoint(home.resolve(ANTHROPIC)).api_key == "sk-ant"
    with pytest.raises(NotLoggedIn, match=r"auth\.json"):
        require_credential(home.resolve(provider="anthropic"))


def test_an_open_auth_json_is_one_notice(home: Home) -> None:
    home.write("auth.json", {"anthropic": {"api_key": "k"}})
    (home.path / "auth.json").chmod(0o640)
    (notice,) = home.resolve().notices
    assert "640" in notice
    assert home.resolve().notices == []


# -- model ------------------------------------------------------------------------------------------------------


def test_a_model_without_a_provider_picks_its_provider(home: Home) -> None:
    """engine-107: `--model gpt-5` alone runs on openai, never on another provider's model."""
    resolved = home.resolve({**ANTHROPIC, **OPENAI}, model="gpt-5")
    assert pair(resolved) == ("openai", "gpt-5")
    assert endpoint(resolved).api_key == "sk-oa"
    assert pair(home.resolve(ANTHROPIC, model="gpt-5"))[0] == "openai"


def test_provider_with_credential_wins_among_several(home: Home) -> None:
    resolved = home.resolve({"TOGETHER_API_KEY": "t"}, model="openai/gpt-oss-120b")
    assert resolved.provider.id == "together"


def test_provider_and_model_that_disagree_are_an_error(home: Home) -> None:
    with pytest.raises(UsageError, match="belongs to openai, not to anthropic"):
        home.resolve({**ANTHROPIC, **OPENAI}, provider="anthropic", model="gpt-5")


def test_unknown_model_flag_is_an_error_with_the_nearest(home: Home) -> None:
    with pytest.raises(
        UsageError, match=r'unknown model "claude-sonet-4-5" \(provider="anthropic"\).*claude-sonnet-5-5'
    ):
        home.resolve(ANTHROPIC, model="claude-sonet-4-5")


def test_unknown_model_in_config_falls_back_and_is_repaired(home: Home) -> None:
    home.config(provider="openai", model="gpt-0")
    resolved = home.resolve(OPENAI)
    assert pair(resolved) == ("openai", "gpt-6.1-sol")
    (notice,) = resolved.notices
    assert '"gpt-0"' in notice
    assert home.stored_config() == {"provider": "openai", "model": ""}


def test_unknown_model_without_provider_in_config_falls_back(home: Home) -> None:
    home.config(model="gpt-0")
    resolved = home.resolve(ANTHROPIC)
    assert pair(resolved) == ("anthropic", "claude-sonnet-5-5")
    assert len(resolved.notices) == 1


def test_a_model_alone_in_the_config_picks_its_provider(home: Home) -> None:
    home.config(model="gpt-4o")
    assert pair(home.resolve({**ANTHROPIC, **OPENAI})) == ("openai", "gpt-4o")


def test_a_stored_pair_that_disagrees_is_one_notice(home: Home) -> None:
    home.config(provider="openai", model="claude-opus-4-1")
    resolved = home.resolve(OPENAI)
    assert pair(resolved) == ("openai", "gpt-6.1-sol")
    (notice,) = resolved.notices
    assert "belongs to anthropic" in notice


def test_ollama_without_a_model_asks_for_one(home: Home) -> None:
    """iface-016: `--provider ollama` without `--model` is an error, whatever the config contains."""
    home.config(provider="anthropic", model="claude-opus-4-1")
    with pytest.raises(UsageError, match=r"ollama.*--model"):
        home.resolve(provider="ollama")


def test_ollama_takes_any_id_without_a_key(home: Home) -> None:
    """engine-077: ollama runs any model id, without a key and with cautious limits."""
    resolved = home.resolve(provider="ollama", model="qwen3:8b")
    require_credential(resolved)
    assert (resolved.model.context_window, resolved.model.max_output) == (32_768, 8_192)
    assert resolved.model.source == "ollama"
    assert (endpoint(resolved).base_url, endpoint(resolved).api_key) == ("http://localhost:11434", "ollama")
    assert endpoint(home.resolve(provider="ollama", model="m", api_key="k")).api_key == "k"


def test_gateways_keep_routed_ids(home: Home) -> None:
    environ = {"OPENROUTER_API_KEY": "k"}
    assert pair(home.resolve(environ, provider="openrouter", model="a/b")) == ("openrouter", "a/b")


def test_custom_url_may_serve_any_model(home: Home) -> None:
    resolved = home.resolve(
        {"MOONSHOT_API_KEY": "k"}, provider="kimi", base_url="https://api.moonshot.ai/v1/", model="kimi-k3"
    )
    assert pair(resolved) == ("kimi", "kimi-k3")
    assert endpoint(resolved).base_url == "https://api.moonshot.ai/v1"
    assert resolved.model.max_output > 0


def test_session_model_is_between_flags_and_config(home: Home) -> None:
    home.config(provider="anthropic", model="claude-opus-4-1")
    environ = {**ANTHROPIC, **OPENAI}
    memory = {"remembered_provider": "openai", "remembered_model": "gpt-4o"}
    assert pair(home.resolve(environ, **memory)) == ("openai", "gpt-4o")
    assert pair(home.resolve(environ, **memory, model="o3")) == ("openai", "o3")
    assert pair(home.resolve(environ, **memory, provider="anthropic")) == ("anthropic", "claude-opus-4-1")


def test_missing_session_model_is_one_notice_without_repair(home: Home) -> None:
    home.config(provider="anthropic")
    resolved = home.resolve(OPENAI, remembered_provider="openai", remembered_model="gpt-0")
    assert pair(resolved) == ("openai", "gpt-6.1-sol")
    (notice,) = resolved.notices
    assert '"gpt-0"' in notice
    assert home.stored_config() == {"provider": "anthropic"}


def test_a_remembered_provider_that_is_gone_is_one_notice(home: Home) -> None:
    resolved = home.resolve(ANTHROPIC, remembered_provider="gone", remembered_model="x")
    assert pair(resolved) == ("anthropic", "claude-sonnet-5-5")
    assert len(resolved.notices) == 1


def test_session_provider_without_credential_falls_back(home: Home) -> None:
    resolved = home.resolve(ANTHROPIC, remembered_provider="openai", remembered_model="gpt-4o")
    assert pair(resolved) == ("anthropic", "claude-sonnet-5-5")
    assert len(resolved.notices) == 1


# -- address ----------------------------------------------------------------------------------------------------


def test_flag_beats_the_models_address_beats_the_providers(home: Home) -> None:
    """engine-080: `--base-url` wins over the model's `baseUrl` in models.json, which wins over the
    provider's default.
    """
    home.write("models.json", {"providers": {"ollama": {"models": [{"id": "m", "baseUrl": "http://box:1"}]}}})
    typed = {"provider": "ollama", "model": "m"}
    assert endpoint(home.resolve(**typed)).base_url == "http://box:1"
    assert endpoint(home.resolve(**typed, base_url="http://flag:2")).base_url == "http://flag:2"
    assert endpoint(home.resolve(provider="ollama", model="n")).base_url == "http://localhost:11434"


@pytest.mark.parametrize("url", ["localhost:80", "ftp://x", "nonsense"])
def test_invalid_base_url_is_an_error(home: Home, url: str) -> None:
    with pytest.raises(UsageError, match="--base-url"):
        home.resolve(ANTHROPIC, base_url=url)


def test_a_bad_address_in_the_environment_is_an_error(home: Home) -> None:
    with pytest.raises(ConfigError, match=r"llama\.cpp"):
        home.resolve({"LLAMA_BASE_URL": "box"}, provider="llama.cpp", model="m")


def test_insecure_applies_only_to_custom_urls(home: Home) -> None:
    """iface-284: `--insecure` applies to the user's own addresses and has no effect on built-in ones."""
    home.write(
        "models.json",
        {
            "providers": {
                "mine": {"baseUrl": "https://lan.example/v1", "auth": "none", "models": [{"id": "m"}]},
                "kimi": {"models": [{"id": "kimi-for-coding", "contextWindow": 1000}]},
            }
        },
    )
    built_in = home.resolve(ANTHROPIC, insecure=True)
    assert not endpoint(built_in).insecure
    (notice,) = built_in.notices
    assert "--insecure" in notice
    assert not endpoint(home.resolve({"KIMI_API_KEY": "k"}, provider="kimi", insecure=True)).insecure
    assert endpoint(home.resolve(ANTHROPIC, insecure=True, base_url="https://proxy.example")).insecure
    mine = home.resolve(provider="mine", insecure=True)
    assert endpoint(mine).insecure
    assert mine.notices == []
    assert not endpoint(home.resolve(provider="mine")).insecure


def test_insecure_setting_is_silent_for_builtin_urls(home: Home) -> None:
    home.config(insecure=True)
    resolved = home.resolve(ANTHROPIC)
    assert not endpoint(resolved).insecure
    assert resolved.notices == []
    assert endpoint(home.resolve(ANTHROPIC, base_url="https://proxy.example")).insecure


def test_silence_is_longer_on_this_machine_and_can_be_set(home: Home) -> None:
    assert endpoint(home.resolve(ANTHROPIC)).silence_s == 300
    assert endpoint(home.resolve(provider="ollama", model="m")).silence_s == 900
    home.config(silence_s={"ollama": 5})
    assert endpoint(home.resolve(provider="ollama", model="m")).silence_s == 5
    assert endpoint(home.resolve(ANTHROPIC, provider="anthropic")).silence_s == 300


def test_custom_provider_sets_dialect_headers_and_key_variable(home: Home) -> None:
    entry = {"baseUrl": "https://llm.example", "api": "anthropic", "headers": {"x-a": "b"}, "models": [{"id": "m"}]}
    home.write("models.json", {"providers": {"my-co": entry}})
    resolved = home.resolve({"MY_CO_API_KEY": "k"}, provider="my-co")
    assert (pair(resolved), resolved.api) == (("my-co", "m"), "anthropic")
    assert (endpoint(resolved).api_key, endpoint(resolved).headers) == ("k", {"x-a": "b"})
    with pytest.raises(NotLoggedIn, match=r'MY_CO_API_KEY.*"auth": "none"'):
        require_credential(home.resolve(provider="my-co"))


def test_local_server_requiring_key_gets_no_placeholder(home: Home) -> None:
    home.write("models.json", {"providers": {"here": {"baseUrl": "http://127.0.0.1:9/v1", "auth": "key"}}})
    with pytest.raises(NotLoggedIn, match="HERE_API_KEY"):
        require_credential(home.resolve(provider="here", model="m"))


def test_a_server_without_keys_gets_none(home: Home) -> None:
    home.write("models.json", {"providers": {"lan": {"baseUrl": "http://10.0.0.9/v1", "auth": "none"}}})
    resolved = home.resolve(provider="lan", model="any")
    require_credential(resolved)
    assert endpoint(resolved).api_key == ""


def test_a_local_address_in_models_json_makes_the_key_optional(home: Home) -> None:
    home.write("models.json", {"providers": {"openai": {"models": [{"id": "m", "baseUrl": "http://127.0.0.1:9/v1"}]}}})
    assert endpoint(home.resolve(provider="openai", model="m")).api_key == "ollama"
    assert endpoint(home.resolve(OPENAI, provider="openai", model="m")).api_key == "sk-oa"


def test_a_login_with_openai_speaks_responses_at_its_own_address(home: Home) -> None:
    home.store.set_oauth("openai", OAuthToken(access_token="at", account_id="acc"))
    resolved = home.resolve(provider="openai")
    assert resolved.api == "openai-responses"
    found = endpoint(resolved)
    assert (found.oauth, found.account_id) == (True, "acc")
    assert found.base_url == "https://api.openai.com/v1"
    home.store.set_oauth("codex", OAuthToken(access_token="at", account_id="acc"))
    assert endpoint(home.resolve(provider="codex")).base_url == "https://chatgpt.com/backend-api/codex/responses"


def test_openai_key_uses_responses_only_at_openai(home: Home) -> None:
    """issue 30.4: servers that imitate OpenAI speak chat completions."""
    assert home.resolve(OPENAI, provider="openai").api == "openai-responses"
    assert home.resolve(OPENAI, provider="openai", base_url="https://gateway.example/v1").api == "openai"
    assert home.resolve({**OPENAI, "OPENAI_BASE_URL": "https://g.example"}, provider="openai").api == "openai"
    resolved = home.resolve(OPENAI, provider="openai-responses", model="gpt-5")
    assert (resolved.api, resolved.model.provider) == ("openai-responses", "openai-responses")
    assert endpoint(resolved).base_url == "https://api.openai.com/v1"


# -- script and clients -----------------------------------------------------------------------------------------


def test_scripted_model_plays_named_file_or_demo(home: Home) -> None:
    for typed in ({"provider": "script", "script": "s.json"}, {"script": "s.json"}):
        resolved = home.resolve(**typed)
        require_credential(resolved)
        assert (pair(resolved), resolved.endpoint, resolved.script) == (("script", "script"), None, "s.json")
    assert home.resolve(provider="script").script == str(DEMONSTRATION)
    with pytest.raises(UsageError, match="--script requires"):
        home.resolve(ANTHROPIC, provider="anthropic", script="s.json")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ({"provider": "anthropic"}, "anthropic"),
        ({"provider": "openai"}, "openai"),
        ({"provider": "openai-responses"}, "openai-responses"),
        ({"provider": "kimi"}, "kimi"),
        ({"provider": "ollama", "model": "m"}, "ollama"),
    ],
)
async def test_a_resolved_endpoint_becomes_a_client(home: Home, typed: dict[str, str], name: str) -> None:
    resolved = home.resolve(**typed, api_key="k")
    client = connect(endpoint(resolved), resolved.api)
    assert client.name == name
    await client.aclose()


async def test_a_script_becomes_a_client(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"turns": [{"text": "hi"}]}')
    client = ScriptedClient.load(path)
    assert client.name
    await client.aclose()


def test_command_line_is_shown_without_the_key() -> None:
    assert "s3cret" not in repr(ModelQuery(api_key="s3cret"))


# -- names of models --------------------------------------------------------------------------------------------


def test_alias_is_resolved_with_a_notice(home: Home) -> None:
    home.config(model_names={"fast": "claude-haiku-4-5", "smart": "openai/gpt-5"})
    fast, smart = home.resolve(ANTHROPIC, model="fast"), home.resolve(ANTHROPIC | OPENAI, model="smart")
    assert (pair(fast), fast.notices) == (("anthropic", "claude-haiku-4-5"), ["model: claude-haiku-4-5 (fast)"])
    assert (pair(smart), smart.notices) == (("openai", "gpt-5"), ["model: openai/gpt-5 (smart)"])


def test_alias_does_not_change_provider_flag(home: Home) -> None:
    home.config(model_names={"smart": "openai/gpt-5"})
    with pytest.raises(UsageError, match=r'"smart" is openai/gpt-5, which anthropic does not have; omit --provider'):
        home.resolve(ANTHROPIC, model="smart", provider="anthropic")


def test_alias_to_unknown_model_is_an_error_naming_target(home: Home) -> None:
    home.config(model_names={"fast": "claude-haiko-9"})
    with pytest.raises(UsageError, match=r'unknown model "claude-haiko-9".*did you mean claude-haiku-\d'):
        home.resolve(ANTHROPIC, model="fast")


def test_unique_part_of_model_id_is_resolved_with_a_notice(home: Home) -> None:
    """A part selects the one matching model, first among providers with a credential."""
    resolved = home.resolve(ANTHROPIC, model="opus41")
    assert (pair(resolved), resolved.notices) == (("anthropic", "claude-opus-4-1"), ["model: claude-opus-4-1 (opus41)"])


def test_a_part_of_several_ids_is_never_guessed_at(home: Home) -> None:
    with pytest.raises(UsageError, match=r'model "opus" is ambiguous: claude-opus-5-5, .*; type more of its id'):
        home.resolve(ANTHROPIC, model="opus")


def test_an_unknown_id_names_the_nearest_three(home: Home) -> None:
    with pytest.raises(UsageError, match=r"did you mean gpt-4\.1\S*, \S+ or \S+;"):
        home.resolve(OPENAI, provider="openai", model="gpt-4.2-minni")


def test_an_id_may_be_typed_with_its_provider(home: Home) -> None:
    resolved = home.resolve(ANTHROPIC | OPENAI, model="openai/gpt-5")
    assert (pair(resolved), resolved.notices) == (("openai", "gpt-5"), [])


def test_gateway_accepts_any_name(home: Home) -> None:
    resolved = home.resolve({"OPENROUTER_API_KEY": "k"}, provider="openrouter", model="openai/gpt-5")
    assert pair(resolved) == ("openrouter", "openai/gpt-5")
    home.config(provider="openrouter")
    assert pair(home.resolve({"OPENROUTER_API_KEY": "k"}, model="opus41")) == ("openrouter", "opus41")
