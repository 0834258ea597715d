"""HTML pages of a login, without scripts or external resources.
All values are escaped here, and the headers forbid framing, other addresses and caching."""

from __future__ import annotations

from html import escape

_REASONS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
}

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'"
)

_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E"
    "%3Crect width='32' height='32' rx='8' fill='%23176f5d'/%3E"
    "%3Cpath d='M10 10h12L10 22h12' fill='none' stroke='white' stroke-width='3' stroke-linecap='round' "
    "stroke-linejoin='round'/%3E%3C/svg%3E"
)

_STYLE = """
:root { color-scheme: light dark; --bg: #f4f5f3; --card: #fff; --fg: #1d2422; --soft: #5b6663; --line: #d9dedb;
  --accent: #176f5d; --on-accent: #fff; --bad: #a3271c; --bad-bg: #fdf0ee; --ring: #176f5d40 }
@media (prefers-color-scheme: dark) {
  :root { --bg: #101413; --card: #181e1c; --fg: #e7ecea; --soft: #9aa6a2; --line: #2e3835;
    --accent: #6fd0b8; --on-accent: #0b1512; --bad: #ff9d92; --bad-bg: #2d1917; --ring: #6fd0b840 }
}
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--bg);
  color: var(--fg); font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere }
main { width: 100%; max-width: 27rem; background: var(--card); border: 1px solid var(--line); border-radius: 16px;
  padding: 2.2rem 2.2rem 1.8rem }
.mark { display: block; width: 36px; height: 36px; margin-bottom: 1.4rem }
h1 { font-size: 1.35rem; line-height: 1.3; font-weight: 600; margin: 0 0 .5rem; letter-spacing: -.01em }
p { margin: 0 0 1rem; color: var(--soft) } p strong { color: var(--fg); font-weight: 600 }
label { display: block; font-size: .85rem; font-weight: 600; margin: 1.4rem 0 .4rem }
input { width: 100%; font: .95rem/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: var(--fg);
  background: var(--bg); border: 1px solid var(--line); border-radius: 10px; padding: .7rem .85rem }
input:focus, button:focus-visible, a:focus-visible { outline: 3px solid var(--ring); outline-offset: 1px;
  border-color: var(--accent) }
button { width: 100%; margin-top: 1rem; font: 600 1rem/1.4 system-ui, sans-serif; color: var(--on-accent);
  background: var(--accent); border: 0; border-radius: 10px; padding: .7rem; cursor: pointer }
button:hover { filter: brightness(1.06) }
.bad { color: var(--bad); background: var(--bad-bg); border-radius: 10px; padding: .7rem .85rem; margin: 1.2rem 0 0 }
.bad b { display: block; font-weight: 600 }
.small { font-size: .85rem; margin: 1.4rem 0 0 } a { color: var(--accent) }
footer { border-top: 1px solid var(--line); margin-top: 1.5rem; padding-top: 1rem; font-size: .8rem;
  color: var(--soft) }
"""

_SHELL = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="{icon}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<svg class="mark" viewBox="0 0 32 32" role="img" aria-label="zot"><rect width="32" height="32" rx="8" fill="#176f5d"/>
<path d="M10 10h12L10 22h12" fill="none" stroke="white" stroke-width="3" stroke-linecap="round"
 stroke-linejoin="round"/></svg>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""


def response(status: int, title: str, body: str, *, cookie: str = "") -> bytes:
    """The whole response. ``body`` is HTML from here; ``title`` is text."""
    html = _SHELL.format(icon=_ICON, title=escape(title), style=_STYLE, body=body).encode()
    head = [
        f"HTTP/1.1 {status} {_REASONS[status]}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(html)}",
        f"Content-Security-Policy: {_POLICY}",
        "Cache-Control: no-store",
        "Referrer-Policy: same-origin",  # `no-referrer` would hide the origin of a form
        "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY",
        "Cross-Origin-Opener-Policy: same-origin",
        "Cross-Origin-Resource-Policy: same-origin",
        "Connection: close",
        *([f"Set-Cookie: {cookie}"] if cookie else []),
    ]
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + html


def sentence(status: int, title: str, text: str) -> bytes:
    return response(status, title, f"<p>{escape(text)}</p>")
