"""issue 32.1: only public addresses are fetched, in whatever spelling."""

from __future__ import annotations

import socket

import pytest

from zot.errors import ToolError
from zot.features.web.addresses import AddressPolicy, is_public, parse_address

PRIVATE = (
    *("127.0.0.1", "127.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1"),
    *("0", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "2852039166", "100.64.0.1"),
    *("100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1"),
    *("64:ff9b:1::1", "2002:7f00:1::", "2002:c0a8:101::1", "2001:0:7f00:1::", "2600::5efe:10.0.0.1"),
)
PUBLIC = ("8.8.8.8", "1.1", "2606:4700:4700::1111", "64:ff9b::8.8.8.8", "2002:808:808::1")


@pytest.mark.parametrize("text", PRIVATE)
def test_private_address_is_recognised(text: str) -> None:
    address = parse_address(text)
    assert address is not None and not is_public(address)


@pytest.mark.parametrize("text", PUBLIC)
def test_public_address_is_recognised(text: str) -> None:
    address = parse_address(text)
    assert address is not None and is_public(address)


@pytest.mark.parametrize("text", ["example.com", "1.2.3.4.5", "0x7g", "a.1", "127.0.0.1.example.com"])
def test_name_is_no_address(text: str) -> None:
    assert parse_address(text) is None


def resolver(*found: str):
    async def resolve(host: str, port: int) -> list[str]:
        if not found:
            raise socket.gaierror("unknown")
        return list(found)

    return resolve


async def test_name_with_one_private_address_is_refused() -> None:
    """A name with both would be reachable at either."""
    policy = AddressPolicy(resolve=resolver("8.8.8.8", "10.0.0.1"))
    with pytest.raises(ToolError, match=r"intern\.example \(10\.0\.0\.1\) is not a public address.*config\.json"):
        await policy.addresses("intern.example", 443)


@pytest.mark.parametrize(
    ("allowed", "host", "found"),
    [
        ("localhost", "localhost", "127.0.0.1"),
        ("LOCALHOST", "localhost.", "::1"),
        ("*.corp.example", "a.b.corp.example", "10.0.0.1"),
        ("10.0.0.0/8", "any.example", "10.255.0.1"),
        ("::1", "six.example", "::1"),
        ("127.0.0.1", "mapped.example", "::ffff:127.0.0.1"),
    ],
)
async def test_allowed_entry_permits(allowed: str, host: str, found: str) -> None:
    assert await AddressPolicy([allowed], resolver(found)).addresses(host, 80) == [found]


@pytest.mark.parametrize(
    ("allowed", "host"), [("corp.example", "a.corp.example"), ("*.corp.example", "corp.example"), ("10.0.0.0/8", "b")]
)
async def test_allowed_entry_permits_nothing_else(allowed: str, host: str) -> None:
    with pytest.raises(ToolError, match="not a public address"):
        await AddressPolicy([allowed], resolver("192.168.0.1")).addresses(host, 80)


@pytest.mark.parametrize("entry", ["10.0.0.0/99", "*", "", "http://x", "a*b", "localhost:80"])
def test_unusable_entry_is_reported_and_permits_nothing(entry: str) -> None:
    policy = AddressPolicy([entry])
    assert len(policy.problems) == 1 and "is ignored" in policy.problems[0]


async def test_unknown_name_is_an_error() -> None:
    with pytest.raises(ToolError, match=r"no such host: gone\.example"):
        await AddressPolicy(resolve=resolver()).addresses("gone.example", 80)


async def test_unknown_name_behind_a_proxy_is_left_to_it() -> None:
    """The proxy resolves names; those that are private by definition are refused all the same."""
    policy = AddressPolicy(resolve=resolver())
    assert await policy.addresses("public.example", 443, proxied=True) == []
    for host in ("intranet", "printer.local", "metadata.google.internal", "127.1"):
        with pytest.raises(ToolError, match="not a public address"):
            await policy.addresses(host, 443, proxied=True)


async def test_name_behind_a_proxy_with_a_private_address_is_refused() -> None:
    with pytest.raises(ToolError, match="not a public address"):
        await AddressPolicy(resolve=resolver("10.0.0.1")).addresses("inside.example", 443, proxied=True)
