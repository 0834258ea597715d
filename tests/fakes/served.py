"""``zot serve`` as a process, and its clients over real sockets."""

from __future__ import annotations

import hashlib
import http.client
import json
import signal
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import Any

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.fakes.zot_process import Zot

PATIENCE_S = 20.0


class ServedClient:
    """One connection; ``welcome`` is its first message."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.seen: list[dict[str, Any]] = []
        self.welcome = self.next()

    def __enter__(self) -> ServedClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    @property
    def name(self) -> str:
        return self.welcome["client"]

    def send(self, type: str, **fields: Any) -> None:
        self.connection.send(json.dumps({"type": type, **fields}))

    def next(self) -> dict[str, Any]:
        message = json.loads(self.connection.recv(PATIENCE_S))
        self.seen.append(message)
        return message

    def until(self, type: str, **fields: Any) -> dict[str, Any]:
        while True:
            message = self.next()
            if message["type"] == type and fields.items() <= message.items():
                return message

    def ask(self, type: str, **fields: Any) -> dict[str, Any]:
        self.send(type, id=f"ask-{len(self.seen)}", **fields)
        return self.until("response", id=f"ask-{len(self.seen)}")

    @property
    def numbers(self) -> list[int]:
        return [message["seq"] for message in self.seen if "seq" in message and message["type"] != "welcome"]


class Served:
    """``zot serve FLAGS``; use as a context manager. With ``--host`` or ``--lan`` requests go to the TLS address, and
    the certificate must have the fingerprint that zot showed. ``within``: what starts the process."""

    def __init__(self, zot: Zot, *flags: str, within: Sequence[str] = ()) -> None:
        self.zot = zot
        self.process = subprocess.Popen(
            [*within, *zot.argv(["serve", *flags])],
            cwd=zot.project,
            env=zot.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        base, _, self.token = self.address.partition("/#token=")
        self.port = int(base.rpartition(":")[2] or 0)
        self.host, self.fingerprint = "127.0.0.1", ""
        if {"--host", "--lan"} & set(flags) and self.port:
            self.beyond = self.process.stdout.readline().strip()
            base, _, words = self.beyond.partition("/#")
            self.host = base.removeprefix("https://").rpartition(":")[0].strip("[]")
            fields = dict(word.split("=", 1) for word in words.split("&"))
            self.local_token, self.token, self.fingerprint = self.token, fields["token"], fields["fingerprint"]
        self.key = ""

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        if number == signal.SIGKILL:
            self._remove_socket()
        return code

    def _remove_socket(self) -> None:
        """A killed server leaves its directory; the next one of this home would remove it."""
        with suppress(OSError, ValueError, KeyError):
            path = Path(json.loads((self.zot.home / "zot" / "serve.json").read_text())["socket"])
            if path.parent.name.startswith("zot-serve-"):
                rmtree(path.parent, ignore_errors=True)

    def request(
        self, method: str, path: str, body: str | bytes | None = None, headers: Mapping[str, str] = {}
    ) -> tuple[int, dict[str, str], str]:
        connection = self._connection()
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()

    @property
    def trusted(self) -> ssl.SSLContext:
        """Trusts the certificate of this server only, for its names."""
        path = self.zot.home / "zot" / "serve-tls" / "certificate.pem"
        return ssl.create_default_context(cafile=str(path))

    def _connection(self) -> http.client.HTTPConnection:
        if not self.fingerprint:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=PATIENCE_S, context=self.trusted)
        connection.connect()
        shown = connection.sock.getpeercert(binary_form=True)
        assert hashlib.sha256(shown).hexdigest() == self.fingerprint
        return connection

    def exchange(self, token: str, name: str = "laptop", **headers: str) -> tuple[int, dict[str, Any]]:
        sent = {"content-type": "application/json", **headers}
        status, _, text = self.request("POST", "/device", json.dumps({"token": token, "name": name}), sent)
        return status, json.loads(text)

    def device(self) -> str:
        """The key of the first device."""
        if not self.key:
            status, answer = self.exchange(self.token)
            assert status == 200, answer
            self.key = answer["key"]
        return self.key

    def client(self, conversation: str = "new", *, key: str = "", headers: Mapping[str, str] = {}, **query: Any):
        return ServedClient(self.open(conversation, key=key or self.device(), headers=headers, **query))

    def open(
        self,
        conversation: str,
        *,
        key: str,
        headers: Mapping[str, str] = {},
        protocols: Sequence[str] = (),
        **query: Any,
    ) -> ClientConnection:
        words = "".join(f"&{name}={value}" for name, value in query.items())
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        scheme, host = (
            ("wss", f"[{self.host}]" if ":" in self.host else self.host) if self.fingerprint else ("ws", "127.0.0.1")
        )
        return connect(
            f"{scheme}://{host}:{self.port}/rpc?conversation={conversation}{words}",
            ssl=self.trusted if self.fingerprint else None,
            additional_headers={**authorization, **headers},
            subprotocols=[Subprotocol(each) for each in protocols] or None,
            open_timeout=PATIENCE_S,
            max_size=None,
            compression=None,
            legacy=True,
        )
