"""Decides which addresses may be fetched: public ones, and those that the user allowed.
A name is resolved once; the connection is made to an address that was checked, so DNS cannot change in between."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from zot.errors import ToolError

Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Awaitable[list[str]]]

_MOST_ADDRESSES = 8
_PROXY_LOOKUP_S = 3.0  # behind a proxy, names are often not resolvable here
_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
# Not public, whatever the version of `ipaddress` says: shared, benchmarking and reserved ranges, and the address
# with which a cloud answers its machines (Azure).
_SPECIAL = tuple(
    map(
        ip_network,
        (
            *("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4"),
            *("168.63.129.16/32", "2001::/23", "2001:db8::/32", "3fff::/20"),
        ),
    )
)


class AddressPolicy:
    """``allowed`` are the entries of the setting ``web_allow_private``; ``problems`` names those that are unusable."""

    def __init__(self, allowed: Iterable[str] = (), resolve: Resolver | None = None) -> None:
        self.problems: list[str] = []
        self._resolve = resolve or resolve_name
        self._networks: list[IPv4Network | IPv6Network] = []
        self._names: set[str] = set()
        for entry in allowed:
            self._allow(entry.strip().lower())

    def _allow(self, entry: str) -> None:
        with suppress(ValueError):
            self._networks.append(ip_network(entry.strip("[]"), strict=False))
            return
        name = entry.removeprefix("*.")
        if not name or any(c in name for c in "/:*?@ "):
            self.problems.append(
                f'web_allow_private: "{entry[:60]}" is ignored: expected a host, an address or a network (10.0.0.0/8)'
            )
            return
        self._names.add(entry)

    async def addresses(self, host: str, port: int, *, proxied: bool = False) -> list[str]:
        """The addresses to connect to, all of them checked. ToolError if one is not public, or if the name
        has none. ``proxied``: the proxy resolves the name, so an unknown one is no error."""
        if (literal := parse_address(host)) is not None:
            self._check(host, [str(literal)])
            return [str(literal)]
        try:
            async with asyncio.timeout(_PROXY_LOOKUP_S if proxied else None):
                found = (await self._resolve(host, port))[:_MOST_ADDRESSES]
        except (OSError, TimeoutError) as error:
            if not proxied:
                raise ToolError(f"no such host: {host}") from error
            self._check_name(host)
            return []
        if not found and not proxied:
            raise ToolError(f"no such host: {host}")
        if not self._names_host(host):
            self._check(host, found)
        return found

    def refuses(self, host: str) -> bool:
        """True if the spelling of the host alone decides that it is refused, before any name is resolved."""
        literal = parse_address(host)
        try:
            self._check(host, [str(literal)]) if literal is not None else self._check_name(host)
        except ToolError:
            return True
        return False

    def _check_name(self, host: str) -> None:
        """A name that only the proxy can resolve: those that are private by definition are refused."""
        name = host.rstrip(".")
        private = ("localhost", "local", "internal", "home.arpa", "localdomain", "lan", "intranet", "corp")
        if not self._names_host(host) and ("." not in name or name.rpartition(".")[2] in private):
            raise refusal(host, "")

    def _check(self, host: str, found: list[str]) -> None:
        for text in found:
            address = ip_address(text.partition("%")[0])
            if not is_public(address) and not self._is_allowed(address) and not self._names_host(host):
                raise refusal(host, text)

    def _is_allowed(self, address: Address) -> bool:
        known = [address, *embedded(address)[:1]]
        return any(each in network for each in known for network in self._networks)

    def _names_host(self, host: str) -> bool:
        name = host.rstrip(".").lower()
        parents = {f"*.{name.split('.', depth)[-1]}" for depth in range(1, name.count(".") + 1)}
        return name in self._names or not parents.isdisjoint(self._names)


def refusal(host: str, address: str) -> ToolError:
    shown = f" ({address})" if address and address != host else ""
    return ToolError(
        f"{host}{shown} is not a public address. The user can allow it in config.json: "
        f'"web_allow_private": ["{address or host}"]'
    )


async def resolve_name(host: str, port: int) -> list[str]:
    """The addresses of a name, in the order of the system's resolver."""
    loop = asyncio.get_running_loop()
    rows = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


def parse_address(host: str) -> Address | None:
    """An address in any spelling that a resolver accepts: also ``127.1``, ``0x7f000001``, ``017700000001``."""
    with suppress(ValueError):
        return ip_address(host.partition("%")[0].rstrip("."))
    try:
        return IPv4Address(socket.inet_aton(host.rstrip(".")))
    except (OSError, UnicodeError, ValueError):
        return None


def is_public(address: Address) -> bool:
    """True if the address, and every address embedded in it, is reachable from everywhere."""
    inner = embedded(address)
    if isinstance(address, IPv6Address) and address not in _UNICAST:
        return address in _NAT64 and all(map(is_public, inner))
    if any(address.version == network.version and address in network for network in _SPECIAL):
        return False
    return address.is_global and not address.is_multicast and all(map(is_public, inner))


def embedded(address: Address) -> list[Address]:
    """IPv4 addresses that a gateway would take out of this one: mapped, NAT64, 6to4, Teredo, ISATAP."""
    if isinstance(address, IPv4Address):
        return []
    number = int(address)
    last = IPv4Address(number & 0xFFFFFFFF)
    if address.ipv4_mapped is not None or address in _NAT64:
        return [last]
    if address.sixtofour is not None:
        return [address.sixtofour]
    if address.teredo is not None:
        return list(address.teredo)
    return [last] if number >> 32 & 0xFDFFFFFF == 0x5EFE else []
