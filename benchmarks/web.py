"""What reading a page costs: CPU time of this process and of the converter's, for a page of 1 MB."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row
from tests.fakes.page_server import FakePages, page
from zot.agent.tools.workspace import Workspace
from zot.features.web.addresses import AddressPolicy
from zot.features.web.client import WebClient
from zot.features.web.conversion import page_of
from zot.features.web.untrusted import mark_untrusted
from zot.provider.http.pool import HttpPool

ROUNDS = 7
PART = (
    '<h2 class="head">Title</h2><p>Some <a href="/x/y?z=1">text with a link</a> and <b>bold</b> and '
    "<code>code()</code> &amp; more of it, as pages have.</p><ul><li>one</li><li>two <i>2</i></li></ul><table><tr><th>a"
    "</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><pre><code>def f():\n    return 1\n</code></pre>"
)


def rows() -> Iterator[Row]:
    seconds = [asyncio.run(fetch()) for _ in range(ROUNDS)]
    yield Row("web_fetch of a page of 1 MB: CPU", min(seconds) * 1000, 300, "ms", note="the converter's included")


async def fetch() -> float:
    """CPU seconds of one fetch; those of the server, which sends one block, are in it."""
    body = f"<html><head><title>T</title></head><body>{PART * (1_000_000 // len(PART))}</body></html>"
    pool = HttpPool(environ={})

    async def approve(other: str) -> None: ...

    async with FakePages({"/": page(body)}) as server:
        before = _cpu()
        found = await WebClient(pool, AddressPolicy(("127.0.0.1",)), 30).fetch(f"{server.url}/", approve)
        made = await page_of(found, Workspace(Path.cwd()))
        mark_untrusted(made.text[:40_000], made.address)
        spent = _cpu() - before
    await pool.aclose()
    assert len(made.text) > 300_000
    return spent


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
