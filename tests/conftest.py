"""For every test: no credential, proxy, local model or home of the machine leaks in; ``make fuzz`` raises examples."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.collecting"]

settings.register_profile("default", max_examples=100, deadline=None)
settings.register_profile("fuzz", max_examples=int(os.environ.get("ZOT_FUZZ", "20000")), deadline=None)
settings.load_profile("fuzz" if "ZOT_FUZZ" in os.environ else "default")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # inherited from a shell that put us in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

_LEAKS = ("_API_KEY", "_TOKEN", "_PROXY", "_proxy")
_OURS = ("ZOT_TORTURE", "ZOT_FUZZ")


@pytest.fixture(autouse=True)
def no_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(os.environ).difference(_OURS):
        if name.endswith(_LEAKS) or name.startswith(("ZOT_", "XDG_STATE")):
            monkeypatch.delenv(name)
    # Models that whoever runs the tests has installed; the variable itself is also where compilers keep their caches.
    monkeypatch.setattr("zot.provider.catalog.cache_home", lambda: Path("/nonexistent"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The line `make attack` ends with, for the slice that ran here."""
    outcomes = [
        report.outcome
        for kind in ("passed", "failed")
        for report in terminalreporter.stats.get(kind, ())
        if "test_attacks.py::test_attack_is_denied" in report.nodeid
    ]
    if outcomes:
        terminalreporter.write_line(f"{outcomes.count('passed')} of {len(outcomes)} attacks refused (the quick ones)")
