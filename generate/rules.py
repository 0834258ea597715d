"""The page of rules: every rule of ``zot ext check``, with an anchor that its reports name."""

from __future__ import annotations

from itertools import groupby

from zot.devkit.conformance.checks import ALL
from zot.devkit.conformance.results import Check

_HEAD = """\
# Rules for extensions

<!-- Generated from src/zot/devkit/conformance/checks by `make generate`; do not edit. -->

What `zot ext check` looks at, by the names its reports use: a promise that every extension keeps, and what to do
when it is broken. `zot docs rules#NAME` prints one of them, `zot ext check --only NAME` looks at one of them alone.
"""

_ABOUT = {
    "manifest": "The manifest, `extension.json`, before anything runs.",
    "exec": "The program that `exec` and `args` name, before it is started.",
    "start": "The start of the process.",
    "handshake": "From the start to `ready`.",
    "framing": "Every line on stdout, in every run.",
    "answers": "Answers belong to questions, by their `id`.",
    "registration": "What it registers.",
    "commands": "Every command is invoked, with and without arguments.",
    "tools": "Every tool is called, with arguments its schema allows and with none.",
    "events": "The events it subscribed to, in the order of a real turn, and many at once.",
    "interception": "Every interceptor is asked plain and odd questions.",
    "panels": "Panels are opened, get keys, and are closed.",
    "notes": "What it says unasked.",
    "input": "Odd but legal input.",
    "call-tool": "Tools of the host that it asks for.",
    "tool-cancel": "Calls that are given up.",
    "lifecycle": "Beginning and end: starting again, two at once, ending when told, and leaving nothing behind.",
}


def page() -> str:
    groups = [(group, list(rules)) for group, rules in groupby(ALL, lambda check: check.group)]
    return _HEAD + "".join(f"\n## {group}\n\n{_ABOUT[group]}\n" + "".join(map(_rule, rules)) for group, rules in groups)


def _rule(check: Check) -> str:
    return f"\n### {check.id}\n\nThe promise: {check.promise}.\n\nWhat to do: {check.fix}.\n"
