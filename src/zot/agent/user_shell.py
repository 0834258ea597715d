"""A ``!`` command of the user before it runs: features may change it, run it themselves, or deny it."""

from __future__ import annotations


class ShellDraft:
    """``hidden``: the model does not read it. A feature that ran it itself sets ``handled`` (its name), ``output`` and
    ``code``."""

    def __init__(self, command: str, cwd: str, *, hidden: bool) -> None:
        self.command = command
        self.cwd = cwd
        self.hidden = hidden
        self.handled = ""
        self.output = ""
        self.code = 0
