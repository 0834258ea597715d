"""issue 34: ``zot serve --host`` and ``--lan``: TLS, certificates, names, mistakes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.fakes.served import Served
from tests.fakes.zot_process import Zot

ELSEWHERE = "127.0.0.2"  # of this machine, but not the address that is served without TLS
TOUCH = {"text": "I touch it.", "tool_calls": [{"name": "bash", "args": {"command": "touch touched"}}]}
DONE = {"text": "All done."}

Start = Callable[..., Served]


@pytest.fixture
def served(zot: Zot, tmp_path: Path) -> Iterator[Start]:
    running: list[Served] = []

    def start(*flags: str, **options: Any) -> Served:
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"turns": [TOUCH, DONE], "repeat": True}))
        running.append(Served(zot, "--provider", "script", "--script", str(script), *flags, **options))
        return running[-1]

    yield start
    for each in running:
        each.end(signal.SIGKILL)


def _connected(server: Served) -> socket.socket:
    return socket.create_connection((server.host, server.port), 10)


def test_client_over_tls_drives_and_approves(served: Start, zot: Zot) -> None:
    server = served("--host", ELSEWHERE, "--permission-mode", "ask")
    assert server.beyond.startswith(f"https://{ELSEWHERE}:{server.port}/#token=")
    with server.client() as driver:
        driver.send("prompt", message="go")
        asked = driver.until("approval_request")
        fields = {"request_id": asked["request_id"], "call_hash": asked["call_hash"], "decision": "once"}
        assert driver.ask("approve", **fields)["success"]
        driver.until("done")
    assert (zot.project / "touched").exists()
    assert (
        ELSEWHERE in zot("serve", "devices", model=False).out or "127.0.0.1" in zot("serve", "devices", model=False).out
    )


def test_this_machine_keeps_its_plain_address(served: Start) -> None:
    server = served("--host", ELSEWHERE)
    with socket.create_connection(("127.0.0.1", server.port), 10) as link:
        link.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        assert link.recv(100).startswith(b"HTTP/1.1 200")
    status, answer = server.exchange(server.local_token)
    assert status == 200 and answer["key"]


def test_plain_http_and_old_tls_get_no_answer(served: Start) -> None:
    server = served("--host", ELSEWHERE)
    with _connected(server) as link:
        link.sendall(f"GET / HTTP/1.1\r\nHost: {ELSEWHERE}:{server.port}\r\n\r\n".encode())
        assert b"HTTP" not in link.recv(1000)
    old = server.trusted
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with _connected(server) as link, pytest.raises((ssl.SSLError, ConnectionError)):
        old.wrap_socket(link, server_hostname=ELSEWHERE)
    assert server.request("GET", "/")[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "{name}:{port}"}, 200),
        ({"origin": "https://{host}:{port}"}, 200),
        ({"host": "127.0.0.1:{port}"}, 403),
        ({"host": "localhost:{port}"}, 403),
        ({"host": "{host}"}, 403),
        ({"host": "evil.example:{port}"}, 403),
        ({"host": "{host}:{port}.evil.example"}, 403),
        ({"origin": "http://{host}:{port}"}, 403),
        ({"origin": "https://{name}:{port}"}, 403),
        ({"origin": "https://{host}"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
def test_host_and_origin_are_exactly_those_served(served: Start, headers: dict[str, str], status: int) -> None:
    server = served("--host", ELSEWHERE)
    given = {"name": socket.gethostname().lower(), "host": ELSEWHERE, "port": str(server.port)}
    sent = {key: value.format(**given) for key, value in headers.items()}
    assert server.request("GET", "/", headers=sent)[0] == status


def test_revoked_device_is_cut_off_over_tls(served: Start, zot: Zot) -> None:
    server = served("--host", ELSEWHERE)
    with server.client() as page:
        assert zot("serve", "revoke", "laptop", model=False).code == 0
        began = time.monotonic()
        with pytest.raises(ConnectionClosed) as closed:
            page.until("never")
        assert time.monotonic() - began < 5
        assert closed.value.rcvd is not None and closed.value.rcvd.reason == "this device was revoked"
    bearer = {"authorization": f"Bearer {server.key}"}
    assert server.request("GET", "/conversations", headers=bearer)[0] == 401


def test_half_open_handshakes_do_not_shut_out_others(served: Start) -> None:
    server = served("--host", ELSEWHERE)
    links = [_connected(server) for _ in range(100)]
    try:
        began = time.monotonic()
        assert server.exchange(server.token)[0] == 200
        assert time.monotonic() - began < 3
    finally:
        for link in links:
            link.close()


# --- the certificate


def test_certificate_is_made_once_with_the_names(served: Start, zot: Zot) -> None:
    first = served("--host", ELSEWHERE)
    directory = zot.home / "zot" / "serve-tls"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / "key.pem").stat().st_mode & 0o777 == 0o600
    names = _names(first)
    assert ("IP Address", ELSEWHERE) in names and ("DNS", socket.gethostname().lower()) in names
    first.end()
    assert served("--host", ELSEWHERE).fingerprint == first.fingerprint


def _names(server: Served) -> tuple[tuple[str, str], ...]:
    with server.trusted.wrap_socket(_connected(server), server_hostname=server.host) as link:
        found: Any = link.getpeercert()
        return found["subjectAltName"]


def test_certificate_gets_a_new_address_and_keeps_its_key(served: Start, zot: Zot) -> None:
    first = served("--host", ELSEWHERE)
    key = (zot.home / "zot" / "serve-tls" / "key.pem").read_bytes()
    first.end()
    second = served("--host", "127.0.0.3")
    assert second.fingerprint != first.fingerprint
    assert {("IP Address", "127.0.0.3"), ("IP Address", ELSEWHERE)} <= set(_names(second))
    second.end()
    assert served("--host", ELSEWHERE).fingerprint == second.fingerprint
    assert (zot.home / "zot" / "serve-tls" / "key.pem").read_bytes() == key


@pytest.mark.parametrize("change", ["ended", "clock before it", "cut off", "key lost"])
def test_unfit_certificate_is_made_again(served: Start, zot: Zot, change: str) -> None:
    first = served("--host", ELSEWHERE)
    first.end()
    directory = zot.home / "zot" / "serve-tls"
    made = json.loads((directory / "made.json").read_text())
    if change == "ended":
        made["end"] = time.time() + 3600
    elif change == "clock before it":
        made["begin"] = time.time() + 3600
    elif change == "cut off":
        (directory / "certificate.pem").write_text("-----BEGIN CERTIFICATE-----\nMII")
    else:
        (directory / "key.pem").unlink()
    (directory / "made.json").write_text(json.dumps(made))
    second = served("--host", ELSEWHERE)
    assert second.fingerprint != first.fingerprint
    assert second.exchange(second.token)[0] == 200


def test_own_certificate_is_used(served: Start, zot: Zot, tmp_path: Path) -> None:
    served("--host", ELSEWHERE).end()
    directory = zot.home / "zot" / "serve-tls"
    for name in ("certificate.pem", "key.pem"):
        shutil.copy(directory / name, tmp_path / name)
    files = ("--tls-cert", str(tmp_path / "certificate.pem"), "--tls-key", str(tmp_path / "key.pem"))
    server = served("--host", ELSEWHERE, *files)
    assert server.exchange(server.token)[0] == 200


def test_ipv6_address_is_bracketed(served: Start) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    server = served("--host", "::1")
    assert server.beyond.startswith(f"https://[::1]:{server.port}/#")
    with server.client() as client:
        assert client.ask("ping")["success"]


# --- the local network, in a namespace of its own


def _in_network(*commands: str) -> list[str]:
    """What runs a program in a network namespace that these commands set up."""
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-rn", "ip", "link"], capture_output=True).returncode
    ):
        pytest.skip("no network namespaces here")
    return ["unshare", "-rn", "sh", "-c", " && ".join(["ip link set lo up", *commands, 'exec "$@"']), "sh"]


def test_lan_serves_the_address_of_the_network(served: Start, zot: Zot) -> None:
    address = "192.168.77.5"
    within = _in_network(f"ip addr add {address}/24 dev lo", f"ip route add default dev lo src {address}")
    server = served("--lan", within=within)
    assert server.host == address
    script = f"""
import hashlib, http.client, json, ssl
context = ssl.create_default_context(cafile={str(zot.home / "zot" / "serve-tls" / "certificate.pem")!r})
link = http.client.HTTPSConnection({address!r}, {server.port}, context=context, timeout=10)
link.connect()
assert hashlib.sha256(link.sock.getpeercert(True)).hexdigest() == {server.fingerprint!r}
link.request("POST", "/device", json.dumps({{"token": {server.token!r}}}), {{"content-type": "application/json"}})
print(link.getresponse().status)
"""
    enter = ["nsenter", "--preserve-credentials", "-U", "-n", "-t", str(server.process.pid)]
    ran = subprocess.run([*enter, zot.argv([])[0], "-c", script], capture_output=True, text=True, timeout=30)
    assert ran.stdout.strip() == "200", ran.stderr
    assert address in zot("serve", "devices", model=False).out


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        ((), "no local network"),
        (("ip addr add 8.8.4.4/24 dev lo", "ip route add default dev lo src 8.8.4.4"), "a public address"),
    ],
)
def test_lan_without_a_local_network_says_so(zot: Zot, commands: tuple[str, ...], said: str) -> None:
    argv = [*_in_network(*commands), *zot.argv(["serve", "--lan"])]
    ran = subprocess.run(argv, cwd=zot.project, env=zot.env(), capture_output=True, text=True, timeout=30)
    assert ran.returncode == 1 and said in ran.stderr and "--host" in ran.stderr and "Traceback" not in ran.stderr


# --- mistakes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "192.0.2.9"), "this machine does not have this address"),
        (("--host", "0.0.0.0"), "use --lan"),
        (("--host", "::"), "use --lan"),
        (("--host", "224.0.0.1"), "an address of this machine"),
        (("--host", "255.255.255.255"), "an address of this machine"),
        (("--host", "fe80::1%eth0"), "without a zone"),
        (("--host", "no such host"), "expected an address or a name"),
        (("--host", "no-such-host.invalid"), "cannot find its address"),
        (("--host", "-"), "expected an address or a name"),
        (("--host",), "needs a value"),
        (("--host", "127.0.0.2", "--lan"), "finds the address itself"),
        (("--tls-cert", "x.pem", "--host", "127.0.0.2"), "belong together"),
        (("--tls-cert", "x.pem", "--tls-key", "y.pem"), "without TLS"),
        (("--host", "127.0.0.2", "--tls-cert", "/no/x.pem", "--tls-key", "/no/y.pem"), "cannot read this certificate"),
    ],
)
def test_network_mistakes_are_explained(zot: Zot, words: tuple[str, ...], said: str) -> None:
    ran = zot("serve", *words, model=False)
    assert ran.code in (1, 2) and said in ran.err and "Traceback" not in ran.err


def test_missing_openssl_is_named_with_the_fix(zot: Zot, tmp_path: Path) -> None:
    zot.environment["PATH"] = str(tmp_path)
    ran = zot("serve", "--host", ELSEWHERE, model=False)
    assert ran.code == 1 and "openssl is missing; install it" in ran.err and "--tls-cert" in ran.err


def test_unusable_certificate_files_are_named(served: Start, zot: Zot, tmp_path: Path) -> None:
    served("--host", ELSEWHERE).end()
    certificate = zot.home / "zot" / "serve-tls" / "certificate.pem"
    other, locked, empty = tmp_path / "other.pem", tmp_path / "locked.pem", tmp_path / "empty.pem"
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", other], check=True)
    encrypt = [
        "openssl",
        "ec",
        "-aes128",
        "-passout",
        "pass:x",
        "-in",
        certificate.with_name("key.pem"),
        "-out",
        locked,
    ]
    subprocess.run(encrypt, check=True, capture_output=True)
    empty.write_text("nothing")
    for cert, key, said in (
        (certificate, other, "mismatch"),
        (certificate, locked, "needs a password"),
        (certificate, tmp_path / "none.pem", "cannot read"),
        (empty, other, "no certificate in PEM format"),
    ):
        files = ("--tls-cert", str(cert), "--tls-key", str(key))
        ran = zot("serve", "--host", ELSEWHERE, *files, model=False)
        assert ran.code == 1 and said in ran.err and "Traceback" not in ran.err, ran.err


def test_port_taken_on_the_network_is_named(zot: Zot) -> None:
    with socket.create_server((ELSEWHERE, 0)) as taken:
        port = taken.getsockname()[1]
        ran = zot("serve", "--host", ELSEWHERE, "--port", str(port), model=False)
    assert ran.code == 1 and f"{ELSEWHERE}:{port}" in ran.err and "choose another --port" in ran.err


def test_second_server_shows_the_network_address(served: Start, zot: Zot) -> None:
    server = served("--host", ELSEWHERE)
    second = zot("serve", model=False)
    here, beyond = second.out.split()
    assert here.startswith("http://127.0.0.1") and beyond.startswith(f"https://{ELSEWHERE}:{server.port}/#token=")
    assert beyond.endswith(f"&fingerprint={server.fingerprint}")


def test_second_server_cannot_widen_the_first(served: Start, zot: Zot) -> None:
    served()
    for flags in (("--lan",), ("--host", ELSEWHERE)):
        second = zot("serve", *flags, model=False)
        assert second.code == 1 and "for this machine only" in second.err
        assert "`zot serve stop`" in second.err and flags[0] in second.err


def test_without_a_network_no_tls_is_loaded(zot: Zot) -> None:
    zot.environment["PYTHONPROFILEIMPORTTIME"] = "1"
    script = zot.project / "s.json"
    script.write_text('{"turns": []}')
    with Served(zot, "--provider", "script", "--script", str(script)) as server:
        assert server.port
    assert server.process.stderr is not None
    imported = {line.rpartition("|")[2].strip() for line in server.process.stderr.read().splitlines()}
    assert not imported & {"zot.frontends.serve.certificates", "zot.tui.qr_code"}
    assert not os.path.exists(zot.home / "zot" / "serve-tls")
