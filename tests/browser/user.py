"""A person at the page: opens it, types, clicks, and waits for what the page shows."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.fakes.chromium import Page
from tests.fakes.served import Served

_KEYS: dict[str, tuple[str, int, str]] = {
    "Enter": ("Enter", 13, "\r"),
    "Tab": ("Tab", 9, ""),
    "Escape": ("Escape", 27, ""),
    "Backspace": ("Backspace", 8, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "Space": (" ", 32, " "),
}
_MODIFIERS = {"alt": 1, "ctrl": 2, "shift": 8}


class User:
    """``page`` is a tab with a storage of its own."""

    def __init__(self, page: Page) -> None:
        self.page = page
        for domain in ("Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        self.size(1200, 800)

    # --- the window

    def size(self, width: int, height: int, *, is_phone: bool = False) -> None:
        self.page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone
        )

    def prefers(self, scheme: str) -> None:
        self.page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def faults(self) -> list[str]:
        """Exceptions and errors of the browser, such as violations of the content security policy."""
        thrown = [each["exceptionDetails"] for each in self.page.events("Runtime.exceptionThrown")]
        logged = [each["entry"] for each in self.page.events("Log.entryAdded")]
        return [
            *(each.get("exception", {}).get("description") or each["text"] for each in thrown),
            *(each["text"] for each in logged if each["level"] == "error" and each["source"] != "network"),
        ]

    # --- the page

    def open(self, server: Served, path: str = "") -> None:
        """With the token of its address, which works once; afterwards with the key that this browser has."""
        self.page.open(path or server.address)
        self.sees(".app, .pairing")

    def start(self, server: Served) -> None:
        """A new conversation in the directory of the server."""
        self.open(server)
        self.click("#start")
        self.is_ready()

    def is_ready(self) -> None:
        self.sees("#prompt:not([readonly])")
        self.until("document.querySelector('#transcript')?.getAttribute('aria-busy') === 'false'")

    def join(self, server: Served, name: str) -> None:
        self.page.open(f"http://127.0.0.1:{server.port}/#c={name}")
        self.page.call("Page.reload")
        self.sees(".app #transcript")

    @property
    def conversation(self) -> str:
        return self.evaluate("new URLSearchParams(location.hash.slice(1)).get('c')")

    # --- what it shows

    def evaluate(self, script: str) -> Any:
        return self.page.evaluate(script)

    def until(self, condition: str, seconds: float = 20) -> Any:
        end = time.monotonic() + seconds
        while True:
            try:
                return self.page.until(condition, end - time.monotonic())
            except AssertionError as error:
                if "navigated" not in str(error) and "context was destroyed" not in str(error):
                    raise

    def sees(self, selector: str, text: str = "", seconds: float = 20) -> None:
        """An element that is drawn, with this text anywhere in it."""
        self.until(
            f"[...document.querySelectorAll({json.dumps(selector)})].some("
            f"each => each.getClientRects().length && (each.innerText ?? '').includes({json.dumps(text)}))",
            seconds,
        )

    def sees_no(self, selector: str, text: str = "", seconds: float = 20) -> None:
        self.until(
            f"![...document.querySelectorAll({json.dumps(selector)})].some("
            f"each => each.getClientRects().length && (each.innerText ?? '').includes({json.dumps(text)}))",
            seconds,
        )

    def text(self, selector: str) -> str:
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def count(self, selector: str) -> int:
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def is_done(self) -> None:
        """The agent has nothing left to do."""
        self.until("!document.querySelector('.working') && document.querySelector('#send')?.innerText === 'Send'")

    @property
    def focused(self) -> str:
        """The element with the focus, as id or class."""
        return self.evaluate("document.activeElement.id || document.activeElement.className")

    # --- what the person does

    def click(self, selector: str, text: str = "") -> None:
        """The first element that has this text, scrolled into view; waits until it is there and enabled."""
        found = (
            f"[...document.querySelectorAll({json.dumps(selector)})].find("
            "each => !each.disabled && each.getClientRects().length"
            f" && (each.innerText || each.ariaLabel || '').includes({json.dumps(text)}))"
        )
        self.until(found)
        at = self.evaluate(
            f"(async () => {{ const each = {found}; each.scrollIntoView({{block: 'nearest'}});"
            " for (const _ of [1, 2]) await new Promise(requestAnimationFrame);"
            " const r = each.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.page.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def focus(self, selector: str) -> None:
        self.until(f"document.querySelector({json.dumps(selector)})")
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")

    def fill(self, selector: str, text: str) -> None:
        self.focus(selector)
        self.evaluate(f"document.querySelector({json.dumps(selector)}).select?.()")
        self.page.type(text)

    def choose(self, selector: str, value: str) -> None:
        """An option of a select element."""
        self.until(f"document.querySelector({json.dumps(selector)})")
        self.evaluate(
            f"(() => {{ const each = document.querySelector({json.dumps(selector)});"
            f" each.value = {json.dumps(value)}; each.dispatchEvent(new Event('change', {{bubbles: true}})); }})()"
        )

    def press(self, key: str, *modifiers: str) -> None:
        name, code, text = _KEYS.get(key, (key, ord(key[0].upper()), key))
        place = f"Key{key.upper()}" if key.isalpha() and len(key) == 1 else f"Digit{key}" if key.isdigit() else name
        fields: dict[str, Any] = {"key": name, "code": place, "windowsVirtualKeyCode": code}
        held = sum(_MODIFIERS[each] for each in modifiers)
        typed = {"text": text} if text and not held & 3 else {}
        self.page.call("Input.dispatchKeyEvent", type="keyDown", modifiers=held, **fields, **typed)
        self.page.call("Input.dispatchKeyEvent", type="keyUp", modifiers=held, **fields)

    def write(self, text: str) -> None:
        """Into the editor of the prompt, without sending it."""
        self.is_ready()
        self.focus("#prompt")
        self.page.type(text)

    def prompt(self, text: str) -> None:
        """Send it, and wait until it is in the transcript."""
        self.write(text)
        before = self.count(".entry.user")
        self.press("Enter")
        self.until(f"document.querySelectorAll('.entry.user').length > {before}")

    def picture(self, path: Path) -> None:
        self.page.screenshot(path)
