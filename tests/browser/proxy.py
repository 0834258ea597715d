"""A connection to the server that a test can cut: a TCP proxy which names the server in the head of each request."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

_HEAD = 64 * 1024


class CutProxy:
    """Listens on ``port``; ``cut`` closes every connection and refuses new ones until ``mend``."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._is_cut = False
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._is_cut = True
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()

    def mend(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                client.close()
            else:
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self._to_port))
        self._open += [client, server]
        ours, theirs = f"127.0.0.1:{self.port}".encode(), f"127.0.0.1:{self._to_port}".encode()
        with suppress(OSError):
            server.sendall(_head(client).replace(ours, theirs))
            threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()
            _pass_on(client, server)


def _head(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and len(data) < _HEAD:
        if not (chunk := client.recv(_HEAD)):
            break
        data += chunk
    return data


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_HEAD):
            target.sendall(chunk)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
