"""Attacks on ``zot serve`` beyond this machine: TLS, names of other machines, floods, a device that was lost."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from websockets.exceptions import ConnectionClosed

from attack.stage import zot_in
from attack.table import attack
from tests.fakes.served import Served

ADDRESS = "127.0.0.2"
JSON = {"content-type": "application/json"}


@contextmanager
def _served(scratch: Path, *flags: str) -> Iterator[Served]:
    script = scratch / "script.json"
    turn = {"tool_calls": [{"name": "bash", "args": {"command": "touch pwned"}}]}
    script.write_text(json.dumps({"turns": [turn, {"text": "done"}], "repeat": True}))
    zot = zot_in(scratch)
    with Served(zot, "--provider", "script", "--script", str(script), "--host", ADDRESS, *flags) as server:
        yield server


def _link(server: Served, source: str = "") -> socket.socket:
    return socket.create_connection((ADDRESS, server.port), 10, (source, 0) if source else None)


@attack("serve", "HTTP without TLS at the address for other machines", expect="no answer")
def plain(scratch: Path) -> str:
    with _served(scratch) as server, _link(server) as link:
        link.sendall(f"GET /theme HTTP/1.1\r\nHost: {ADDRESS}:{server.port}\r\n\r\n".encode())
        answer = link.recv(1_000)
        return "" if b"HTTP/" not in answer else repr(answer)


@attack("serve", "TLS 1.0 and 1.1, and ciphers without forward secrecy", expect="no handshake")
def downgrade(scratch: Path) -> str:
    with _served(scratch) as server:
        for version, ciphers in (
            (ssl.TLSVersion.TLSv1, "ALL:@SECLEVEL=0"),
            (ssl.TLSVersion.TLSv1_1, "ALL:@SECLEVEL=0"),
            (ssl.TLSVersion.TLSv1_2, "AES128-SHA:AES256-SHA:@SECLEVEL=0"),
        ):
            context = server.trusted
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            context.maximum_version = version
            context.set_ciphers(ciphers)
            with suppress(OSError), context.wrap_socket(_link(server), server_hostname=ADDRESS) as tls:
                return f"a handshake with {tls.version()} {tls.cipher()}"
        return ""


HEADERS: dict[str, dict[str, str]] = {
    "a name of another machine (DNS rebinding) at the address for other machines": {"host": "evil.example:{port}"},
    "the name of this machine's own address at the one for other machines": {"host": "127.0.0.1:{port}"},
    "a page of the unprotected address uses the one for other machines": {"origin": "http://{address}:{port}"},
    "a page of another port uses the address for other machines": {"origin": "https://{address}:1"},
    "a page of another website uses the address for other machines": {"origin": "https://evil.example"},
}

for _what, _headers in HEADERS.items():

    def _refused(scratch: Path, headers: dict[str, str] = _headers) -> str:
        with _served(scratch) as server:
            words = {"address": ADDRESS, "port": str(server.port)}
            sent = {name: value.format(**words) for name, value in headers.items()}
            sent["authorization"] = f"Bearer {server.device()}"
            status, _, text = server.request("GET", "/conversations", headers=sent)
            return "" if status == 403 and '"conversations"' not in text else f"{status}: {text}"

    attack("serve", _what, expect="refused (403)", quick="rebinding" in _what)(_refused)


@attack("serve", "the address for other machines, under its name at this machine's own port", expect="refused (403)")
def crossed(scratch: Path) -> str:
    with _served(scratch) as server:
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        link.request("GET", "/theme", headers={"host": f"{ADDRESS}:{server.port}"})
        status = link.getresponse().status
        link.close()
        return "" if status == 403 else str(status)


@attack("serve", "a token is used again over the network", expect="refused (403)")
def replayed(scratch: Path) -> str:
    with _served(scratch) as server:
        server.device()
        status = server.exchange(server.token)[0]
        return "" if status == 403 else str(status)


@attack(
    "serve",
    "another machine guesses tokens, to shut out this one",
    expect="only the guessing one is shut out",
    quick=False,
)
def guessing_elsewhere(scratch: Path) -> str:
    with _served(scratch) as server:
        statuses = [_exchange(server, "127.0.0.9", f"guess-{number}") for number in range(12)]
        own = _exchange(server, "127.0.0.8", server.token)
        return "" if statuses == [403] * 10 + [429] * 2 and own == 200 else f"{statuses} {own}"


def _exchange(server: Served, source: str, token: str) -> int:
    link = http.client.HTTPSConnection(
        ADDRESS, server.port, timeout=10, context=server.trusted, source_address=(source, 0)
    )
    link.request("POST", "/device", json.dumps({"token": token}), JSON)
    status = link.getresponse().status
    link.close()
    return status


@attack("serve", "a machine opens three hundred handshakes and finishes none", expect="others are served", quick=False)
def half_open(scratch: Path) -> str:
    with _served(scratch) as server:
        links = [_link(server, "127.0.0.9") for _ in range(300)]
        began = time.monotonic()
        status = _exchange(server, "127.0.0.8", server.token)
        took = time.monotonic() - began
        for link in links:
            link.close()
        return "" if status == 200 and took < 3 else f"{status} after {took:.1f} s"


@attack("serve", "a lost phone goes on with its open page after it was revoked", expect="closed; nothing runs")
def lost_phone(scratch: Path) -> str:
    with _served(scratch, "--permission-mode", "everything") as server, server.client() as phone:
        server.zot("serve", "revoke", "laptop", model=False)
        try:
            phone.send("prompt", message="go")
            phone.until("done")
        except ConnectionClosed:
            return "it ran" if (server.zot.project / "pwned").exists() else ""
        return "it went on"


@attack("serve", "another machine connects to an address that was not named", expect="it listens on two addresses")
def other_addresses(scratch: Path) -> str:
    with _served(scratch) as server:
        wanted = f":{server.port:04X}"
        rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
        listening = {row[1] for row in rows if len(row) > 3 and row[3] == "0A" and row[1].endswith(wanted)}
        return "" if listening == {f"0100007F{wanted}", f"0200007F{wanted}"} else f"{listening}"


@attack("serve", "another user reads the key of the certificate, or replaces it", expect="private files")
def certificate_files(scratch: Path) -> str:
    with _served(scratch) as server:
        directory = server.zot.home / "zot" / "serve-tls"
        modes = {path.name: path.stat().st_mode & 0o777 for path in (directory, *directory.iterdir())}
        wrong = {name: oct(mode) for name, mode in modes.items() if mode & 0o077}
        shown = [server.request("GET", f"/{name}")[0] for name in ("key.pem", "serve-tls/key.pem", "certificate.pem")]
        return "" if not wrong and shown == [404, 404, 404] else f"{wrong} {shown}"


@attack("serve", "a machine in between shows a certificate of its own", expect="a client that compares refuses")
def in_between(scratch: Path) -> str:
    (scratch / "other").mkdir()
    with _served(scratch) as server, _served(scratch / "other") as other:
        refused: Callable[[], object] = lambda: ssl.create_default_context(  # noqa: E731
            cafile=str(other.zot.home / "zot" / "serve-tls" / "certificate.pem")
        ).wrap_socket(_link(server), server_hostname=ADDRESS)
        try:
            refused()
        except ssl.SSLCertVerificationError:
            return "" if server.fingerprint != other.fingerprint else "two servers have one certificate"
        return "the certificate of another server was accepted"


@attack("serve", "a second zot makes the server listen beyond this machine", expect="refused")
def widened(scratch: Path) -> str:
    script = scratch / "script.json"
    script.write_text('{"turns": []}')
    zot = zot_in(scratch)
    with Served(zot, "--provider", "script", "--script", str(script)) as server:
        second = zot("serve", "--host", ADDRESS, model=False)
        try:
            socket.create_connection((ADDRESS, server.port), 2).close()
        except OSError:
            return "" if second.code == 1 else second.out
        return "it listens"


WIDE = ("0.0.0.0", "::", "", "*", "224.0.0.1", "255.255.255.255 ", "[::]")


@attack("serve", "every address of this machine is served by mistake", expect="an error that names the fix")
def wildcards(scratch: Path) -> str:
    zot = zot_in(scratch)
    for host in WIDE:
        ran = zot("serve", "--host", host, model=False)
        if ran.code == 0 or "Traceback" in ran.err:
            return f"{host!r}: {ran.out} {ran.err}"
    return ""
