"""Amazon's signature: its published test vectors, and its own SDK's signer beside ours."""

from __future__ import annotations

import datetime
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from zot.provider.auth.sigv4 import AwsKey, access_key, signed
from zot.provider.http.message import HttpRequest

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
def test_what_an_access_key_looks_like(text: str, key: AwsKey | None) -> None:
    assert access_key(text) == key


def test_the_secret_is_not_shown() -> None:
    assert SECRET not in repr(AwsKey("AKIA", SECRET, TOKEN))
    assert TOKEN not in repr(AwsKey("AKIA", SECRET, TOKEN))
