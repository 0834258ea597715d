"""One hook that is a request: the event's JSON is sent with POST, the body of a 2xx answer is the hook's output.
``$NAME`` in a header is replaced only for names in ``allowedEnvVars``, and never by a key of a model provider."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

from zot import __version__
from zot.errors import ZotError
from zot.features.hooks.config import Hook
from zot.features.hooks.hook_process import MOST_BYTES, HookResult
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_CONNECT_S = 15.0


async def send_hook(pool: HttpPool, hook: Hook, given: bytes, env: Mapping[str, str]) -> HookResult:
    """Send the request and wait for its answer; redirects are failures."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return env.get(name, "") if name in hook.variables else ""

    own = {"content-type": "application/json", "user-agent": f"zot/{__version__}"}
    headers = {**own, **{name.lower(): _VARIABLE.sub(value, text) for name, text in hook.headers}}
    try:
        async with asyncio.timeout(hook.timeout_s):
            request = HttpRequest("POST", hook.url, list(headers.items()), given)
            response = await pool.dispatch(request, connect_timeout=_CONNECT_S)
            body = await response.read(MOST_BYTES + 1)
    except TimeoutError:
        return HookResult(failure=f"timed out after {hook.timeout_s:g} s")
    except (ZotError, ValueError) as error:
        return HookResult(failure=f"cannot send: {error}")
    if not 200 <= response.status < 300:
        return HookResult(failure=f"http {response.status}")
    text = body[:MOST_BYTES].decode("utf-8", "replace")
    return HookResult(0, text, cut=len(body) > MOST_BYTES)
