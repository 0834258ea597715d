"""A real headless Chromium, driven over its debugging pipe (no web socket, no library).

Not a fake: it lives here because several tests may want a browser. ``find`` is None where there is none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-renderer-backgrounding", "--disable-background-timer-throttling"),
    *("--disable-backgrounding-occluded-windows", "--disable-extensions"),
)


class Pipe:
    """The connection to the browser. Events are kept by session until they are asked for."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out = to_browser
        self._in = os.fdopen(from_browser, "rb", buffering=0)
        self._parts: list[bytes] = []
        self._ready: list[bytes] = []
        self._id = 0
        self.heard: dict[str, list[dict[str, Any]]] = {}

    def call(self, session: str, method: str, **params: Any) -> dict[str, Any]:
        self._id += 1
        message: dict[str, Any] = {"id": self._id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:  # a pipe takes 64 KiB at once
            data = data[os.write(self._out, data) :]
        number = self._id
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(answer["error"]["message"])
                return answer["result"]

    def receive(self) -> dict[str, Any]:
        while not self._ready:
            chunk = self._in.read(1 << 16)
            if not chunk:
                raise AssertionError("Chromium is gone")
            *whole, rest = chunk.split(b"\0")
            for part in whole:
                self._ready.append(b"".join([*self._parts, part]))
                self._parts = []
            self._parts.append(rest)
        answer = json.loads(self._ready.pop(0))
        if "id" not in answer:
            self.heard.setdefault(answer.get("sessionId", ""), []).append(answer)
        return answer


class Page:
    """One tab. ``evaluate`` waits for promises and raises exceptions of the page's script."""

    def __init__(self, pipe: Pipe, context: str = "", *, owns_context: bool = False) -> None:
        self.pipe = pipe
        self._context = context
        self._owns_context = owns_context
        more = {"browserContextId": context} if context else {}
        self._target = pipe.call("", "Target.createTarget", url="about:blank", newWindow=True, **more)["targetId"]
        self._session = pipe.call("", "Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def another(self, *, alone: bool = False) -> Page:
        """A further tab; ``alone``: without the storage of this one."""
        if not alone:
            return Page(self.pipe, self._context)
        return Page(self.pipe, self.pipe.call("", "Target.createBrowserContext")["browserContextId"], owns_context=True)

    def close(self) -> None:
        self.pipe.call("", "Target.closeTarget", targetId=self._target)
        if self._owns_context:
            self.pipe.call("", "Target.disposeBrowserContext", browserContextId=self._context)

    def download_to(self, folder: Path) -> None:
        """Save downloads there, without asking."""
        more = {"browserContextId": self._context} if self._context else {}
        self.pipe.call("", "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), **more)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.pipe.call(self._session, method, **params)

    @property
    def _heard(self) -> list[dict[str, Any]]:
        return self.pipe.heard.setdefault(self._session, [])

    def events(self, method: str) -> list[dict[str, Any]]:
        """The events of this kind so far, which must be enabled."""
        return [event["params"] for event in self._heard if event["method"] == method]

    def open(self, url: str) -> None:
        self._heard.clear()
        self.call("Page.navigate", url=url)
        while not self.events("Page.loadEventFired"):
            self.pipe.receive()

    def evaluate(self, script: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if trouble := answer.get("exceptionDetails"):
            raise AssertionError(trouble.get("exception", {}).get("description") or trouble["text"])
        return answer["result"].get("value")

    def until(self, condition: str, seconds: float = 10) -> Any:
        """Waits in the page, frame by frame, until the expression is true."""
        limit = int(seconds * 1000)
        return self.evaluate(
            f"new Promise((done, fail) => {{ const end = performance.now() + {limit};"
            f" const look = () => {{ const value = ({condition}); if (value) done(value);"
            f" else if (performance.now() > end) fail(new Error('never true: ' + document.body.innerText));"
            " else setTimeout(look, 10); }; look(); })"
        )

    def wait(self, condition: str, seconds: float = 60) -> None:
        """As ``until``, and it outlives the page: a form that is sent leads to another one."""
        import time

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.evaluate(condition):
                    return
            except AssertionError:
                pass  # between two pages there is none
            time.sleep(0.02)
        raise AssertionError(f"never true: {condition}")

    def type(self, text: str, *, enter: bool = False) -> None:
        self.call("Input.insertText", text=text)
        if enter:
            key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
            self.call("Input.dispatchKeyEvent", type="keyDown", **key)
            self.call("Input.dispatchKeyEvent", type="keyUp", **key)

    def click(self, selector: str) -> None:
        at = self.evaluate(
            f"(r => ({{x: r.x + r.width / 2, y: r.y + r.height / 2}}))"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def screenshot(self, path: Path) -> None:
        import base64

        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextmanager
def browse(program: str, scratch: Path) -> Iterator[Page]:
    """A page in a separate browser, closed at the end."""
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()

    def pipes() -> None:  # the pipe is expected at descriptors 3 and 4
        first, second = os.dup(their_in), os.dup(their_out)
        os.dup2(first, 3)
        os.dup2(second, 4)

    argv = [program, *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={scratch}", "about:blank"]
    quiet = subprocess.DEVNULL
    browser = subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet, close_fds=False, preexec_fn=pipes)
    os.close(their_in)
    os.close(their_out)
    try:
        yield Page(Pipe(our_out, our_in))
    finally:
        os.close(our_out)
        browser.kill()
        browser.wait()
