"""Whether there is a browser, and opening it without handing our secrets over."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from zot.features.login import browser
from zot.features.login.browser import has_browser, open_in_browser


@pytest.mark.parametrize(
    ("environ", "container", "platform", "found"),
    [
        ({"DISPLAY": ":0"}, False, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, False, "linux", True),
        ({}, False, "linux", False),
        ({}, False, "darwin", True),
        ({"DISPLAY": ":0"}, True, "linux", False),
        ({"ZOT_FORCE_BROWSER": "1"}, True, "linux", True),
        ({"ZOT_NO_BROWSER": "1", "ZOT_FORCE_BROWSER": "1", "DISPLAY": ":0"}, False, "darwin", False),
    ],
)
def test_browser_variable_beats_detection(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], container: bool, platform: str, found: bool
) -> None:
    monkeypatch.setattr(browser, "_in_container", lambda: container)
    monkeypatch.setattr(sys, "platform", platform)
    assert has_browser(environ) is found


def test_the_address_is_handed_to_the_systems_opener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1 $SECRET" > {told}\n')
    opener.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(sys, "platform", "linux")
    assert open_in_browser("http://127.0.0.1:1/a?b=c", {"PATH": os.environ["PATH"]})
    assert told.read_text() == "http://127.0.0.1:1/a?b=c \n"


@pytest.mark.parametrize(
    ("browser", "asked"),
    [
        ("{mine}", "http://127.0.0.1:1/"),
        ("mine", "http://127.0.0.1:1/"),
        ("nobody:'never closed:{mine} --new-window", "--new-window http://127.0.0.1:1/"),
        ("{mine} --at=%s --quiet", "--at=http://127.0.0.1:1/ --quiet"),
    ],
)
def test_without_the_systems_opener_it_is_the_users_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, browser: str, asked: str
) -> None:
    told, mine = tmp_path / "told", tmp_path / "mine"
    os.mkfifo(told)
    mine.write_text(f'#!/bin/sh\necho "$@" > {told}\n')
    mine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert open_in_browser("http://127.0.0.1:1/", {"BROWSER": browser.format(mine=mine)})
    assert told.read_text() == f"{asked}\n"


def test_without_an_opener_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not open_in_browser("http://127.0.0.1:1/", {"BROWSER": "nobody:"})
