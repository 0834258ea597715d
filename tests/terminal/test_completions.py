"""``zot completions`` in a real shell in a real terminal: the line after pressing tab."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.extension_places import installed
from tests.fakes.terminal import FakeTerminal

PROMPT = "READY>"
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], f'PS1="{PROMPT}"; bind "set bell-style none"'),
    "zsh": (["zsh", "-f", "-i"], f'PS1="{PROMPT}"; autoload -Uz compinit && compinit -u -D'),
    "fish": (["fish", "--no-config", "-i"], f'function fish_prompt; echo -n "{PROMPT}"; end'),
}
LOAD = {
    "bash": 'eval "$(zot completions bash)"',
    "zsh": 'eval "$(zot completions zsh)"',
    "fish": "zot completions fish | source",
}
SHELLS = [
    pytest.param(shell, marks=pytest.mark.skipif(not shutil.which(shell), reason=f"{shell} is not installed"))
    for shell in START
]


class Shell(FakeTerminal):
    def settle(self, line: str) -> None:
        """Run a line and wait for the next prompt."""
        seen = self.everything.count(PROMPT)
        self.submit(line)
        self.wait_until(lambda: self.everything.count(PROMPT) > seen, f"a prompt after {line!r}")
        self.wait_idle()

    def completes(self, typed: str, expected: str) -> None:
        """Tab after ``typed`` makes it ``expected``; then the line is dropped."""
        self.type(typed)
        self.wait_for(typed.split()[-1])
        self.press("tab")
        self.wait_until(lambda: any(row.rstrip().endswith(expected) for row in self.screen.split("\n")), expected)
        self.press("ctrl+u")
        self.wait_until(lambda: self.screen.rstrip().endswith(PROMPT), "an empty line")


@pytest.fixture
def home(zot: Zot) -> Zot:
    """A home with a session, an extension and a model whose name has a colon."""
    installed(zot, "weather-report")
    (zot.home / "zot/models.json").write_text(
        json.dumps({"providers": {"ollama": {"models": [{"id": "qwen3:tiny-one"}]}}})
    )
    (zot.project / "answers.json").write_text('{"turns": [{"text": "yes"}]}')
    assert zot("-p", "hello", "--provider", "script", "--script", "answers.json").code == 0
    return zot


@pytest.fixture
def shell(home: Zot, request: pytest.FixtureRequest) -> Iterator[Shell]:
    name: str = request.param
    argv, setup = START[name]
    folder = home.home / "bin"
    folder.mkdir()
    (folder / "zot").write_text(f'#!/bin/sh\nexec {sys.executable} -m zot "$@"\n')
    (folder / "zot").chmod(0o755)
    env = {**home.env(), "PATH": f"{folder}:{os.environ['PATH']}", "LANG": "C.UTF-8"}
    with Shell([shutil.which(argv[0]) or "", *argv[1:]], cwd=home.project, env=env, columns=110) as terminal:
        terminal.wait_idle(0.5)
        terminal.submit(setup)
        terminal.wait_for(PROMPT)
        terminal.settle(LOAD[name])
        yield terminal


@pytest.mark.parametrize("shell", SHELLS, indirect=True)
def test_tab_completes_verbs_flags_values_and_local_names(home: Zot, shell: Shell) -> None:
    (session,) = home.sessions
    started = json.loads(session.read_text().splitlines()[0])["meta"]["id"][:8]
    shell.completes("zot sess", "zot sessions")
    shell.completes("zot sessions ren", "zot sessions rename")
    shell.completes("zot --fallb", "zot --fallback-model")
    shell.completes("zot -p --reasoning hi", "zot -p --reasoning high")
    shell.completes("zot -p --reasoning=hi", "zot -p --reasoning=high")
    shell.completes("zot --tools read,gr", "zot --tools read,grep")
    shell.completes("zot --model qwen3:ti", "zot --model qwen3:tiny-one")
    shell.completes(f"zot --session {started[:3]}", f"zot --session {started}")
    shell.completes("zot ext logs wea", "zot ext logs weather-report")
    shell.completes("zot ext new notes --lang py", "zot ext new notes --lang python")
    shell.completes("zot docs your", "zot docs your-first-extension")
    shell.completes("zot -p --script ans", "zot -p --script answers.json")
    shell.completes("zot -p --script=ans", "zot -p --script=answers.json")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_sound(zot: Zot, shell: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(zot("completions", shell).out)
    checked = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
