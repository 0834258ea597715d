"""A keyboard that cannot be killed, and a terminal that is given back as it was."""

from __future__ import annotations

import sys
from pathlib import Path

from attack.stage import on_screen, zot_in
from attack.table import attack
from tests.fakes.model_server import FakeModelServer, Say
from tests.fakes.terminal import FakeTerminal


@attack("terminal", "a thousand ESC bytes at the keyboard", expect="the next key works")
def a_thousand_escapes(scratch: Path) -> str:
    with on_screen(scratch) as terminal:
        for _ in range(3):
            terminal.type("\x1b" * 1000)
        terminal.wait_idle()
        terminal.type("still here")
        terminal.wait_for("still here")
    return ""


@attack("terminal", "sequences of the keyboard with numbers of 5,000 digits", expect="the next key works")
def absurd_numbers(scratch: Path) -> str:
    with on_screen(scratch) as terminal:
        terminal.type("\x1b[" + "9" * 3000 + "u\x1b[97:99999999999;2u\x1b[1;" + "9" * 3000 + "A")
        terminal.type("still here")
        terminal.wait_for("still here")
        return "an internal error was reported" if "internal error" in terminal.everything else ""


@attack(
    "terminal", "an answer that ends in hidden, reversed text (-p and --stream)", expect="shown, and reset at the end"
)
def a_style_left_on(scratch: Path) -> str:
    zot = zot_in(scratch)
    for mode in ("-p", "--stream"):
        with FakeModelServer([Say("an \x1b[7m\x1b[8manswer")]) as server:
            argv = [f"{sys.prefix}/bin/zot", mode, "go", "--base-url", server.url, "--api-key", "k"]
            with FakeTerminal(argv, cwd=zot.project, env=zot.env()) as terminal:
                terminal.wait_exit()
                if b"\x1b[8m" in terminal.raw:
                    return f"{mode}: the text was hidden"
                if terminal.raw.rfind(b"\x1b[0m") < terminal.raw.rfind(b"\x1b[7m"):
                    return f"{mode}: the style stayed on: {terminal.raw!r}"
    return ""


@attack(
    "terminal", "a directory whose name writes to the clipboard, in `zot doctor` and `zot ext list`", expect="shown"
)
def names_in_lists(scratch: Path) -> str:
    zot = zot_in(scratch)
    name = "x\x1b]52;c;ZXZpbA==\x07\x9b31m\u202e"
    directory = zot.home / "zot" / "extensions" / name
    directory.mkdir(parents=True)
    for manifest in ('{"name": "y"', '{"name": "y\\u009b\\u202e", "exec": "true"}'):
        (directory / "extension.json").write_text(manifest)
        for words in (("doctor",), ("ext", "list"), ("ext", "doctor")):
            ran = zot(*words)
            if any(control in ran.out + ran.err for control in "\x1b\x07\x9b\u202e"):
                return f"zot {' '.join(words)} printed a control raw: {ran.out + ran.err!r}"
    return "" if "x⟨ESC⟩]52;c;ZXZpbA==⟨BEL⟩" in ran.out else f"the name is not shown: {ran.out!r}"
