"""Providers whose URL contains variables: requests and keys of the real program."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Refuse, Say

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
AMAZON = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": "s" * 40}


def run(zot: Zot, *args: str) -> Any:
    """With a key from the environment, at the scripted server."""
    return zot("-p", "hello", *args, "--base-url", zot.url, "--retries", "0", model=False)


@pytest.mark.parametrize(
    ("provider", "environment", "header", "value"),
    [
        ("google", {"GEMINI_API_KEY": "g-key"}, "x-goog-api-key", "g-key"),
        ("google", {"GOOGLE_API_KEY": "o-key"}, "x-goog-api-key", "o-key"),
        ("vertex", {"VERTEX_ACCESS_TOKEN": "ya29"}, "authorization", "Bearer ya29"),
        ("bedrock", {"AWS_BEARER_TOKEN_BEDROCK": "ABSKx"}, "authorization", "Bearer ABSKx"),
        ("bedrock", AMAZON, "authorization", "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/"),
        ("azure", {"AZURE_OPENAI_API_KEY": "az-key"}, "api-key", "az-key"),
        ("azure", {"AZURE_OPENAI_AD_TOKEN": "ey.token"}, "authorization", "Bearer ey.token"),
        ("azure-responses", {"AZURE_OPENAI_API_KEY": "az-key"}, "api-key", "az-key"),
    ],
)
def test_key_is_sent_in_the_providers_header(
    zot: Zot, serve: Any, provider: str, environment: dict[str, str], header: str, value: str
) -> None:
    server = serve([Say("hi there")])
    zot.environment |= environment
    ran = run(zot, "--provider", provider, *(["--model", "my-deployment"] if "azure" in provider else []))
    assert (ran.code, ran.out, ran.err) == (0, "hi there\n", "")
    (request,) = server.requests
    assert request.headers[header].startswith(value)
    assert SECRET not in request.body.decode() + json.dumps(request.headers)


@pytest.mark.parametrize(
    ("provider", "environment", "variable"),
    [
        ("bedrock", AMAZON, "AWS_REGION or AWS_DEFAULT_REGION"),
        ("azure", {"AZURE_OPENAI_API_KEY": "k"}, "AZURE_OPENAI_ENDPOINT"),
        ("vertex", {"VERTEX_ACCESS_TOKEN": "t"}, "GOOGLE_CLOUD_PROJECT"),
    ],
)
def test_a_variable_an_address_needs_is_named(
    zot: Zot, provider: str, environment: dict[str, str], variable: str
) -> None:
    zot.environment |= environment
    ran = zot("-p", "hello", "--provider", provider, "--model", "m")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (f"zot: {provider}: address needs {variable}; set it, or pass --base-url URL\n")


@pytest.mark.parametrize("provider", ["google", "bedrock"])
def test_the_signature_of_a_thought_survives_the_session_file(zot: Zot, serve: Any, provider: str) -> None:
    """A call is made with a thought, run, and gone on from in another process: the seal goes back each time."""
    zot.environment |= {"GEMINI_API_KEY": "g", "AWS_BEARER_TOKEN_BEDROCK": "b"}
    turn = CallTools([("bash", {"command": "echo hi"})], reasoning="I should look.", signature="c2VhbA==")
    server = serve([turn, Say("looked"), Say("again")])
    assert run(zot, "--provider", provider).out == "looked\n"
    assert run(zot, "--provider", provider, "--continue").out == "again\n"
    first, second, third = (request.body.decode() for request in server.requests)
    assert "c2VhbA==" not in first
    assert second.count("c2VhbA==") == third.count("c2VhbA==") == 1
    assert "echo hi" in second


def test_neither_key_nor_token_reaches_an_error(zot: Zot, serve: Any) -> None:
    zot.environment |= AMAZON
    told = f"cannot use {SECRET} with {'s' * 40} for AKIAIOSFODNN7EXAMPLE"
    serve([Refuse(403, {"message": told}, {"x-amzn-errortype": "AccessDeniedException:http://x"})])
    ran = run(zot, "--provider", "bedrock")
    assert ran.code == 1 and ran.err.startswith("zot: bedrock: http 403: cannot use ***")
    assert SECRET not in ran.err and "s" * 12 not in ran.err


EXPIRED = Refuse(403, {"message": "The security token is expired"}, {"x-amzn-errortype": "ExpiredTokenException"})
UNKNOWN = Refuse(401, {"error": {"code": 401, "message": "invalid credentials", "status": "UNAUTHENTICATED"}})


@pytest.mark.parametrize(
    ("provider", "keys", "refusal"),
    [
        ("vertex", ("ya29-first", "ya29-second"), UNKNOWN),
        ("bedrock", ("ASIAFIRSTFIRSTFIRST0:one:a", "ASIASECONDSECOND0000:two:b"), EXPIRED),
    ],
)
def test_expired_key_is_fetched_again_once_after_rejection(
    zot: Zot, serve: Any, provider: str, keys: tuple[str, str], refusal: Refuse
) -> None:
    """The program prints another key each time it runs; a third one would be refused like the second."""
    printer = zot.home / "printer"
    printer.write_text(
        f"#!/bin/sh\nif [ -e {zot.home}/ran ]; then echo {keys[1]}; else touch {zot.home}/ran; echo {keys[0]}; fi\n"
    )
    printer.chmod(0o755)
    (zot.home / "zot").mkdir()
    settings = {"api_key_command": {provider: {"program": str(printer)}}}
    (zot.home / "zot" / "config.json").write_text(json.dumps(settings))
    server = serve([refusal, Say("hi there"), refusal, refusal])
    ran = run(zot, "--provider", provider)
    assert (ran.code, ran.out) == (0, "hi there\n"), ran.err
    shown = [request.headers["authorization"] for request in server.requests]
    assert [key.partition(":")[0] in header for key, header in zip(keys, shown, strict=True)] == [True, True]
    ran = run(zot, "--provider", provider)
    assert ran.code == 1 and len(server.requests) == 3, "the same key again is not tried again"
