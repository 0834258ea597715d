"""Parses URLs and finds the proxy of a request.
Proxies come from the environment (lower case first, as in curl), then from the setting. ``NO_PROXY`` accepts names
with their subdomains, addresses, networks, ports and ``*``; loopback is never proxied."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from zot.errors import BadRequest

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_DEFAULT_PORTS = {"http": 80, "https": 443}
_PORT_DIGITS = 5
_LONGEST_SHOWN = 300


class Url(msgspec.Struct, frozen=True):
    scheme: str
    host: str  # lower case, IPv6 without brackets
    port: int
    target: str  # path and query
    userinfo: str = ""

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """The ``host`` header: the port only if it is not the scheme's default."""
        if self.port == _DEFAULT_PORTS[self.scheme]:
            return self.address.rpartition(":")[0]
        return self.address


class Proxy(msgspec.Struct, frozen=True):
    url: Url
    authorization: str = ""

    @property
    def name(self) -> str:
        """For messages: without its password."""
        return f"proxy {self.url.address}"


class Route(msgspec.Struct, frozen=True):
    """Requests with equal routes may share a connection. ``address``: connect to this one, do not resolve the host."""

    scheme: str
    host: str
    port: int
    proxy: Proxy | None
    insecure: bool
    address: str = ""


@lru_cache(maxsize=8)  # every request has one
def parse_url(text: str) -> Url:
    """Raises BadRequest, naming the address without its password."""
    scheme, found, rest = text.partition("://")
    scheme = scheme.lower()
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise BadRequest(f"the address {redacted(text)!r} is not valid UTF-8")
    if not found or scheme not in _DEFAULT_PORTS:
        raise BadRequest(f"not an http or https address: {redacted(text)!r}")
    end = min((i for i in map(rest.find, "/?#") if i >= 0), default=len(rest))
    userinfo, _, place = rest[:end].rpartition("@")
    host, port = _host_and_port(place, text)
    target = rest[end:].partition("#")[0]
    if not target.startswith("/"):
        target = "/" + target
    if any(c <= " " or c == "\x7f" for c in target):
        raise BadRequest(f"spaces or control characters in the address {redacted(text)!r}")
    if not target.isascii():
        target = "".join(c if c.isascii() else "".join(f"%{b:02X}" for b in c.encode()) for c in target)
    return Url(scheme, host, port or _DEFAULT_PORTS[scheme], target, userinfo)


def _host_and_port(place: str, text: str) -> tuple[str, int]:
    if place.startswith("["):
        host, closed, port = place[1:].partition("]")
        host, port = host if closed else "", port.removeprefix(":")
    else:
        host, _, port = place.partition(":")
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            host = ""
    if not _is_host(host) or (port and not (port.isascii() and port.isdecimal())):
        raise BadRequest(f"not a usable address: {redacted(text)!r}")
    number = int(port[-_PORT_DIGITS:] or 0)
    if number > 65535 or port[:-_PORT_DIGITS].strip("0"):
        raise BadRequest(f"port {port[:12]} is out of range: {redacted(text)!r}")
    return host.lower(), number


def _is_host(host: str) -> bool:
    """False if the resolver would fail with its own error: an empty or too long part of a name."""
    if not host or any(c <= " " or c in "\x7f/\\@" for c in host):
        return False
    return ":" in host or (len(host) <= 253 and all(0 < len(part) <= 63 for part in host.removesuffix(".").split(".")))


def redacted(text: str) -> str:
    """The address for messages, with its password replaced, limited in length."""
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = "", text
    userinfo, at, place = rest.rpartition("@")
    if at and ":" not in userinfo and "/" in userinfo:  # an @ in the path
        userinfo, at, place = "", "", rest
    shown = f"{scheme}{found}{'***' if userinfo else ''}{at}{place}"
    return shown if len(shown) <= _LONGEST_SHOWN else shown[:_LONGEST_SHOWN] + "…"


def basic_auth(userinfo: str) -> str:
    """The value of an authorization header for the ``user:password`` of an address."""
    if "%" in userinfo:
        from urllib.parse import unquote  # only for unusual passwords; its import takes milliseconds

        userinfo = unquote(userinfo)
    if ":" not in userinfo:
        userinfo += ":"
    return "Basic " + binascii.b2a_base64(userinfo.encode(), newline=False).decode("ascii")


def proxy_for(url: Url, environ: Mapping[str, str], setting: str = "") -> Proxy | None:
    """The proxy of ``url``; ``setting`` applies if the environment has none."""
    if url.host in ("localhost", "::1") or (url.host.startswith("127.") and url.host.replace(".", "").isdecimal()):
        return None
    named = _variable(f"{url.scheme}_proxy", environ) or _variable("all_proxy", environ)
    address = named or setting.strip()
    if not address or _bypassed(url, _variable("no_proxy", environ) or ""):
        return None
    if "://" not in address:
        address = f"http://{address}"
    if not address.lower().startswith(("http://", "https://")):
        raise BadRequest(f"{redacted(address)}: only http and https proxies are supported; set HTTPS_PROXY to one")
    parts = parse_url(address)
    url = Url(parts.scheme, parts.host, parts.port, "/")
    return Proxy(url, basic_auth(parts.userinfo) if parts.userinfo else "")


def _variable(name: str, environ: Mapping[str, str]) -> str | None:
    """The lower-case variable wins even if empty: that disables a proxy."""
    if name in environ:
        return environ[name].strip()
    if name == "http_proxy" and "REQUEST_METHOD" in environ:
        return None  # under CGI a client's `Proxy:` header becomes HTTP_PROXY
    return environ.get(name.upper(), "").strip()


def _bypassed(url: Url, no_proxy: str) -> bool:
    entries = no_proxy.replace(",", " ").lower().split()
    if not entries:
        return False
    ip = _ip(url.host)
    return any(_matches(url, ip, entry) for entry in entries)


def _matches(url: Url, ip: IPv4Address | IPv6Address | None, entry: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return ip is not None and _in_network(ip, entry)
    name, port = _split_port(entry)
    if port and port != str(url.port):
        return False
    if ip is not None:
        return _ip(name) == ip
    name = name.removeprefix("*").removeprefix(".")
    return bool(name) and (url.host == name or url.host.endswith(f".{name}"))


def _split_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, port = entry[1:].partition("]")
        return name, port.removeprefix(":")
    if entry.count(":") == 1:
        name, _, port = entry.partition(":")
        return name, port
    return entry, ""


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    if not (text[-1:].isdecimal() or ":" in text):
        return None
    import ipaddress  # only needed if NO_PROXY has addresses

    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _in_network(ip: IPv4Address | IPv6Address, entry: str) -> bool:
    import ipaddress

    try:
        return ip in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
