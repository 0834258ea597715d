"""The page a browser sees after the login: one sentence, no script, nothing from elsewhere."""

from __future__ import annotations

from html import escape

_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>zot</title><style>
body {{ background: #111; color: #ddd; font: 16px/1.5 ui-monospace, monospace; margin: 20vh auto; max-width: 40em;
  padding: 0 1em }}
</style></head><body><p>zot</p><p>{text}</p></body></html>
"""


def page(status: int, text: str) -> bytes:
    """The whole response; ``text`` may hold a server's words."""
    body = _PAGE.format(text=escape(text)).encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\n"
        "content-type: text/html; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\n"
        "cache-control: no-store\r\n"
        "content-security-policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
        "referrer-policy: no-referrer\r\n"
        "x-content-type-options: nosniff\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body
