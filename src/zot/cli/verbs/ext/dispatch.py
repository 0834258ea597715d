"""``zot ext …``: dispatches to one module per verb. Tables go to stdout, messages to stderr."""

from __future__ import annotations

import sys
from importlib import import_module

from zot.cli.help import page, write_verb_page
from zot.errors import UsageError, ZotError

# Module and function of each verb.
VERBS = {
    "list": "zot.cli.verbs.ext.list:run",
    "search": "zot.cli.verbs.ext.index:search",
    "index": "zot.cli.verbs.ext.index:run",
    "install": "zot.cli.verbs.ext.install:run",
    "update": "zot.cli.verbs.ext.update:run",
    "remove": "zot.cli.verbs.ext.remove:run",
    "rm": "zot.cli.verbs.ext.remove:run",
    "enable": "zot.cli.verbs.ext.enable:enable",
    "disable": "zot.cli.verbs.ext.enable:disable",
    "set": "zot.cli.verbs.ext.settings:run",
    "deny": "zot.cli.verbs.ext.uses:deny",
    "allow": "zot.cli.verbs.ext.uses:allow",
    "logs": "zot.cli.verbs.ext.logs:run",
    "trust": "zot.cli.verbs.ext.trust:trust",
    "untrust": "zot.cli.verbs.ext.trust:untrust",
    "doctor": "zot.cli.verbs.ext.doctor:run",
    "new": "zot.devkit.cli.ext_new:run",
    "dev": "zot.devkit.cli.ext_dev:run",
    "check": "zot.devkit.cli.ext_check:run",
    "trace": "zot.devkit.cli.ext_trace:run",
    "replay": "zot.devkit.cli.ext_replay:run",
}


def run(argv: list[str]) -> int:
    """Run ``zot ext ARGV`` and return its exit status."""
    if not argv or argv[0] in ("help", "-h", "--help"):
        write_verb_page("ext", sys.stderr)
        return 0
    if argv[0] not in VERBS:
        sys.stderr.write(page("ext"))
        raise ZotError(f'unknown command "zot ext {argv[0]}"')
    try:
        module, function = VERBS[argv[0]].split(":")
        return getattr(import_module(module), function)(argv[1:])
    except UsageError as error:
        raise ZotError(f"{error}; see `zot ext {argv[0]} --help`") from error
