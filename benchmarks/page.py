"""The page of ``zot serve`` in headless Chromium: long frames during a flood of events, frames a second while text
streams, and the time until the end of a long session is shown."""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.row import Row
from tests.fakes import chromium
from tests.fakes.page_host import PageHost
from zot.frontends.serve.static_files import DIRECTORY

EVENTS, TOKENS_S, STREAM_S, MESSAGES = 5_000, 200, 5, 2_000
FLOODS = 3  # the quietest counts: other processes make frames longer
_IDLE_S = 1.5
_TEXT = "A sentence with `code`, **bold** words and a [link](https://example.com).\n\n- one item\n- another item\n\n"
_CODE = "```python\ndef total(prices):\n    return sum(prices)\n```\n\n"

# Frames as they are drawn, and those that took long as the browser itself counts them.
_WATCH = """
window.seen = {deltas: [], long: []};
new PerformanceObserver(list => list.getEntries().forEach(e => seen.long.push(e.duration)))
  .observe({type: 'long-animation-frame', buffered: false});
let last = performance.now();
const tick = now => { seen.deltas.push(now - last); last = now; requestAnimationFrame(tick); };
requestAnimationFrame(tick); 0
"""
_RESET = "seen.deltas.length = 0; seen.long.length = 0; 0"


def rows() -> Iterator[Row]:
    whole = sum(len(gzip.compress(path.read_bytes(), 9)) for path in DIRECTORY.iterdir())
    yield Row("page: all its files, compressed", whole / 1000, 150, "kB")
    program = chromium.find()
    if program is None:
        return
    messages = {name: list(_messages(name, count)) for name, count in (("small", 4), ("large", MESSAGES))}
    with (
        tempfile.TemporaryDirectory() as scratch,
        PageHost(messages) as host,
        chromium.browse(program, Path(scratch) / "browser") as page,
    ):
        page.call("Emulation.setDeviceMetricsOverride", width=1200, height=800, deviceScaleFactor=1, mobile=False)
        page.call("Page.bringToFront")
        page.open(host.address)
        page.evaluate("localStorage.setItem('zot-key', 'key'), location.hash = '#c=small', 0")
        page.call("Page.reload")
        page.wait("document.querySelectorAll('.entry').length > 3")
        page.evaluate(_WATCH)
        yield min((_flood(page, host, attempt) for attempt in range(FLOODS)), key=lambda row: row.measured)
        yield _stream(page, host)
        yield _opening(page)


def _flood(page: chromium.Page, host: PageHost, attempt: int) -> Row:
    """All events at once: the worst that a connection can deliver."""
    page.evaluate(_RESET)
    began = time.monotonic()
    host.send(_turns(EVENTS, attempt))
    page.until(
        f"[...document.querySelectorAll('.entry')].at(-1).textContent.includes('the end of flood {attempt}')", 60
    )
    took = time.monotonic() - began
    longest = page.evaluate("Math.max(0, ...seen.long)")
    drawn = page.evaluate("Math.max(...seen.deltas)")
    note = f"shown in {took:.1f} s; longest distance of two frames {drawn:.0f} ms"
    return Row(f"page: longest frame while {EVENTS:,} events arrive", longest, 50, "ms", note=note)


def _stream(page: chromium.Page, host: PageHost) -> Row:
    page.evaluate(_RESET)
    time.sleep(_IDLE_S)
    idle = page.evaluate("1000 * seen.deltas.length / seen.deltas.reduce((a, b) => a + b, 0)")
    words = f"{_TEXT}{_CODE}".replace(" ", " \0").split("\0")
    count = TOKENS_S * STREAM_S
    host.send([{"type": "turn_start", "step": 1}, {"type": "assistant_start"}])
    page.evaluate(_RESET)
    host.send(({"type": "text_delta", "delta": words[at % len(words)]} for at in range(count)), 1 / TOKENS_S)
    shown = page.evaluate("1000 * seen.deltas.length / seen.deltas.reduce((a, b) => a + b, 0)")
    longest = page.evaluate("Math.max(...seen.deltas)")
    note = f"{idle:.1f} without; longest distance of two frames {longest:.0f} ms"
    name = f"page: frames a second while {TOKENS_S} tokens a second stream"
    return Row(name, shown, 57, "frames/s", at_least=True, note=note)


def _opening(page: chromium.Page) -> Row:
    """From the click on a conversation to the frame after its last message is in the document."""
    took = page.evaluate(
        "new Promise(done => { const rows = [...document.querySelectorAll('.sidebar .row-main')];"
        " const began = performance.now(); rows.find(r => r.innerText.includes('large')).click();"
        " const look = () => [...document.querySelectorAll('.entry')].at(-1)?.textContent.includes('answer of large')"
        " ? requestAnimationFrame(() => done(performance.now() - began)) : setTimeout(look, 1); look(); })"
    )
    drawn = page.evaluate("document.querySelectorAll('.entry').length")
    note = f"{drawn} entries are in the document"
    return Row(f"page: end of a session of {MESSAGES:,} messages shown", took, 300, "ms", note=note)


def _messages(name: str, count: int) -> Iterator[dict[str, Any]]:
    """Prompts, answers with calls, and results."""
    size = count // 4
    for number in range(size):
        last = f" the last answer of {name}" if number == size - 1 else ""
        call = {"type": "tool_call", "id": f"m{number}", "name": "bash", "args": {"command": f"make step{number}"}}
        result = {"type": "tool_result", "call_id": f"m{number}", "is_error": False, "content": [_text("line\n" * 20)]}
        yield {"role": "user", "content": [_text(f"prompt {number}")], "time": ""}
        yield {"role": "assistant", "content": [_text(_TEXT), call], "time": ""}
        yield {"role": "tool", "content": [result], "time": ""}
        yield {"role": "assistant", "content": [_text(_TEXT + _CODE + last)], "time": ""}


def _turns(count: int, attempt: int) -> list[dict[str, Any]]:
    """Events of turns with text, calls, live output and results; about this many."""
    found: list[dict[str, Any]] = []
    number = 0
    while len(found) < count - 3:
        call = {"id": f"c{attempt}-{number}", "name": "bash", "args": {"command": f"make step{number}"}}
        found += [{"type": "turn_start", "step": number}, {"type": "assistant_start"}]
        found += [{"type": "text_delta", "delta": word} for word in _TEXT.replace(" ", " \0").split("\0")]
        found.append({"type": "assistant_message", "content": [_text(_TEXT)], "time": ""})
        found.append({"type": "tool_call", **call})
        found += [{"type": "tool_progress", "id": call["id"], "text": f"line {n}\n"} for n in range(4)]
        result = {"is_error": False, "content": [_text("line\n" * 40)], "view": None}
        found.append({"type": "tool_result", "id": call["id"], **result})
        number += 1
    return [*found[: count - 2], {"type": "text_delta", "delta": f"the end of flood {attempt}"}, {"type": "done"}]


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


if __name__ == "__main__":
    for row in rows():
        print(json.dumps(row.cells(), ensure_ascii=False))
