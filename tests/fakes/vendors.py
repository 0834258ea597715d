"""OpenAI, GitHub and their login servers on loopback: a proxy that answers for their host names over TLS.

``FakeVendors`` starts it; ``environment`` makes a zot process use it by ``https_proxy`` and ``SSL_CERT_FILE``, so that
zot runs with its own provider table and real addresses. Logins behave as the vendors document them: a ChatGPT login
issues a client id in its callback, grants scopes, rotates refresh tokens and takes each once; the device login of the
Codex endpoint answers 403 until it is confirmed; GitHub's exchange answers with a token of some minutes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.fakes.model_turns import CallTools, Say
from tests.fakes.model_wire import Scripted, dialect_of, events

TLS = Path(__file__).parent / "tls"
CERTIFICATE = TLS / "vendors-cert.pem"
PLAN = "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct"


def unsigned_jwt(claims: dict[str, Any]) -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'RS256'})}.{part(claims)}.c2ln"


class FakeVendors:
    """``requests`` are (host, method, path, headers, body). ``user`` is who is logged in to the browser."""

    def __init__(self, turns: list[Scripted] | None = None) -> None:
        self.requests: list[tuple[str, str, str, dict[str, str], bytes]] = []
        self.user = "ann@example.test"
        self.scope = PLAN
        self.expires_in = 3600
        self.turns: list[Scripted] = list(turns or [Say("hello from the plan")])
        self.model_headers: dict[str, str] = {}
        self.refuse: dict[str, tuple[int, Any]] = {}  # path: status and JSON (or HTML) instead of an answer
        self.silent: set[str] = set()  # paths that are never answered
        self.redirects: dict[str, str] = {}
        self.device_polls = 0  # how many polls are answered "not yet"
        self.confirmed = True
        self.exchange: tuple[int, dict[str, Any]] = (200, {})
        self.api = "https://api.individual.githubcopilot.com"
        self.refreshes = 0
        self.reused = 0
        self.revoked: list[str] = []
        self.delay_s = 0.0  # of a refresh
        self._codes: dict[str, dict[str, str]] = {}
        self._alive: dict[str, str] = {}  # refresh token: client id
        self._count = 0
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    # -- the process under test

    @property
    def environment(self) -> dict[str, str]:
        assert self._server is not None
        proxy = f"http://127.0.0.1:{self._server.server_port}"
        return {"https_proxy": proxy, "SSL_CERT_FILE": str(CERTIFICATE), "ZOT_NO_BROWSER": "1"}

    def __enter__(self) -> FakeVendors:
        vendors = self

        class Handler(_Handler):
            world = vendors

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    def seen(self, path: str) -> list[tuple[str, str, str, dict[str, str], bytes]]:
        return [request for request in self.requests if request[2].partition("?")[0] == path]

    def body(self, path: str, number: int = -1) -> dict[str, Any]:
        return json.loads(self.seen(path)[number][4])

    # -- the user's browser

    def agree(self, url: str) -> str:
        """The address the browser is sent to after the user agreed at ``url``."""
        query = dict(parse_qsl(urlsplit(url).query))
        assert urlsplit(url).hostname == "auth.openai.com"
        code = self._new("code")
        client = query["client_id"]
        if client == "dynamic_agent_client":
            client = f"oaiapp_{self.user.partition('@')[0]}"
        self._codes[code] = {**query, "client_id": client, "user": self.user}
        fields = {"code": code, "state": query["state"]}
        if query["client_id"] == "dynamic_agent_client":
            fields["client_id"] = client
        return f"{query['redirect_uri']}?{urlencode(fields)}"

    # -- the servers

    def answer(self, host: str, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        place = path.partition("?")[0]
        match host, place:
            case "auth.openai.com", "/api/accounts/oauth/token" | "/oauth/token":
                return self._token(dict(parse_qsl(body.decode())))
            case "auth.openai.com", "/.well-known/openid-configuration":
                return 200, {
                    "issuer": "https://auth.openai.com",
                    "revocation_endpoint": "https://auth.openai.com/api/accounts/oauth/revoke",
                }
            case "auth.openai.com", "/api/accounts/oauth/revoke":
                token = dict(parse_qsl(body.decode()))["token"]
                self.revoked.append(token)
                self._alive.pop(token, None)
                return 200, {}
            case "auth.openai.com", "/api/accounts/deviceauth/usercode":
                assert json.loads(body)["client_id"]
                return 200, {"device_auth_id": "dev-1", "user_code": "ABCD-1234", "interval": "1"}
            case "auth.openai.com", "/api/accounts/deviceauth/token":
                return self._device(json.loads(body))
            case "github.com", "/login/device/code":
                return 200, {
                    "device_code": "gh-device",
                    "user_code": "GH12-3456",
                    "verification_uri": "https://github.com/login/device",
                    "expires_in": 900,
                    "interval": 1,
                }
            case "github.com", "/login/oauth/access_token":
                return self._github_token()
            case "api.github.com", "/copilot_internal/v2/token":
                return self._exchanged(headers)
            case "api.openai.com", "/v1/models":
                return 200, {
                    "models": [
                        {"slug": "gpt-6", "display_name": "GPT 6", "visibility": "list"},
                        {"slug": "gpt-hidden", "visibility": "hide"},
                    ]
                }
            case _, "/models":
                return 200, {"data": _COPILOT_MODELS}
            case _:
                return 404, {"error": {"message": f"no such page: {host}{path}"}}

    def turn(self, place: str) -> list[bytes]:
        turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        dialect = dialect_of(place)
        assert dialect is not None
        return events(dialect, turn, "fake")

    def _token(self, form: dict[str, str]) -> tuple[int, Any]:
        with self._lock:
            if form["grant_type"] == "refresh_token":
                return self._refreshed(form)
            asked = self._codes.pop(form["code"], None)
            if asked is None:
                return 400, {"error": {"code": "invalid_grant", "message": "unknown code"}}
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            assert asked.get("code_challenge") in (challenge, None)
            assert form["client_id"] == asked["client_id"], "the entry point is no client of the token endpoint"
            if asked.get("resource"):
                assert form["resource"] == asked["resource"]
            claims = {
                "iss": "https://auth.openai.com",
                "aud": form["client_id"],
                "sub": asked["user"],
                "email": asked["user"],
                "exp": time.time() + 3600,
                "nonce": asked.get("nonce", ""),
                "https://api.openai.com/auth": {"chatgpt_account_id": f"acc-{asked['user']}"},
            }
            return 200, self._issue(form["client_id"], id_token=unsigned_jwt(claims))

    def _refreshed(self, form: dict[str, str]) -> tuple[int, Any]:
        time.sleep(self.delay_s)
        old = form["refresh_token"]
        if self._alive.pop(old, None) != form["client_id"]:
            self.reused += 1
            self._alive.clear()  # a token used twice ends the whole login
            return 401, {"error": {"code": "refresh_token_reused", "message": "this refresh token was already used"}}
        self.refreshes += 1
        return 200, self._issue(form["client_id"])

    def _issue(self, client: str, **more: str) -> dict[str, Any]:
        refresh = self._new("refresh")
        self._alive[refresh] = client
        tokens = {"access_token": self._new("access"), "refresh_token": refresh, "token_type": "Bearer"}
        return {**tokens, "expires_in": self.expires_in, "scope": self.scope, **more}

    def _device(self, asked: dict[str, str]) -> tuple[int, Any]:
        assert asked == {"device_auth_id": "dev-1", "user_code": "ABCD-1234"}
        self.device_polls -= 1
        if self.device_polls >= 0:
            return 403, {"error": {"code": "deviceauth_authorization_pending", "message": "not yet"}}
        code = self._new("code")
        self._codes[code] = {"client_id": "own-codex-client", "user": self.user}
        return 200, {"authorization_code": code, "code_challenge": "x", "code_verifier": "given-by-the-server"}

    def _github_token(self) -> tuple[int, Any]:
        self.device_polls -= 1
        if self.device_polls >= 0:
            return 200, {"error": "authorization_pending", "error_description": "not yet"}
        if not self.confirmed:
            return 200, {"error": "access_denied", "error_description": "the user said no"}
        return 200, {"access_token": "gho_login", "token_type": "bearer", "scope": "read:user"}

    def _exchanged(self, headers: dict[str, str]) -> tuple[int, Any]:
        assert headers["authorization"] == "Bearer gho_login"
        status, changes = self.exchange
        answer = {"token": self._new("tid"), "expires_at": int(time.time()) + 1500, "endpoints": {"api": self.api}}
        return status, {**answer, **changes} if status == 200 else changes

    def _new(self, kind: str) -> str:
        self._count += 1
        return f"{kind}-secret-{self._count:04d}"


_COPILOT_MODELS = [
    {
        "id": "claude-sonnet-4.5",
        "name": "Claude Sonnet 4.5",
        "model_picker_enabled": True,
        "capabilities": {
            "type": "chat",
            "limits": {"max_context_window_tokens": 200000, "max_output_tokens": 16000},
            "supports": {"tool_calls": True},
        },
        "policy": {"state": "enabled"},
    },
    {"id": "off-by-policy", "model_picker_enabled": True, "policy": {"state": "disabled"}},
    {"id": "only-responses", "model_picker_enabled": True, "supported_endpoints": ["/responses"]},
]


class _Handler(BaseHTTPRequestHandler):
    """CONNECT turns into TLS for the named host; requests inside are answered by ``world``."""

    world: FakeVendors
    protocol_version = "HTTP/1.1"
    host = ""

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_CONNECT(self) -> None:
        self.host = self.path.partition(":")[0]
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self.wfile.flush()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE, TLS / "vendors-key.pem")
        with suppress(OSError, ssl.SSLError):
            self.connection = context.wrap_socket(self.connection, server_side=True)
            self.rfile = self.connection.makefile("rb", -1)
            self.wfile = self.connection.makefile("wb", 0)
            self.close_connection = False

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _serve(self, body: bytes) -> None:
        world, place = self.world, self.path.partition("?")[0]
        headers = {name.lower(): value for name, value in self.headers.items()}
        world.requests.append((self.host, self.command, self.path, headers, body))
        if place in world.silent:
            time.sleep(60)
            return
        if to := world.redirects.get(place):
            self._send(302, b"", {"location": to})
        elif place in world.refuse:
            status, answer = world.refuse[place]
            html = isinstance(answer, str)
            data = answer.encode() if html else json.dumps(answer).encode()
            self._send(status, data, {"content-type": "text/html" if html else "application/json"})
        elif dialect_of(place):
            data = b"".join(world.turn(place))
            self._send(200, data, {"content-type": "text/event-stream", **world.model_headers})
        else:
            status, answer = world.answer(self.host, self.command, self.path, headers, body)
            self._send(status, json.dumps(answer).encode(), {"content-type": "application/json"})

    def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(data)


__all__ = ["CERTIFICATE", "CallTools", "FakeVendors", "Say", "unsigned_jwt"]
