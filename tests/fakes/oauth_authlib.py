"""The process behind ``oauth_server``: Authlib's authorization server over the standard library's HTTP server."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from authlib.oauth2.rfc6749 import AuthorizationServer, JsonPayload, JsonRequest, OAuth2Request, grants
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
from authlib.oidc.core.grants import OpenIDCode
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.fakes.oauth_server import CLIENT

KNOBS: dict[str, Any] = {
    "expires_in": 3600,
    "rotates": True,  # a refresh answers with a new refresh token
    "deny": False,  # what the user says to the next question
    "approve_device": None,
    "slow_downs": 0,  # how many polls are told to slow down
    "device_expired": False,
    "device": {},  # fields of the answer that begins a device login, changed
    "token_answer": "",  # "html", "redirect", "500", "garbage": instead of an answer of the token endpoint
    "claims": {},  # of id tokens, changed
    "id_token": "",  # instead of a JWT
    "token": {},  # fields of token answers, changed; None drops one
    "hold": False,  # the token endpoint has done its work, but its answer waits: of one grant, or of all
    "delay_s": 0.0,
    "metadata": {},  # fields of the metadata, changed; None drops one
    "secret": "",  # what a client must prove
    "date": "",  # the server's clock
}

knobs, lock, released = dict(KNOBS), threading.RLock(), threading.Event()
seen: dict[str, Any] = {"requests": [], "rotations": 0, "reuses": 0, "revoked": [], "clients": {}}
codes: dict[str, Any] = {}
tokens: list[Any] = []
devices: dict[str, Any] = {}
key = RSAKey.generate_key(2048)
issuer = ""


class Client:
    def __init__(self, id: str, redirects: list[str] | None = None, secret: str = "") -> None:
        self.id, self.redirects, self.secret = id, redirects, secret

    def get_client_id(self) -> str:
        return self.id

    def get_default_redirect_uri(self) -> str:
        return ""

    def get_allowed_scope(self, scope: str | None) -> str:
        return scope or ""

    def check_redirect_uri(self, uri: str) -> bool:
        host = urlsplit(uri).hostname
        return uri in self.redirects if self.redirects is not None else host in ("localhost", "127.0.0.1", "::1")

    def check_client_secret(self, secret: str) -> bool:
        return secret == (self.secret or knobs["secret"])

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return (method == "none") == (not (self.secret or knobs["secret"]))

    def check_response_type(self, kind: str) -> bool:
        return kind == "code"

    def check_grant_type(self, kind: str) -> bool:
        return True


clients = {CLIENT: Client(CLIENT)}


class Code:
    def __init__(self, code: str, data: dict[str, str], client: str, redirect: str, scope: str) -> None:
        self.code, self.data, self.client_id, self.redirect, self.scope = code, data, client, redirect, scope

    def get_redirect_uri(self) -> str:
        return self.redirect

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str | None:
        return self.data.get("nonce")

    def get_auth_time(self) -> int:
        return int(time.time())

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> None:
        return None

    @property
    def code_challenge(self) -> str | None:
        return self.data.get("code_challenge")

    @property
    def code_challenge_method(self) -> str | None:
        return self.data.get("code_challenge_method")


class Token:
    def __init__(self, token: dict[str, Any], client: str, family: object) -> None:
        self.access, self.refresh = token["access_token"], token.get("refresh_token", "")
        self.scope, self.client_id, self.family = token.get("scope", ""), client, family
        self.used = self.revoked = False

    def check_client(self, client: Client) -> bool:
        return self.client_id == client.id

    def get_scope(self) -> str:
        return self.scope


class Server(AuthorizationServer):
    def query_client(self, client_id: str) -> Client | None:
        return clients.get(client_id)

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        family = request.refresh_token.family if request.refresh_token else object()
        tokens.append(Token(token, request.client.id, family))

    def create_oauth2_request(self, request: Any) -> Any:
        made = OAuth2Request(
            request.command,
            f"http://127.0.0.1{request.path}",
            headers={k.title(): v for k, v in request.headers.items()},
        )
        made.payload = BasicOAuth2Payload(request.fields)
        type(made).form = property(lambda self: self.payload.data)
        type(made).args = property(lambda self: self.payload.data)
        return made

    def create_json_request(self, request: Any) -> Any:
        class Payload(JsonPayload):
            data = request.fields

        made = JsonRequest(request.command, request.path, dict(request.headers))
        made.payload = Payload()
        return made

    def handle_response(self, status: int, body: Any, headers: Any) -> Any:
        return status, body, list(headers or ())

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        pass


class CodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("none", "client_secret_post", "client_secret_basic")

    def save_authorization_code(self, code: str, request: Any) -> None:
        data = dict(request.payload.data)
        codes[code] = Code(code, data, request.client.id, request.payload.redirect_uri, request.payload.scope)

    def query_authorization_code(self, code: str, client: Client) -> Any:
        found = codes.get(code)
        return found if found and found.client_id == client.id else None

    def delete_authorization_code(self, code: Any) -> None:
        codes.pop(code.code, None)

    def authenticate_user(self, code: Any) -> str:
        return "ada"


class Refresh(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("none", "client_secret_post", "client_secret_basic")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.INCLUDE_NEW_REFRESH_TOKEN = knobs["rotates"]

    def authenticate_refresh_token(self, text: str) -> Any:
        found = next((token for token in tokens if token.refresh == text), None)
        if found is not None and found.used:
            seen["reuses"] += 1
            for token in tokens:
                token.revoked = token.revoked or token.family is found.family
        return found if found is not None and not found.revoked else None

    def authenticate_user(self, token: Any) -> str:
        return "ada"

    def revoke_old_credential(self, token: Any) -> None:
        seen["rotations"] += 1
        token.used = knobs["rotates"]


class OpenId(OpenIDCode):
    def exists_nonce(self, nonce: str, request: Any) -> bool:
        return False

    def encode_id_token(self, token: Any, request: Any) -> str:
        if knobs["id_token"]:
            return knobs["id_token"]
        now = int(time.time())
        claims = {"iss": issuer, "aud": request.client.id, "exp": now + 3600, "iat": now, "sub": "ada"}
        if request.authorization_code and (nonce := request.authorization_code.get_nonce()):
            claims["nonce"] = nonce
        claims |= {"email": "ada@example.com", "https://api.openai.com/auth": {"chatgpt_account_id": "acc-1"}}
        return jwt.encode({"alg": "RS256"}, claims | knobs["claims"], key, ["RS256"])


class DeviceEndpoint(DeviceAuthorizationEndpoint):
    INTERVAL = 1

    def get_verification_uri(self) -> str:
        return f"{issuer}/device"

    def save_device_credential(self, client_id: str, scope: str, data: dict[str, Any]) -> None:
        fields = {**data, "client_id": client_id, "scope": scope, "expires_at": time.time() + data["expires_in"]}
        devices[data["device_code"]] = DeviceCredentialDict(fields)


class DeviceGrant(DeviceCodeGrant):
    def query_device_credential(self, code: str) -> Any:
        found = devices.get(code)
        if found is not None and knobs["device_expired"]:
            found["expires_at"] = 0
        return found

    def query_user_grant(self, user_code: str) -> Any:
        if knobs["slow_downs"] > 0 or knobs["approve_device"] is None:
            return None
        return "ada", knobs["approve_device"]

    def should_slow_down(self, credential: Any) -> bool:
        knobs["slow_downs"] -= 1
        return knobs["slow_downs"] >= 0


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = ("none", "client_secret_post", "client_secret_basic")

    def query_token(self, text: str, hint: str | None) -> Any:
        return next((token for token in tokens if text in (token.access, token.refresh)), None)

    def revoke_token(self, token: Any, request: Any) -> None:
        token.revoked = True
        seen["revoked"].append(request.payload.data["token_type_hint"])


class Registration(ClientRegistrationEndpoint):
    def authenticate_token(self, request: Any) -> Any:
        return "open"

    def get_server_metadata(self) -> dict[str, Any]:
        return {}

    def generate_client_secret(self, request: Any) -> str:
        return "" if request.payload.data.get("token_endpoint_auth_method") == "none" else "s"

    def save_client(self, info: dict[str, Any], metadata: dict[str, Any], request: Any) -> Any:
        made = clients[info["client_id"]] = Client(info["client_id"], list(metadata.get("redirect_uris", [])))
        seen["clients"][info["client_id"]] = dict(metadata)
        return made


count = iter(range(1, 10**9))


def name_token(kind: str) -> Any:
    return lambda **_: f"{kind}-{next(count)}-{os.urandom(16).hex()}"


server = Server()
make = BearerTokenGenerator(name_token("access"), name_token("refresh"), lambda *_: knobs["expires_in"])
server.register_token_generator("default", make)
server.register_grant(CodeGrant, [CodeChallenge(required=True), OpenId()])
server.register_grant(Refresh, [OpenId()])
server.register_grant(DeviceGrant)
for endpoint in (DeviceEndpoint, Revocation, Registration):
    server.register_endpoint(endpoint)


def changed(fields: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**fields, **changes}.items() if value is not None}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fields: dict[str, Any]

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.fields = dict(parse_qsl(urlsplit(self.path).query))
        self._answer()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.json = "json" in self.headers.get("content-type", "")
        self.fields = json.loads(body or b"{}") if self.json else dict(parse_qsl(body.decode()))
        self._answer()

    def _answer(self) -> None:
        path = urlsplit(self.path).path
        if path == "/_knobs":
            if self.fields.pop("reset", False):
                knobs.update(KNOBS)
                seen.update(requests=[], rotations=0, reuses=0, revoked=[], clients={})
                released.clear()
            if not self.fields.get("hold", True):
                released.set()
            knobs.update(self.fields)
            return self._send(200, seen, [])
        with lock:
            kind = self.headers.get("content-type", "")
            row = {"path": path, "fields": self.fields, "kind": kind, "agent": self.headers.get("user-agent")}
            seen["requests"].append({**row, "basic": "authorization" in self.headers})
            answer = self._routed(path)
        if path == "/token":
            if knobs["hold"] in (True, self.fields.get("grant_type")):
                released.wait(60)
            time.sleep(knobs["delay_s"])
        self._send(*answer)

    def _routed(self, path: str) -> tuple[int, Any, list[Any]]:
        match path:
            case "/.well-known/oauth-authorization-server":
                return 200, changed(self._metadata(), knobs["metadata"]), []
            case "/authorize":
                grant = server.get_consent_grant(self, "ada")
                user = None if knobs["deny"] else "ada"
                return server.create_authorization_response(self, grant_user=user, grant=grant)
            case "/token":
                return self._token()
            case "/device_authorization":
                status, body, headers = server.create_endpoint_response("device_authorization", self)
                return status, changed(body, knobs["device"]), headers
            case "/register":
                return server.create_endpoint_response("client_registration", self)
            case "/revoke":
                return server.create_endpoint_response("revocation", self)
            case _:
                return 404, {"error": "not_found"}, []

    def _token(self) -> tuple[int, Any, list[Any]]:
        match knobs["token_answer"]:
            case "html":
                return 200, "<html>sign in to this network</html>", [("content-type", "text/html")]
            case "redirect":
                return 307, "", [("location", "https://elsewhere.example/token")]
            case "500":
                return 500, "<html>oops</html>", [("content-type", "text/html")]
            case "garbage":
                return 200, "[1, 2]", []
            case "echo":
                return 400, {"error": "invalid_grant", "error_description": f"no good: {self.fields}"}, []
            case _:
                status, body, headers = server.create_token_response(self)
                return status, changed(body, knobs["token"]) if status == 200 else body, headers

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "device_authorization_endpoint": f"{issuer}/device_authorization",
            "registration_endpoint": f"{issuer}/register",
            "revocation_endpoint": f"{issuer}/revoke",
            "code_challenge_methods_supported": ["S256"],
        }

    def _send(self, status: int, body: Any, headers: list[Any]) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response_only(status)
        self.send_header("date", knobs["date"] or self.date_time_string())
        if not any(name.lower() == "content-type" for name, _ in headers):
            self.send_header("content-type", "application/json")
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def serve() -> None:
    global issuer
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    issuer = f"http://127.0.0.1:{http.server_address[1]}"
    print(issuer, flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()  # ends with the test
    http.serve_forever()


if __name__ == "__main__":
    serve()
