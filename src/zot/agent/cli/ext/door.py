"""``zot ext …``: the door to what authors and users do with extensions, one module per verb behind it.

Tables and logs go to stdout, everything said to a person to stderr; an expected failure is one line and exit 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

from zot.agent.cli.verb_help import page
from zot.errors import UsageError, ZotError

# Where each verb lives: a module, and the function in it that takes the rest of the words.
VERBS = {
    "list": "zot.agent.cli.ext.list:run",
    "install": "zot.agent.cli.ext.install:run",
    "update": "zot.agent.cli.ext.update:run",
    "remove": "zot.agent.cli.ext.remove:run",
    "rm": "zot.agent.cli.ext.remove:run",
    "enable": "zot.agent.cli.ext.enable:enable",
    "disable": "zot.agent.cli.ext.enable:disable",
    "logs": "zot.agent.cli.ext.logs:run",
    "trust": "zot.agent.cli.ext.trust:trust",
    "untrust": "zot.agent.cli.ext.trust:untrust",
    "doctor": "zot.agent.cli.ext.doctor:run",
    "new": "zot.agent.cli.ext.new:run",
    "dev": "zot.agent.cli.ext.dev:run",
    "check": "zot.agent.cli.ext.check:run",
    "trace": "zot.agent.cli.ext.trace:run",
    "replay": "zot.agent.cli.ext.replay:run",
}


def run(argv: list[str]) -> int:
    """The exit status of ``zot ext ARGV``."""
    if not argv or argv[0] in ("help", "-h", "--help"):
        sys.stderr.write(page("ext"))
        return 0
    if argv[0] not in VERBS:
        sys.stderr.write(page("ext"))
        raise ZotError(f'unknown command "zot ext {argv[0]}"')
    try:
        return _verb(argv[0])(argv[1:])
    except UsageError as error:
        raise ZotError(f"{error}; see `zot ext {argv[0]} --help`") from error


def _verb(word: str) -> Callable[[list[str]], int]:
    module, function = VERBS[word].split(":")
    return getattr(import_module(module), function)
