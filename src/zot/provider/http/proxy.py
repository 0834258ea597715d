"""Which proxy, if any, stands between us and a server.

The environment comes first (lower case before upper case, as curl does), then the setting. ``NO_PROXY``
takes names with their subdomains, addresses, networks, ports and ``*``. Loopback is never proxied.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from zot.errors import BadRequest
from zot.provider.http.url import Url, parse_url, redacted

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address


class Proxy(NamedTuple):
    url: Url
    authorization: str = ""

    @property
    def name(self) -> str:
        """Fit to show: no password in it."""
        return f"proxy {self.url.address}"


def proxy_for(url: Url, environ: Mapping[str, str], setting: str = "") -> Proxy | None:
    """The proxy to use for ``url``; ``setting`` counts where the environment names none."""
    if _is_loopback(url.host):
        return None
    address = _from_environment(url.scheme, environ) or setting.strip()
    if not address or _bypassed(url, _variable("no_proxy", environ) or ""):
        return None
    return _parse(address)


def basic_auth(userinfo: str) -> str:
    """The value of an authorization header for the ``user:password`` of an address."""
    if "%" in userinfo:
        from urllib.parse import unquote  # only for odd passwords; its import costs milliseconds

        userinfo = unquote(userinfo)
    if ":" not in userinfo:
        userinfo += ":"
    return "Basic " + binascii.b2a_base64(userinfo.encode(), newline=False).decode("ascii")


def _parse(address: str) -> Proxy:
    if "://" not in address:
        address = f"http://{address}"
    if not address.lower().startswith(("http://", "https://")):
        raise BadRequest(f"{redacted(address)}: only http and https proxies are supported; set HTTPS_PROXY to one")
    url = parse_url(address)
    return Proxy(url._replace(userinfo="", target="/"), basic_auth(url.userinfo) if url.userinfo else "")


def _from_environment(scheme: str, environ: Mapping[str, str]) -> str:
    for name in (f"{scheme}_proxy", "all_proxy"):
        if value := _variable(name, environ):
            return value
    return ""


def _variable(name: str, environ: Mapping[str, str]) -> str | None:
    """The lower-case variable wins even when empty: that is how one switches a proxy off."""
    if name in environ:
        return environ[name].strip()
    if name == "http_proxy" and "REQUEST_METHOD" in environ:
        return None  # under CGI a visitor's `Proxy:` header becomes HTTP_PROXY
    return environ.get(name.upper(), "").strip()


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdecimal())


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
    import ipaddress  # only needed where NO_PROXY meets an address

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
