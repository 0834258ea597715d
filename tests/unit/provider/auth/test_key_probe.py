"""A key is tried against a real server before it is stored."""

from __future__ import annotations

import msgspec
import pytest

from tests.fakes.web import FakeWeb
from zot.errors import AuthFailed, Overloaded, ProviderError, TransportFailed
from zot.provider.dialects.dialect import Endpoint
from zot.provider.discovery import probe_key, refusal
from zot.provider.http.pool import HttpPool
from zot.provider.providers import Provider, builtin_providers

PROVIDERS = builtin_providers()

KEY = "sk-secret-0123456789"
NOBODY = "http://127.0.0.1:9"


def provider(url: str, name: str = "openai") -> Provider:
    return msgspec.structs.replace(PROVIDERS[name], base_url=url, base_url_env="")


async def probe(answer: tuple[int, str], name: str = "openai") -> list[str]:
    pool = HttpPool(environ={})
    try:
        with FakeWeb({"/v1/models": answer}) as web:
            await probe_key(pool, provider(web.url, name), Endpoint(provider=name, base_url=web.url, api_key=KEY))
            return web.asked
    finally:
        await pool.aclose()


@pytest.mark.parametrize("name", ["openai", "anthropic", "kimi"])
async def test_a_key_that_is_taken_raises_nothing(name: str) -> None:
    assert await probe((200, "{}"), name) == ["/v1/models"]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_named_by_its_status_and_never_shown(status: int) -> None:
    with pytest.raises(AuthFailed) as caught:
        await probe((status, f"bad key {KEY}"))
    assert KEY not in str(caught.value)
    assert refusal(caught.value) == f"openai refused this key (http {status}): bad key ***"


async def test_rejection_has_the_provider_message() -> None:
    with pytest.raises(AuthFailed) as caught:
        await probe((401, '{"error": {"message": "invalid x-api-key"}}'))
    assert refusal(caught.value) == "openai refused this key (http 401): invalid x-api-key"
    with pytest.raises(AuthFailed) as caught:
        await probe((401, ""))
    assert refusal(caught.value) == "openai refused this key (http 401)"


async def test_other_failure_has_its_status() -> None:
    with pytest.raises(Overloaded, match="http 500"):
        await probe((500, "oops"))


async def test_empty_key_makes_no_request() -> None:
    with pytest.raises(AuthFailed, match="empty"):
        await probe_key(
            HttpPool(environ={}), provider(NOBODY), Endpoint(provider="openai", base_url=NOBODY, api_key="  ")
        )


async def test_a_provider_that_does_not_answer_is_a_failure() -> None:
    with pytest.raises(TransportFailed) as caught:
        await probe_key(
            HttpPool(environ={}), provider(NOBODY), Endpoint(provider="openai", base_url=NOBODY, api_key=KEY)
        )
    assert isinstance(caught.value, ProviderError) and KEY not in refusal(caught.value)


@pytest.mark.parametrize("status", [404, 405])
async def test_custom_url_without_model_list_does_not_reject_key(status: int) -> None:
    pool = HttpPool(environ={})
    try:
        with FakeWeb({"/v1/models": (status, "no such thing")}) as web:
            await probe_key(pool, provider(NOBODY), Endpoint(provider="openai", base_url=web.url, api_key=KEY))
            assert web.asked == ["/v1/models"]
    finally:
        await pool.aclose()
    with pytest.raises(ProviderError, match=f"http {status}"):
        await probe((status, "no such thing"))


async def test_key_rejected_at_one_url_may_work_at_the_other() -> None:
    """A key of the Moonshot platform is refused by Kimi's coding address."""
    pool = HttpPool(environ={})
    try:
        with FakeWeb({"/v1/models": (401, "no")}) as coding, FakeWeb({"/v1/models": (200, "{}")}) as platform:
            kimi = msgspec.structs.replace(provider(coding.url, "kimi"), other_key_url=platform.url)
            await probe_key(pool, kimi, Endpoint(provider="kimi", base_url=coding.url, api_key=KEY))
            assert (coding.asked, platform.asked) == (["/v1/models"], ["/v1/models"])
            with pytest.raises(AuthFailed):  # an address of the user's own stands for itself
                elsewhere = msgspec.structs.replace(kimi, base_url=NOBODY)
                await probe_key(pool, elsewhere, Endpoint(provider="kimi", base_url=coding.url, api_key=KEY))
    finally:
        await pool.aclose()
