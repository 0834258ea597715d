"""/copy: an answer or its code goes to the clipboard, through the terminal or a program."""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path
from typing import Any

from tests.fakes.model_server import Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot

ANSWER = "Two ways:\n\n```python\nprint(1)\n```\n\nor\n\n```sh\nmake test\nmake check\n```\n\nDone."


def copied(terminal: FakeTerminal) -> list[str]:
    """Text copied through the terminal's clipboard sequence."""
    return [b64decode(found).decode() for found in re.findall(rb"\x1b\]52;c;([^\x07]*)\x07", terminal.raw)]


def test_copy_takes_last_answer_earlier_answer_or_code(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("the first \x1b[31manswer\x1b]0;owned\x07"), Say(ANSWER)])
    terminal = open_zot(columns=120)
    terminal.submit("/copy")
    terminal.wait_for("no answer to copy yet")
    terminal.submit("one")
    terminal.wait_for("the first answer")
    terminal.submit("two")
    terminal.wait_for("Done.")
    for arguments, said in (
        ("", "copied the last answer through the terminal, if it allows that: 14 lines"),
        ("2", "copied answer 2 from the end through the terminal, if it allows that: 16 characters"),
        ("code", "copied code block 2 of 2 (sh) through the terminal, if it allows that: 2 lines"),
        ("code 2", "copied code block 1 of 2 (python) through the terminal, if it allows that: 8 characters"),
        ("3", "only 2 answers to copy"),
        ("code 3", "that answer has only 2 code blocks"),
        ("all", '/copy all: expected a number, "code" or "code" and a number'),
    ):
        terminal.submit(f"/copy {arguments}".strip())
        terminal.wait_for(said)
    assert copied(terminal) == [ANSWER, "the first answer", "make test\nmake check", "print(1)"]


def test_a_clipboard_program_is_given_the_text_and_named(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    serve([Say("plain words")])
    program, kept = tmp_path / "bin" / "xclip", tmp_path / "kept"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncat > {kept}.new && echo "$@" > {kept}.args && mv {kept}.new {kept}\n')
    program.chmod(0o755)
    terminal = open_zot(env={"PATH": f"{program.parent}:/usr/bin:/bin", "DISPLAY": ":77"})
    terminal.submit("hello")
    terminal.wait_for("plain words")
    terminal.submit("/copy")
    terminal.wait_for("copied the last answer by xclip: 11 characters")
    assert kept.read_text() == "plain words"
    assert Path(f"{kept}.args").read_text() == "-selection clipboard\n"


def test_the_arguments_are_offered(serve: Any, open_zot: OpenZot) -> None:
    serve([Say(ANSWER)])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("Done.")
    terminal.type("/copy ")
    terminal.wait_for("the last code block")
