"""An http address in its parts. Small and strict: what could smuggle bytes into a request line is refused."""

from __future__ import annotations

from typing import NamedTuple

from zot.errors import BadRequest

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Url(NamedTuple):
    scheme: str
    host: str  # lower case, IPv6 without brackets
    port: int
    target: str  # path and query
    userinfo: str = ""

    @property
    def address(self) -> str:
        """``host:port``, IPv6 in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """What the ``host`` header says: the port only when it is not the scheme's own."""
        if self.port == _DEFAULT_PORTS[self.scheme]:
            return self.address.rpartition(":")[0]
        return self.address


def parse_url(text: str) -> Url:
    """Raises BadRequest, naming the address without its password."""
    scheme, found, rest = text.partition("://")
    scheme = scheme.lower()
    if not found or scheme not in _DEFAULT_PORTS:
        raise BadRequest(f"not an http or https address: {redacted(text)!r}")
    end = min((i for i in map(rest.find, "/?#") if i >= 0), default=len(rest))
    userinfo, _, place = rest[:end].rpartition("@")
    host, port = _host_and_port(place, text)
    target = rest[end:].partition("#")[0]
    if not target.startswith("/"):
        target = "/" + target
    return Url(scheme, host, port or _DEFAULT_PORTS[scheme], _clean_target(target, text), userinfo)


def redacted(text: str) -> str:
    """The address with a password replaced: fit to show."""
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = "", text
    authority, slash, path = rest.partition("/")
    userinfo, at, place = authority.rpartition("@")
    return f"{scheme}{found}{'***' if userinfo else ''}{at}{place}{slash}{path}"


def _host_and_port(place: str, text: str) -> tuple[str, int]:
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = place.partition(":")
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    if not host or any(c <= " " or c in "\x7f/\\@" for c in host) or (port and not port.isdecimal()):
        raise BadRequest(f"not a usable address: {redacted(text)!r}")
    number = int(port or 0)
    if number > 65535:
        raise BadRequest(f"port {number} does not exist: {redacted(text)!r}")
    return host.lower(), number


def _clean_target(target: str, text: str) -> str:
    if any(c <= " " or c == "\x7f" for c in target):
        raise BadRequest(f"spaces or control characters in the address {redacted(text)!r}")
    if target.isascii():
        return target
    return "".join(c if c.isascii() else "".join(f"%{b:02X}" for b in c.encode()) for c in target)
