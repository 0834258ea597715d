"""A web search for the model. The key is a secret setting: zot stores it, and this process asks for it.

zot ext set web-search key            # type the key
zot ext set web-search url https://…  # another service with the same answers
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from zot.ext import Context, Extension, RequestError, ToolResult, line, view

MOST = 8
ext = Extension("web-search", "1.0.0")


@ext.tool(timeout_s=30, guidelines=["Name the address of each page whose text you use."])
def web_search(query: str, ctx: Context) -> ToolResult:
    """Search the web; returns titles, addresses and excerpts."""
    try:
        key = ctx.secret("key")["value"]
    except RequestError as error:
        return ctx.error(f"no key: {error}")
    ctx.progress(f"searching {query}")
    request = Request(f"{ext.settings['url']}?{urlencode({'q': query, 'count': MOST})}")
    request.add_header("X-Subscription-Token", key)
    request.add_header("Accept", "application/json")
    try:
        with urlopen(request, timeout=20) as response:
            found = json.load(response)
    except (OSError, ValueError) as error:
        return ctx.error(f"the search failed: {error}")
    pages: list[dict[str, Any]] = found.get("web", {}).get("results", [])[:MOST]
    text = "\n\n".join(f"{page['title']}\n{page['url']}\n{page.get('description', '')}" for page in pages)
    rows = [line((page["title"], "bold"), "  ", (page["url"], "link")) for page in pages]
    return ctx.result(text or "nothing found", view=view(rows[:3], expanded=rows, title=f"{len(pages)} pages"))


if __name__ == "__main__":
    ext.run()
