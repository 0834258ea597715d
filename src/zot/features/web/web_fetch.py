"""Runs ``web_fetch``: a page from the cache or the web, one part of it at a time, marked as untrusted."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.features.web.client import WebClient, host_of, parse_address_of_page
from zot.features.web.conversion import Page, page_of
from zot.features.web.side_call import extract, small_model
from zot.features.web.untrusted import clean_text, mark_untrusted

if TYPE_CHECKING:
    from zot.features.web.feature import WebFeature

PART_CHARACTERS = 40_000
_EXTRACTED_CHARACTERS = 180_000
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,60}")
_ERROR_CHARACTERS = 2_000
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")
_NO_SMALL = 'The page was not reduced to the prompt: no small model is set ("models": {"small": …} in config.json).'


async def web_fetch(feature: WebFeature, args: dict[str, Any], context: ToolContext) -> ToolResult:
    address, offset, prompt = _arguments(args)
    feature.require_network("web_fetch")
    parse_address_of_page(address)
    page = feature.shared.cache.get(address)
    is_cached = page is not None
    if page is None:
        context.progress(f"fetching {host_of(address)}")
        page = await _page(feature, address, context)
        if page.status < 300:
            feature.shared.cache.put(address, page)
    body = await _body(feature, page, offset, prompt)
    details = {
        "host": host_of(page.address),
        "url": page.address,
        "status": page.status,
        "bytes": page.size,
        "cached": is_cached,
    }
    return text_result("\n".join([*_head(page, is_cached), *body]), is_error=page.status >= 300, details=details)


def _arguments(args: dict[str, Any]) -> tuple[str, int, str]:
    address, offset, prompt = args.get("url"), args.get("offset", 0), args.get("prompt", "")
    if not isinstance(address, str) or not address.strip():
        raise ToolError("web_fetch: 'url' is required: https://HOST/PATH")
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise ToolError("web_fetch: offset: expected a number of characters from 0")
    if not isinstance(prompt, str):
        raise ToolError("web_fetch: prompt: expected text")
    address = address.strip()
    if "://" not in address and _SCHEME.match(address):  # file:/etc/hosts is no host and port
        raise ToolError(f"web_fetch: {address[:60]!r} cannot be read: expected https://HOST/PATH")
    return (address if "://" in address else f"https://{address}"), offset, prompt.strip()


async def _page(feature: WebFeature, address: str, context: ToolContext) -> Page:
    conversation = feature.conversation

    async def approve(other: str) -> None:
        context.progress(f"redirected to {host_of(other)}")
        await feature.approve_redirect(context.call, other, context.origin)

    client = WebClient(conversation.pool, feature.shared.policy, conversation.settings.values.web_timeout_s)
    fetched = await client.fetch(address, approve)
    return await page_of(fetched, conversation.workspace)


def _head(page: Page, is_cached: bool) -> list[str]:
    """Outside the markers, so nothing here is the server's own wording except addresses."""
    found = _MEDIA_TYPE.match(page.content_type)
    kind = found[0] if found else "unknown type"
    state = f"http {page.status} {_PHRASES.get(page.status, '')}".strip() + ", " if page.status != 200 else ""
    lines = [f"{page.address} ({state}{kind}, {page.size:,} bytes{', cached' * is_cached})"]
    if len(page.addresses) > 1:
        lines.append("Redirected: " + " -> ".join(each[:300] for each in page.addresses))
    return [*(clean_text(line).replace("\n", " ") for line in lines), *page.notes]


async def _body(feature: WebFeature, page: Page, offset: int, prompt: str) -> list[str]:
    if page.status >= 300:
        text = page.text[:_ERROR_CHARACTERS]
        return [mark_untrusted(text, page.address)] if text.strip() else []
    if not page.text.strip():
        return ["The page has no text. It may need JavaScript, which web_fetch does not run."]
    model = await small_model(feature.conversation) if prompt else None
    if model is not None:
        whole = await asyncio.to_thread(mark_untrusted, page.text[:_EXTRACTED_CHARACTERS], page.address)
        found = await extract(feature.conversation, model, prompt, whole)
        return [f"Answer of {found.model} about the page:", mark_untrusted(found.text, page.address)]
    return [*([_NO_SMALL] if prompt else []), *_part(page, offset)]


def _part(page: Page, offset: int) -> list[str]:
    total = len(page.text)
    if offset >= total:
        raise ToolError(f"web_fetch: offset {offset:,} is behind the end: the page has {total:,} characters")
    end = _end_of_part(page.text, offset)
    text = page.text[offset:end]
    title = f"# {page.title}\n\n" if page.title and not offset and page.title not in text[:2_000] else ""
    lines = [mark_untrusted(title + text, page.address)]
    if offset or end < total:
        more = f"; continue with offset {end}" if end < total else ""
        lines.append(f"[characters {offset} to {end} of {total}{more}]")
    return lines


def _end_of_part(text: str, offset: int) -> int:
    """At a line end if one is near."""
    end = offset + PART_CHARACTERS
    if end >= len(text):
        return len(text)
    near = text.rfind("\n", end - 2_000, end)
    return end if near < 0 else near + 1
