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


class Page:
    """One tab. ``evaluate`` waits for promises and raises exceptions of the page's script."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out = to_browser
        self._in = os.fdopen(from_browser, "rb", buffering=0)
        self._rest = b""
        self._id = 0
        self._session = ""
        self._heard: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._id += 1
        message: dict[str, Any] = {"id": self._id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._answer(lambda answer: answer.get("id") == self._id)["result"]

    def open(self, url: str) -> None:
        self._heard.clear()
        self.call("Page.navigate", url=url)
        if "Page.loadEventFired" not in self._heard:
            self._answer(lambda answer: answer.get("method") == "Page.loadEventFired")

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

    def _answer(self, wanted: Any) -> dict[str, Any]:
        while True:
            while b"\0" not in self._rest:
                chunk = self._in.read(1 << 16)
                if not chunk:
                    raise AssertionError("Chromium is gone")
                self._rest += chunk
            line, _, self._rest = self._rest.partition(b"\0")
            answer = json.loads(line)
            if "error" in answer and wanted(answer):
                raise AssertionError(answer["error"]["message"])
            if wanted(answer):
                return answer
            self._heard.append(answer.get("method", ""))


@contextmanager
def browse(program: str, scratch: Path) -> Iterator[Page]:
    """A page in a separate browser, closed at the end."""
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()

    def pipes() -> None:  # the pipe is expected at descriptors 3 and 4
        first, second = os.dup(their_in), os.dup(their_out)
        os.dup2(first, 3)
        os.dup2(second, 4)

    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    argv = [program, *flags, "--remote-debugging-pipe", f"--user-data-dir={scratch}", "about:blank"]
    quiet = subprocess.DEVNULL
    browser = subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet, close_fds=False, preexec_fn=pipes)
    os.close(their_in)
    os.close(their_out)
    try:
        yield Page(our_out, our_in)
    finally:
        os.close(our_out)
        browser.kill()
        browser.wait()
