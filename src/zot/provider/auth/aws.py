"""AWS access keys from the environment or a profile of the shared files.
Profiles that need SSO, a role or another program are not supported; use ``api_key_command`` for them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from zot.provider.http.message import HttpRequest
from zot.provider.http.route import Url, parse_url
from zot.system.safe_open import read_whole

_SPOTS = {"credentials": "AWS_SHARED_CREDENTIALS_FILE", "config": "AWS_CONFIG_FILE"}


def environment_key(environ: Mapping[str, str]) -> str:
    """``ID:SECRET[:TOKEN]``, or nothing."""
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    return _joined([environ.get(name, "").strip() for name in names])


def profile_key(environ: Mapping[str, str]) -> str:
    """The same from the profile ``AWS_PROFILE`` or ``default``."""
    profile = _profile(environ)
    return _joined([profile.get(f"aws_{name}", "") for name in ("access_key_id", "secret_access_key", "session_token")])


def profile_region(environ: Mapping[str, str]) -> str:
    return _profile(environ).get("region", "")


def _joined(parts: list[str]) -> str:
    return ":".join(part for part in parts if part) if all(parts[:2]) else ""


def _profile(environ: Mapping[str, str]) -> dict[str, str]:
    name = environ.get("AWS_PROFILE") or environ.get("AWS_DEFAULT_PROFILE") or "default"
    found: dict[str, str] = {}
    for file, headings in (("config", (name, f"profile {name}")), ("credentials", (name,))):
        place = environ.get(_SPOTS[file]) or str(Path(environ.get("HOME", "~"), ".aws", file))
        for heading in headings:
            found |= _section(Path(place).expanduser(), heading)
    return found


def _section(path: Path, heading: str) -> dict[str, str]:
    """The lines ``key = value`` of one section; none if the file is missing or unreadable."""
    try:
        text = read_whole(path).decode("utf-8", "replace")
    except OSError:
        return {}
    found: dict[str, str] = {}
    inside = False
    for line in text.splitlines():
        if line.startswith("["):
            inside = line.strip()[1:].partition("]")[0].strip() == heading
        elif inside and not line.startswith((" ", "\t", "#", ";")) and "=" in line:
            key, _, value = line.partition("=")
            found[key.strip().lower()] = value.strip()
    return found


# Signature version 4: authenticates a request without sending the secret.

_ALGORITHM = "AWS4-HMAC-SHA256"
_BLOCK = 64  # bytes of SHA-256's block, for HMAC


class AwsKey(msgspec.Struct, frozen=True):
    id: str
    secret: str
    token: str = ""

    def __repr__(self) -> str:
        return f"AwsKey({self.id})"  # a traceback must not show the secret


def access_key(text: str) -> AwsKey | None:
    """Parse an access key; None for a bearer key. Neither part of an access key has a colon."""
    id, colon, rest = text.partition(":")
    secret, _, token = rest.partition(":")
    if not colon or not (id.isascii() and id.isalnum() and id.upper() == id and len(id) >= 16) or not secret:
        return None
    return AwsKey(id, secret, token)


def signed(request: HttpRequest, key: AwsKey, region: str, service: str, now: float | None = None) -> HttpRequest:
    """The signed request. The signature covers host, content type and ``x-amz-`` headers; proxies may change others."""
    url = parse_url(request.url)
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() if now is None else now))
    own = [("x-amz-date", moment), *([("x-amz-security-token", key.token)] if key.token else ())]
    names = {name for name, _ in own} | {"authorization"}
    headers = [*((name, value) for name, value in request.headers if name.lower() not in names), *own]
    # the headers a signature covers, sorted; runs of spaces count as one
    found = {
        name.lower(): " ".join(value.split())
        for name, value in [*headers, ("host", url.authority)]
        if name.lower() in ("host", "content-type") or name.lower().startswith("x-amz-")
    }
    covered = sorted(found.items())
    canonical = canonical_request(request.method, url, covered, request.body)
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    signature = _signature(key.secret, scope, string_to_sign(moment, scope, canonical))
    listed = ";".join(name for name, _ in covered)
    proof = f"{_ALGORITHM} Credential={key.id}/{scope}, SignedHeaders={listed}, Signature={signature}"
    return msgspec.structs.replace(request, headers=[*headers, ("authorization", proof)])


def canonical_request(method: str, url: Url, covered: Sequence[tuple[str, str]], body: bytes) -> str:
    path, _, query = url.target.partition("?")
    lines = [
        method,
        quote(path, safe="/~"),  # path segments are encoded twice here, except for S3
        _canonical_query(query),
        *(f"{name}:{value}" for name, value in covered),
        "",
        ";".join(name for name, _ in covered),
        _sha256(body).hex(),
    ]
    return "\n".join(lines)


def string_to_sign(moment: str, scope: str, canonical: str) -> str:
    return f"{_ALGORITHM}\n{moment}\n{scope}\n{_sha256(canonical.encode()).hex()}"


def _canonical_query(query: str) -> str:
    pairs = [part.partition("=")[::2] for part in query.split("&") if part]
    return "&".join(f"{name}={value}" for name, value in sorted((_encoded(n), _encoded(v)) for n, v in pairs))


def _encoded(text: str) -> str:
    return quote(unquote(text), safe="-_.~")


def _signature(secret: str, scope: str, text: str) -> str:
    key = b"AWS4" + secret.encode()
    for part in scope.split("/"):
        key = _hmac(key, part.encode())
    return _hmac(key, text.encode()).hex()


def _hmac(key: bytes, data: bytes) -> bytes:
    """RFC 2104. The standard module would load OpenSSL for a few short hashes."""
    key = (key if len(key) <= _BLOCK else _sha256(key)).ljust(_BLOCK, b"\0")
    inner = _sha256(bytes(byte ^ 0x36 for byte in key) + data)
    return _sha256(bytes(byte ^ 0x5C for byte in key) + inner)


def _sha256(data: bytes) -> bytes:
    from zot.system.digest import sha256

    return bytes.fromhex(sha256(data))
