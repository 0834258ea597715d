"""Loopback server of the key page; accepts one key from one browser.
Any web page can send requests here, so Host and Origin are checked, a cookie binds the first browser, and each form
works once."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from html import escape
from types import TracebackType
from urllib.parse import urlencode

from zot.errors import ZotError
from zot.provider.auth.browser_pages import response, sentence
from zot.provider.http.incoming import HEAD_LIMIT, BodyTooLarge, IncomingRequest, is_same, read_fields, read_request

LIFE_S = 600.0

_BODY_LIMIT = 16 * 1024
_REQUEST_S = 15.0
_VISITORS = 16  # concurrent connections
_LAST_WORDS_S = 2.0  # for the browser to load the last page

Accept = Callable[[str], Awaitable[None]]  # tests and stores a key; ZotError if rejected


class PageServer:
    """Use as an async context manager. ``taken`` is done once a key was accepted and the page was sent."""

    def __init__(self, form: KeyForm, accept: Accept) -> None:
        self._form = form
        self._accept = accept
        self._url_token = secrets.token_urlsafe(24)
        self._form_token = ""
        self._browser = ""  # the cookie of the browser that opened the address
        self._trying = asyncio.Lock()
        self._visits: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0
        self.taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> PageServer:
        try:
            self._server = await asyncio.start_server(self._visited, "127.0.0.1", 0, limit=HEAD_LIMIT)
        except OSError as error:
            raise ZotError(f"cannot open a login page on this machine: {error.strerror or error}") from error
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        if self._visits and error is None:
            await asyncio.wait(self._visits, timeout=_LAST_WORDS_S)
        for visit in list(self._visits):
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)
        self.taken.cancel()

    @property
    def url(self) -> str:
        query = urlencode({"provider": self._form.provider, "token": self._url_token})
        return f"http://127.0.0.1:{self.port}/apikey?{query}"

    # --- one request

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visits.add(task)
        try:
            if len(self._visits) <= _VISITORS:
                writer.write(await self._answer_to(reader))
                await writer.drain()
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # an invalid request gets no page
        finally:
            self._visits.discard(task)
            writer.close()

    async def _answer_to(self, reader: asyncio.StreamReader) -> bytes:
        async with asyncio.timeout(_REQUEST_S):
            try:
                visit = await read_request(reader, _BODY_LIMIT)
            except BodyTooLarge:
                return sentence(413, "Too large", "The request is larger than a key.")
        if visit.headers.get("host", "") not in self._hosts:
            return sentence(403, "Wrong host", "This page is only available on the machine that runs zot.")
        if visit.path != "/apikey":
            return sentence(404, "Not found", "Open the address that zot shows.")
        if visit.method == "GET":
            return self._show(visit)
        if visit.method == "POST":
            if visit.headers.get("origin") not in [f"http://{host}" for host in self._hosts]:
                return sentence(403, "Wrong origin", "The form was sent by another page; nothing was saved.")
            fields = read_fields(visit.body.decode("utf-8", "replace"))
            if fields.get("provider") != self._form.provider:
                return sentence(400, "Wrong provider", "This login is for another provider; nothing was saved.")
            if (
                not self._is_known(visit)
                or not self._form_token
                or not is_same(fields.get("token", ""), self._form_token)
            ):
                return sentence(
                    403, "Form already used", "This form was already used, or is not from zot. Open the address again."
                )
            self._form_token = ""  # one try per form
            key = fields.get("api_key", "").strip()
            if not key:
                return self._form.page(self._new_form(), refused="The key is empty.")
            return await self._try(key)
        return sentence(405, "Not found", "Open the address that zot shows.")

    @property
    def _hosts(self) -> tuple[str, ...]:
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def _show(self, visit: IncomingRequest) -> bytes:
        if visit.query.get("provider") != self._form.provider:
            return sentence(400, "Wrong provider", "This login is for another provider; open the address zot shows.")
        if not is_same(visit.query.get("token", ""), self._url_token):
            return sentence(403, "Wrong address", "Open the whole address that zot shows in the terminal.")
        if self._browser and not self._is_known(visit):
            return sentence(403, "Already open", "This address was opened in another browser. Start the login again.")
        if self.taken.done():
            return self._form.stored()
        cookie = ""
        if not self._browser:
            self._browser = secrets.token_urlsafe(24)
            cookie = f"zot_login_{self.port}={self._browser}; HttpOnly; SameSite=Strict; Path=/"
        return self._form.page(self._new_form(), cookie=cookie)

    async def _try(self, key: str) -> bytes:
        async with self._trying:
            if self.taken.done():
                return sentence(403, "Already done", "A key was already saved; go back to the terminal.")
            try:
                await self._accept(key)
            except ZotError as error:
                return self._form.page(self._new_form(), refused=str(error))
            self.taken.set_result(None)
            return self._form.stored()

    def _new_form(self) -> str:
        self._form_token = secrets.token_urlsafe(24)
        return self._form_token

    def _is_known(self, visit: IncomingRequest) -> bool:
        """True if this browser opened the address."""
        wanted = f"zot_login_{self.port}={self._browser}"
        given = [part.strip() for part in visit.headers.get("cookie", "").split(";")]
        return bool(self._browser) and any(is_same(part, wanted) for part in given)


# The form for an API key.

_FORM = """\
<p>Paste your API key. zot tests it once with <strong>{name}</strong> and then stores it {place}.</p>
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
<footer>This page comes from zot on your own machine, works once, and closes with the login. You can also
paste the key in the terminal.</footer>
"""


class KeyForm:
    """Texts of the form. ``place`` completes "stores it …"; ``keys_url`` is the provider's key page."""

    def __init__(self, provider: str, name: str, *, account: str, place: str, keys_url: str = "") -> None:
        self.provider = provider
        self.name = name
        self.account = account
        self.place = place
        self.keys_url = keys_url

    def page(self, token: str, *, refused: str = "", cookie: str = "") -> bytes:
        """``refused`` is why the previous key was rejected; the key itself is never sent back."""
        trouble = f'<p class="bad" role="alert"><b>Nothing was saved.</b>{escape(refused)}</p>' if refused else ""
        label = "API key" + (f" for the account {self.account}" if self.account else "")
        host = self.keys_url.partition("://")[2].partition("/")[0]
        link = f'<a href="{escape(self.keys_url)}" rel="noreferrer" target="_blank">{escape(host)}</a>'
        body = _FORM.format(
            name=escape(self.name),
            place=escape(self.place),
            refused=trouble,
            provider=escape(self.provider),
            token=escape(token),
            label=escape(label),
            more=f'<p class="small">No key yet? Create one at {link}.</p>' if self.keys_url else "",
        )
        return response(400 if refused else 200, f"Log in to {self.name}", body, cookie=cookie)

    def stored(self) -> bytes:
        body = (
            f"<p><strong>{escape(self.name)}</strong> accepted the key; it is stored {escape(self.place)}.</p>"
            "<p>You can close this page and go back to the terminal.</p>"
        )
        return response(200, "You are logged in", body)
