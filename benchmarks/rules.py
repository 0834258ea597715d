"""What permission rules and the shell grammar cost: the first judgement in a process, later ones, and the start."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row
from zot.features.rules.matching import RuleMatcher
from zot.features.rules.rule import read_rule
from zot.features.rules.rule_files import RuleSet
from zot.features.shell.reach import commands_of
from zot.provider.messages import ToolCallBlock

TIMES = 200
STARTS = 7
COMMAND = "cd src && FOO=1 npm test -- --watch {} 2>&1 | tail -5 && git commit -m 'it works; really'"
LISTS = {
    "deny": ("Read(./.env)", "Read(~/.ssh/**)", "Bash(rm:*)", "Bash(sudo:*)", "Bash(curl:*)"),
    "ask": ("Bash(git push:*)", "Bash(docker:*)"),
    "allow": ("Bash(npm:*)", "Bash(git:*)", "Bash(tail:*)", "Edit(src/**)"),
}
_FIRST = """
import time, zot.core.permission_gate, zot.provider.messages, zot.agent.tools.ignore
began = time.perf_counter()
from zot.features.shell.patterns import covers_command, match_command
match_command("rm *", "cd a && npm test 2>&1 | tail -5")
covers_command(["npm *"], "npm test 2>&1 | tail -5")
print(time.perf_counter() - began)
"""


def rows() -> Iterator[Row]:
    yield Row("rules: first judgement of a command, with the grammar", _first() * 1000, 30, "ms")
    rules = RuleSet([read_rule(kind, text, "f", "/") for kind, texts in LISTS.items() for text in texts])  # pyright: ignore[reportArgumentType]
    matcher = RuleMatcher(rules, Path.cwd)
    times: list[float] = []
    for number in range(TIMES):
        call = ToolCallBlock("1", "bash").with_args({"command": COMMAND.format(number)})
        started = time.perf_counter()
        assert matcher.restriction(call).step == ""
        matcher.permission(call)
        times.append(time.perf_counter() - started)
    commands_of.cache_clear()
    yield Row("rules: each later command, 11 rules, p50", statistics.median(times) * 1000, 1, "ms")


def _first() -> float:
    """In a process of its own, after what a conversation has imported anyway."""
    argv = [sys.executable, "-c", _FIRST]
    return min(float(subprocess.run(argv, capture_output=True, text=True, check=True).stdout) for _ in range(STARTS))
