"""Where Amazon's keys come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.provider.auth.auth_store import AuthStore
from zot.provider.auth.credential_lookup import Credential, find_credential, has_credential
from zot.provider.discovery import targets
from zot.provider.providers import base_url_of, builtin_providers, missing_in_address

BEDROCK = builtin_providers()["bedrock"]
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory with two profiles; its ``zot`` is zot's."""
    aws = tmp_path / ".aws"
    aws.mkdir()
    (aws / "credentials").write_text(
        "# mine\n[default]\naws_access_key_id = AKIADEFAULTDEFAULT00\naws_secret_access_key=one\n\n"
        "[work]\naws_access_key_id=ASIAWORKWORKWORK0000\naws_secret_access_key = two==\naws_session_token = t/o\n"
    )
    (aws / "config").write_text(
        "[default]\nregion = eu-west-3\ns3 =\n    region = no\n[profile work]\nregion=us-west-2\n"
        "[profile sso]\nsso_session = x\n"
    )
    return tmp_path


def found(home: Path, **environ: str) -> Credential | None:
    return find_credential(BEDROCK, AuthStore(home / "zot"), {"HOME": str(home), **environ})


def test_a_bearer_key_comes_first_then_the_environment_then_the_profile(home: Path) -> None:
    assert found(home, AWS_BEARER_TOKEN_BEDROCK="ABSK", **KEYS) == Credential("ABSK", source="env")
    assert found(home, **KEYS) == Credential("AKIAIOSFODNN7EXAMPLE:secret", source="env")
    with_token = found(home, **KEYS, AWS_SESSION_TOKEN="t")
    assert with_token is not None and with_token.key == "AKIAIOSFODNN7EXAMPLE:secret:t"
    assert found(home) == Credential("AKIADEFAULTDEFAULT00:one", source="file")
    assert found(home, AWS_PROFILE="work") == Credential("ASIAWORKWORKWORK0000:two==:t/o", source="file")


def test_a_stored_key_and_a_key_command_come_before_the_profile(home: Path) -> None:
    store = AuthStore(home / "zot")
    store.set_api_key("bedrock", "ABSKstored")
    stored = find_credential(BEDROCK, store, {"HOME": str(home)})
    assert stored is not None and stored.key == "ABSKstored"


@pytest.mark.parametrize("environ", [{"AWS_PROFILE": "sso"}, {"AWS_PROFILE": "gone"}, {"HOME": "/nowhere"}])
def test_a_profile_without_a_key_is_no_credential(home: Path, environ: dict[str, str]) -> None:
    assert not has_credential(BEDROCK, AuthStore(home / "zot"), {"HOME": str(home), **environ})


def test_half_a_key_is_none(tmp_path: Path) -> None:
    assert found(tmp_path, AWS_ACCESS_KEY_ID="AKIAIOSFODNN7EXAMPLE") is None


@pytest.mark.parametrize("content", [b"\xff\xfe[default", b"[default]\n=\n==\n[", b"aws_access_key_id = x\n" * 100])
def test_a_broken_file_has_no_key(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_bytes(content)
    assert found(tmp_path) is None


def test_files_may_be_elsewhere(home: Path, tmp_path: Path) -> None:
    place = tmp_path / "keys"
    place.write_text("[default]\naws_access_key_id=AKIAELSEWHEREELSE000\naws_secret_access_key=x\n")
    elsewhere = found(home, AWS_SHARED_CREDENTIALS_FILE=str(place))
    assert elsewhere is not None and elsewhere.key == "AKIAELSEWHEREELSE000:x"


def test_the_region_is_that_of_the_environment_then_of_the_profile(home: Path) -> None:
    at_home = {"HOME": str(home)}
    assert base_url_of(BEDROCK, at_home) == "https://bedrock-runtime.eu-west-3.amazonaws.com"
    assert base_url_of(BEDROCK, at_home | {"AWS_PROFILE": "work"}) == "https://bedrock-runtime.us-west-2.amazonaws.com"
    named = at_home | {"AWS_REGION": "ca-central-1"}
    assert base_url_of(BEDROCK, named) == "https://bedrock-runtime.ca-central-1.amazonaws.com"
    assert missing_in_address(BEDROCK, {"HOME": "/nowhere"}) == "AWS_REGION or AWS_DEFAULT_REGION"


def test_a_cloud_s_key_is_not_used_for_discovery_unless_it_is_in_use(home: Path) -> None:
    store, environ = AuthStore(home / "zot"), {"HOME": str(home), **KEYS}
    assert targets([BEDROCK], store, environ) == []
    assert [target.provider.id for target in targets([BEDROCK], store, environ, in_use="bedrock")] == ["bedrock"]
