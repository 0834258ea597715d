"""Addresses of this machine on its local network, and the names by which a client may reach one."""

from __future__ import annotations

import ipaddress
import re
import socket

from zot.errors import UsageError, ZotError

LOOPBACK = "127.0.0.1"
# Of the documentation: no packet is sent to it, but it tells by which address this machine would.
_ELSEWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,62}(?<!-)(\.(?=.))?)+")
_FIX = "connect it to a network, or name an address of this machine: `zot serve --host ADDRESS`"


def lan_address() -> str:
    """The address of this machine on its local network. ZotError without one, or if it is public."""
    for family, elsewhere in _ELSEWHERE:
        if (found := _source_address(family, elsewhere)) is None:
            continue
        if ipaddress.ip_address(found).is_global:
            raise ZotError(
                f"--lan: {found} is a public address, not of a local network; `--host {found}` serves it there"
            )
        return found
    raise ZotError(f"--lan: this machine has no local network; {_FIX}")


def _source_address(family: socket.AddressFamily, elsewhere: str) -> str | None:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))
            found = str(probe.getsockname()[0])
    except OSError:
        return None
    address = ipaddress.ip_address(found.partition("%")[0])
    return None if address.is_loopback or address.is_link_local or address.is_unspecified else found


def is_plain(host: str) -> bool:
    """True for the names that are served without TLS, which never leave this machine."""
    return host in (LOOPBACK, "localhost")


def resolve_host(typed: str) -> tuple[str, str]:
    """The address to listen on, and the name in addresses. UsageError for what is no address of one machine."""
    host = typed.strip().removeprefix("[").removesuffix("]").rstrip(".").lower()
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return _of_name(host, typed), host
    if address.is_unspecified:
        raise UsageError(f"--host {typed}: name one address of this machine, or use --lan")
    has_zone = isinstance(address, ipaddress.IPv6Address) and address.scope_id
    if address.is_multicast or has_zone or (address.version == 4 and address.is_reserved):
        raise UsageError(f"--host {typed}: expected an address of this machine, without a zone")
    return str(address), str(address)


def _of_name(host: str, typed: str) -> str:
    if not _NAME.fullmatch(host):
        raise UsageError(f'--host "{typed[:100]}": expected an address or a name of this machine')
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        why = error.strerror or error
        raise ZotError(f"--host {host}: cannot find its address: {why}; use --lan or a name of this machine") from None


def machine_names() -> tuple[str, ...]:
    """The name of this machine, and the one it has on a local network."""
    name = socket.gethostname().rstrip(".").lower()
    first = name.partition(".")[0]
    found = (name, f"{first}.local") if first != "localhost" else ()
    return tuple(dict.fromkeys(each for each in found if _NAME.fullmatch(each)))


def bracketed(host: str) -> str:
    """As it stands in an address."""
    return f"[{host}]" if ":" in host else host
