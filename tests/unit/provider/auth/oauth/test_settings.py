"""The oauth entry of a provider: accepted and rejected values, and a page that documents every field."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from zot.agent.system_prompt import docs_root
from zot.errors import ConfigError
from zot.provider.auth.oauth.settings import OAuthSettings, read_settings
from zot.provider.models_file import read_models_file
from zot.provider.providers import Provider, builtin_providers

ISSUER = {"issuer": "https://idp.example"}


def test_page_documents_every_field() -> None:
    page = (docs_root() / "reference/oauth.md").read_text()
    told = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(told) == sorted(OAuthSettings.__struct_fields__)


def test_scopes_may_be_one_string() -> None:
    assert read_settings({**ISSUER, "scopes": "openid  offline"}).scopes == ("openid", "offline")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "expected an issuer"),
        ({"issuer": "idp.example"}, "expected https"),
        ({"issuer": "https://user:pass@idp.example"}, "without a password"),
        ({"token_url": "http://idp.example/token"}, "expected https"),
        ({**ISSUER, "token_url": "javascript:x"}, "token_url"),
        ({**ISSUER, "redirect": "http://127.0.0.1.evil.example/cb"}, "expected an address on this machine"),
        ({**ISSUER, "redirect": "http://localhost:99999/cb"}, "expected an address on this machine"),
        ({**ISSUER, "redirect": "myapp://callback"}, "expected an address on this machine"),
        ({**ISSUER, "client_id": 7}, "client_id: expected"),
        ({**ISSUER, "scopes": 7}, "scopes"),
        ({**ISSUER, "clientId": "x"}, "clientId"),
        ({**ISSUER, "header": ": {token}"}, "header"),
    ],
)
def test_invalid_settings_are_rejected_with_reason(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_settings(fields)


def test_user_changes_a_row_or_adds_a_server(tmp_path: Path) -> None:
    entries = {
        "openai": {"oauth": {"client_id": "mine"}},
        "anthropic": {"oauth": {"issuer": "https://idp.example", "client_id": "mine"}},
    }
    path = tmp_path / "models.json"
    path.write_text(json.dumps({"providers": entries}))
    found = read_models_file(path)
    assert found.problems == []
    openai, anthropic = found.providers["openai"].oauth, found.providers["anthropic"].oauth
    shipped = builtin_providers()["openai"].oauth
    assert openai is not None
    assert shipped is not None
    assert (openai.client_id, openai.token_url, openai.redirect) == ("mine", shipped.token_url, shipped.redirect)
    assert anthropic is not None
    assert (anthropic.token_url, anthropic.extra, anthropic.token_body) == ("", {}, "form")


def test_nothing_secret_is_in_a_traceback() -> None:
    row = {**ISSUER, "client_secret": "s3cret"}
    assert "s3cret" not in f"{read_settings(row)!r} {Provider(id='x', name='X', api='openai', oauth_row=row)!r}"
