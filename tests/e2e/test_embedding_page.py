"""The web page of ``examples/embedding``, in a real browser, against a scripted model."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_rpc_examples import use_server
from tests.fakes import chromium
from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say, Slow

Serve = Callable[..., FakeModelServer]
APP = Path(__file__).parents[2] / "examples/embedding/app.py"
ANSWER = "document.querySelector('.zot:last-child')?.textContent"
IDLE = "document.querySelector('button').textContent === 'Ask'"


@pytest.fixture
def app(zot: Zot) -> Iterator[Callable[[], str]]:
    """Starts the app; its address. Call it after ``serve``."""
    running: list[subprocess.Popen[str]] = []

    def start() -> str:
        argv = [sys.executable, str(APP), str(zot.project)]
        running.append(subprocess.Popen(argv, env=use_server(zot), stdout=subprocess.PIPE, text=True))
        assert running[-1].stdout
        return running[-1].stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def page(tmp_path: Path) -> Iterator[chromium.Page]:
    program = chromium.find()
    if program is None:
        pytest.skip("there is no Chromium")
    with chromium.browse(program, tmp_path / "chromium") as page:
        yield page


def test_a_question_is_answered_with_its_tools_shown(
    serve: Serve, app: Callable[[], str], page: chromium.Page, zot: Zot
) -> None:
    (zot.project / "notes.txt").write_text("remember the milk")
    serve([CallTools([("read", {"path": "notes.txt"})], "Let me look."), Say("Milk <b>is</b> to be remembered.")])
    page.open(app())
    page.click("input")
    page.type("What is in my notes?", enter=True)
    page.until(f"{ANSWER}?.endsWith('remembered.') && {IDLE}")
    shown = page.evaluate(ANSWER)
    assert shown == 'Let me look.\n[read {"path":"notes.txt"}]\nMilk <b>is</b> to be remembered.'
    assert page.evaluate("document.querySelector('.you').textContent") == "What is in my notes?"
    assert page.evaluate("document.querySelectorAll('.zot b').length") == 0


def test_the_answer_streams_and_stop_ends_it(serve: Serve, app: Callable[[], str], page: chromium.Page) -> None:
    server = serve([Slow(Say("word " * 2000), 0.01), Say("after")])
    page.open(app())
    page.click("input")
    page.type("go on", enter=True)
    page.until(f"{ANSWER}?.startsWith('word word')")
    assert len(page.evaluate(ANSWER)) < 5000
    # Not by mouse: the page grows with every word, and on a busy machine the button has moved when the click arrives.
    page.evaluate("document.querySelector('button').click()")
    page.until(IDLE)
    assert server.wait_until_client_closes(), "zot went on without a reader"
    page.click("input")
    page.type("again", enter=True)
    assert page.until(f"{ANSWER} === 'after'")


def test_closing_the_page_cancels_the_prompt(serve: Serve, app: Callable[[], str], page: chromium.Page) -> None:
    server = serve([Slow(Say("word " * 2000), 0.01)])
    page.open(app())
    page.click("input")
    page.type("go on", enter=True)
    page.until(f"{ANSWER}?.startsWith('word')")
    page.open("about:blank")
    assert server.wait_until_client_closes()


def test_a_failure_is_shown(serve: Serve, app: Callable[[], str], page: chromium.Page) -> None:
    serve([Refuse(400, {"error": {"type": "invalid_request_error", "message": "no such thing"}})])
    page.open(app())
    page.click("input")
    page.type("hi", enter=True)
    page.until(f"document.querySelector('.error')?.textContent.includes('no such thing') && {IDLE}")


@pytest.mark.parametrize(
    ("headers", "method"),
    [({"x-key": "guessed"}, "POST"), ({}, "POST"), ({"Host": "evil.example"}, "GET")],
)
def test_other_origin_is_rejected(serve: Serve, app: Callable[[], str], headers: dict[str, str], method: str) -> None:
    server = serve([Say("secret")])
    path = "ask" if method == "POST" else ""
    request = urllib.request.Request(app() + path, b"hi" if method == "POST" else None, headers, method=method)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, timeout=5)
    assert not server.requests
