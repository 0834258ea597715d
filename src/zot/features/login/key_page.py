"""The page that asks for an API key: what stands on it, before and after."""

from __future__ import annotations

from html import escape

from zot.provider.auth.browser_pages import response

_FORM = """\
<p>Paste your API key. zot tries it once with <strong>{name}</strong> and then stores it {place}.</p>
{refused}
<form method="post" action="/apikey" autocomplete="off">
<input type="hidden" name="provider" value="{provider}">
<input type="hidden" name="token" value="{token}">
<label for="key">{label}</label>
<input id="key" name="api_key" type="password" required autofocus spellcheck="false" autocapitalize="off"
 autocomplete="off" data-1p-ignore data-lpignore="true">
<button>Check and save</button>
</form>
{more}
<footer>This page comes from zot on your own machine, works once, and closes with the login. You can paste the key in
the terminal, too.</footer>
"""


class KeyForm:
    """What the form says. ``place`` completes "stores it …"; ``keys_url`` is where the provider gives keys out."""

    def __init__(self, provider: str, name: str, *, account: str, place: str, keys_url: str = "") -> None:
        self.provider = provider
        self.name = name
        self.account = account
        self.place = place
        self.keys_url = keys_url

    def page(self, token: str, *, refused: str = "", cookie: str = "") -> bytes:
        """``refused`` is what was wrong with the key before; the key itself is never sent back."""
        trouble = f'<p class="bad" role="alert"><b>Nothing was stored.</b>{escape(refused)}</p>' if refused else ""
        label = "API key" + (f" for the account {self.account}" if self.account else "")
        link = f'<a href="{escape(self.keys_url)}" rel="noreferrer" target="_blank">{escape(_host(self.keys_url))}</a>'
        body = _FORM.format(
            name=escape(self.name),
            place=escape(self.place),
            refused=trouble,
            provider=escape(self.provider),
            token=escape(token),
            label=escape(label),
            more=f'<p class="small">No key yet? {escape(self.name)} gives them out at {link}.</p>'
            if self.keys_url
            else "",
        )
        return response(400 if refused else 200, f"Log in to {self.name}", body, cookie=cookie)

    def stored(self) -> bytes:
        """The last page."""
        body = (
            f"<p><strong>{escape(self.name)}</strong> took the key, and it is stored {escape(self.place)}.</p>"
            "<p>You can close this page and go back to the terminal.</p>"
        )
        return response(200, "You are logged in", body)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
