"""The page of rules: every rule of ``zot ext check``, with an anchor that its reports name."""

from __future__ import annotations

from itertools import groupby

from zot.devkit.conformance.checks import ALL
from zot.devkit.conformance.results import Check

_HEAD = """\
# Rules for extensions

<!-- Generated from src/zot/devkit/conformance/checks by `make generate`; do not edit. -->

Every rule of `zot ext check`, with the fix. Use it when a report names a rule.

```sh
zot ext check PATH                 # check all rules
zot ext check PATH --only NAME     # check one rule or group
zot docs rules#NAME                # print one rule
```
"""

_ABOUT = {
    "manifest": "The manifest, `extension.json`, before anything runs.",
    "exec": "The program that `exec` and `args` name, before it is started.",
    "start": "The start of the process.",
    "handshake": "From the start to `ready`.",
    "framing": "Every line on stdout, in every run.",
    "answers": "Answers and their requests, by `id`.",
    "registration": "Registered commands, tools and subscriptions.",
    "commands": "Every command is invoked, with and without arguments.",
    "tools": "Every tool is called, with arguments its schema allows and with none.",
    "events": "The events it subscribed to, in the order of a real turn, and many at once.",
    "interception": "Every interceptor is called with plain and odd arguments.",
    "panels": "Panels are opened, get keys, and are closed.",
    "notes": "Notes and submitted text.",
    "input": "Odd but legal input.",
    "call-tool": "Calls of the host's tools.",
    "tool-cancel": "Cancelled calls.",
    "lifecycle": "Restart, two processes at once, shutdown, and nothing left behind.",
    "compat": "Second edition: a zot of the first, a missing feature, the modes without a screen.",
    "requests": "Second edition: requests, their answers, and cancel.",
    "progress": "Second edition: progress of calls.",
    "dialogs": "Second edition: questions to the user, with each way they can end.",
    "contributions": "Second edition: status items, widgets, keys and what else is added.",
    "intercept2": "Second edition: input, context, results and the other interceptions.",
    "provider": "Second edition: a provider of models.",
    "uses": "Second edition: the words of `uses` in the manifest.",
}


def page() -> str:
    groups = [(group, list(rules)) for group, rules in groupby(ALL, lambda check: check.group)]
    return _HEAD + "".join(f"\n## {group}\n\n{_ABOUT[group]}\n" + "".join(map(_rule, rules)) for group, rules in groups)


def _rule(check: Check) -> str:
    return f"\n### {check.id}\n\nRule: {check.promise}.\n\nFix: {check.fix}.\n"
