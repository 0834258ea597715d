"""A web server that answers by path, in its own thread: release feeds, providers that refuse a key."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.fakes.http_server import CERTIFICATE


class FakeWeb:
    """Use as a context manager. ``answers`` gives (status, body) by path; anything else is 404, and the body of a 30x
    is its location. ``asked`` has the requests. With ``tls`` its certificate is ``CERTIFICATE`` of the HTTP server.
    """

    def __init__(self, answers: Mapping[str, tuple[int, str | bytes]], *, tls: bool = False) -> None:
        self.asked: list[str] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fake.asked.append(self.path)
                status, body = answers.get(self.path, (404, ""))
                data = body.encode() if isinstance(body, str) else body
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("location", data.decode())
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Tests are quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._scheme = "https" if tls else "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE, CERTIFICATE.with_name("key.pem"))
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FakeWeb:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
