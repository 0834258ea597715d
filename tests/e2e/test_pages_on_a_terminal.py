"""issue 29.18: help pages and `zot docs` on a terminal: wrapped, rendered and paged; elsewhere plain text."""

from __future__ import annotations

import os
import shutil
import termios
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.terminal import FakeTerminal
from zot.tui.width import cells, visible

PAGES = (["--help"], ["--help-all"], ["sessions", "--help"], ["swarm", "map", "--help"], ["docs", "first-steps"])


def terminal(zot: Zot, *words: str, columns: int = 80, rows: int = 24, **environment: str) -> FakeTerminal:
    env = {**zot.env(), **environment}
    return FakeTerminal(zot.argv(words), cwd=zot.project, env=env, columns=columns, rows=rows, first_start=True)


def printed(zot: Zot, *words: str, columns: int = 80, rows: int = 500, **environment: str) -> str:
    """All bytes of a run that must end without a key."""
    with terminal(zot, *words, columns=columns, rows=rows, **environment) as shown:
        assert shown.wait_exit() == 0
        return shown.raw.decode().replace("\r\n", "\n")


def write_pager(zot: Zot, body: str) -> str:
    path = zot.home / "pager"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_page_is_wrapped_at_the_width_of_the_terminal(zot: Zot, words: list[str]) -> None:
    lines = printed(zot, *words, columns=64).splitlines()
    piped = zot(*words).out
    wide = [line for line in lines if cells(line) > 64]
    # Only lines that cannot be broken: usage, labels, commands to copy.
    assert all("zot " in line or line.lstrip().startswith("--") for line in wide), wide
    assert len(lines) > len(piped.splitlines()) or words[0] == "docs"
    assert "\x1b" not in piped


def test_docs_are_rendered_on_a_terminal_and_plain_in_a_pipe(zot: Zot) -> None:
    shown, piped = printed(zot, "docs", "first-steps"), zot("docs", "first-steps").out
    assert piped.startswith("# ") and "\n```" in piped and "\x1b" not in piped
    assert "\x1b[" in shown and "\n```" not in shown and not shown.startswith("# ")
    assert printed(zot, "docs", "first-steps", TERM="dumb") == piped


def test_paragraphs_of_docs_fill_the_width(zot: Zot) -> None:
    """Line breaks of the source do not break the lines on the screen."""
    lines = [visible(line) for line in printed(zot, "docs", "first-steps", columns=70).splitlines()]
    start = next(at for at, line in enumerate(lines) if line.startswith("Install zot"))
    paragraph = lines[start : lines.index("", start)]
    following = [line.split()[0] for line in paragraph[1:]]
    assert len(paragraph) > 1
    assert all(len(line) + 1 + len(word) > 70 for line, word in zip(paragraph, following, strict=False))


def test_long_page_waits_in_the_pager_and_a_short_one_does_not(zot: Zot) -> None:
    pager = write_pager(zot, "trap '' INT; head -n 3; echo PAGED; read answer </dev/tty")
    with terminal(zot, "docs", "first-steps", PAGER=pager) as shown:
        shown.wait_for("PAGED")
        assert shown.exit_code is None
        shown.press("ctrl+c", "enter")  # ctrl+c belongs to the pager
        assert shown.wait_exit() == 0
    assert "PAGED" not in printed(zot, "update", "--help", rows=24, PAGER=pager)
    for program, kind in (("", "xterm"), (pager, "dumb")):
        whole = printed(zot, "--help", rows=24, PAGER=program, TERM=kind)
        assert "PAGED" not in whole and "--version" in whole


@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
def test_less_is_the_default_pager_and_shows_colours(zot: Zot) -> None:
    with terminal(zot, "--help") as shown:
        shown.wait_for("Usage: zot")
        shown.wait_idle()
        assert shown.exit_code is None and "ESC[" not in shown.screen and "--version" not in shown.screen
        shown.type("G")
        shown.wait_for("--version")
        shown.type("q")
        assert shown.wait_exit() == 0


@pytest.mark.parametrize("pager", ["missing-pager -x", "unclosed '", "sh -c 'exit 3'"])
def test_failing_pager_prints_the_page(zot: Zot, pager: str) -> None:
    assert "--version" in printed(zot, "--help", rows=24, PAGER=pager)


def test_pager_gets_no_secrets(zot: Zot, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    pager = write_pager(zot, f"env > {seen}; cat >/dev/null")
    secrets: dict[str, Any] = {"ANTHROPIC_API_KEY": "CANARY-1", "GITHUB_TOKEN": "CANARY-2", "ORDINARY": "passed on"}
    printed(zot, "--help", rows=24, PAGER=pager, **secrets)
    text = seen.read_text()
    assert "CANARY" not in text and "ORDINARY=passed on" in text


def test_without_a_keyboard_the_page_is_printed(zot: Zot) -> None:
    """A terminal as output only, as in many CI systems, must not wait for a key."""
    primary, secondary = os.openpty()
    termios.tcsetwinsize(secondary, (24, 80))
    zot.environment |= {"TERM": "xterm", "PAGER": write_pager(zot, "sleep 60")}
    try:
        with zot.start("--help", stdout=secondary) as started:
            assert started.wait(10) == 0
    finally:
        os.close(primary)
        os.close(secondary)
