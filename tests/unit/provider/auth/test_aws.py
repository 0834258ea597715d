"""Where Amazon's keys come from."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from zot.provider.auth.auth_store import AuthStore
from zot.provider.auth.aws import AwsKey, access_key, signed
from zot.provider.auth.credential_lookup import Credential, find_credential, has_credential
from zot.provider.discovery import targets
from zot.provider.http.message import HttpRequest
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


def test_bearer_key_precedes_environment_precedes_profile(home: Path) -> None:
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
def test_profile_without_a_key_is_not_a_credential(home: Path, environ: dict[str, str]) -> None:
    assert not has_credential(BEDROCK, AuthStore(home / "zot"), {"HOME": str(home), **environ})


def test_incomplete_key_is_not_a_credential(tmp_path: Path) -> None:
    assert found(tmp_path, AWS_ACCESS_KEY_ID="AKIAIOSFODNN7EXAMPLE") is None


@pytest.mark.parametrize("content", [b"\xff\xfe[default", b"[default]\n=\n==\n[", b"aws_access_key_id = x\n" * 100])
def test_a_broken_file_has_no_key(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_bytes(content)
    assert found(tmp_path) is None


def test_files_may_be_at_configured_paths(home: Path, tmp_path: Path) -> None:
    place = tmp_path / "keys"
    place.write_text("[default]\naws_access_key_id=AKIAELSEWHEREELSE000\naws_secret_access_key=x\n")
    elsewhere = found(home, AWS_SHARED_CREDENTIALS_FILE=str(place))
    assert elsewhere is not None and elsewhere.key == "AKIAELSEWHEREELSE000:x"


def test_region_of_environment_precedes_profile(home: Path) -> None:
    at_home = {"HOME": str(home)}
    assert base_url_of(BEDROCK, at_home) == "https://bedrock-runtime.eu-west-3.amazonaws.com"
    assert base_url_of(BEDROCK, at_home | {"AWS_PROFILE": "work"}) == "https://bedrock-runtime.us-west-2.amazonaws.com"
    named = at_home | {"AWS_REGION": "ca-central-1"}
    assert base_url_of(BEDROCK, named) == "https://bedrock-runtime.ca-central-1.amazonaws.com"
    assert missing_in_address(BEDROCK, {"HOME": "/nowhere"}) == "AWS_REGION or AWS_DEFAULT_REGION"


def test_cloud_key_is_used_for_discovery_only_if_active(home: Path) -> None:
    store, environ = AuthStore(home / "zot"), {"HOME": str(home), **KEYS}
    assert targets([BEDROCK], store, environ) == []
    assert [target.provider.id for target in targets([BEDROCK], store, environ, in_use="bedrock")] == ["bedrock"]


# Amazon's signature: its published test vectors, and its own SDK's signer beside ours.

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
MOMENT = datetime.datetime(2015, 8, 30, 12, 36, tzinfo=datetime.UTC)
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx"
    "7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d"
    "+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)
FORM = [("content-type", "application/x-www-form-urlencoded")]
UNRESERVED = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    ("method", "target", "headers", "body", "token", "signature"),
    [
        ("GET", "/", [], b"", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", "/", [], b"", "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            "GET",
            "/?Param2=value2&Param1=value1",
            [],
            b"",
            "",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        ("GET", f"/{UNRESERVED}", [], b"", "", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
        ("POST", "/", FORM, b"Param1=value1", "", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
        ("POST", "/", [], b"", TOKEN, "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
    ],
    ids=["get-vanilla", "post-vanilla", "query-order", "unreserved", "form", "sts-token"],
)
def test_the_published_vectors(
    method: str, target: str, headers: list[tuple[str, str]], body: bytes, token: str, signature: str
) -> None:
    request = HttpRequest(method, f"https://example.amazonaws.com{target}", headers, body)
    made = signed(request, AwsKey("AKIDEXAMPLE", SECRET, token), "us-east-1", "service", MOMENT.timestamp())
    assert dict(made.headers)["authorization"].endswith(f"Signature={signature}")


@pytest.mark.parametrize("token", ["", "session/token+=="])
@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        (
            "POST",
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.anthropic.claude-v1%3A0/converse-stream",
            b'{"messages":[]}',
        ),
        ("POST", "http://localhost:8123/model/arn%3Aaws%3Ax%2Fy/converse-stream", "é€".encode()),
        (
            "GET",
            "https://bedrock.eu-west-1.amazonaws.com/inference-profiles?maxResults=1000&nextToken=a%2Fb%3D%3D",
            b"",
        ),
        ("GET", "https://bedrock.eu-west-1.amazonaws.com/foundation-models", b""),
    ],
)
def test_amazon_s_own_signer_gives_the_same(method: str, url: str, body: bytes, token: str) -> None:
    headers = [("content-type", "application/json"), ("accept", "*/*"), ("user-agent", "zot/1")]
    ours = dict(
        signed(
            HttpRequest(method, url, headers, body),
            AwsKey("AKIA", SECRET, token),
            "eu-west-1",
            "bedrock",
            MOMENT.timestamp(),
        ).headers
    )
    theirs: Any = AWSRequest(method, url, data=body, headers={"content-type": "application/json"})
    with mock.patch("botocore.auth.get_current_datetime", return_value=MOMENT.replace(tzinfo=None)):
        SigV4Auth(Credentials("AKIA", SECRET, token or None), "bedrock", "eu-west-1").add_auth(theirs)
    assert ours["authorization"] == theirs.headers["Authorization"]
    assert ours["x-amz-date"] == theirs.headers["X-Amz-Date"]
    assert ours.get("x-amz-security-token", "") == token
    assert urlsplit(url).netloc


def test_signing_again_takes_the_place_of_the_first_signature() -> None:
    request = HttpRequest("GET", "https://a.amazonaws.com/", [("accept", "*/*")], b"")
    key = AwsKey("AKIA", SECRET, "t")
    once = signed(request, key, "r", "s", 1.0)
    assert signed(once, key, "r", "s", 1.0) == once


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("AKIAIOSFODNN7EXAMPLE:abc/+", AwsKey("AKIAIOSFODNN7EXAMPLE", "abc/+")),
        ("ASIAIOSFODNN7EXAMPLE:abc:to:ken", AwsKey("ASIAIOSFODNN7EXAMPLE", "abc", "to:ken")),
        ("ABSKQmVkcm9ja0FQSUtleS1hYmNk", None),
        ("bedrock-api-key-abc:def", None),
        ("AKIAIOSFODNN7EXAMPLE:", None),
        ("AKIA:secret", None),
        ("", None),
    ],
)
def test_access_key_format_is_recognised(text: str, key: AwsKey | None) -> None:
    assert access_key(text) == key


def test_the_secret_is_not_shown() -> None:
    assert SECRET not in repr(AwsKey("AKIA", SECRET, TOKEN))
    assert TOKEN not in repr(AwsKey("AKIA", SECRET, TOKEN))
