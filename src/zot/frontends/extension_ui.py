"""Extension UI of front ends without a screen: notes are lines on stderr."""

from __future__ import annotations

from collections.abc import Callable

from zot.agent.extension_ui import LEVELS, ExtensionUI
from zot.frontends.console import print_stderr


class StderrExtensionUI(ExtensionUI):
    """``show`` prints the answer of a slash command."""

    def __init__(self, show: Callable[[str, str], None]) -> None:
        self._show = show

    def display(self, extension: str, text: str) -> None:
        self._show(extension, text)

    def notify(self, extension: str, level: str, message: str) -> None:
        print_stderr(f"[{extension}] {level if level in LEVELS else 'info'}: {message}")
