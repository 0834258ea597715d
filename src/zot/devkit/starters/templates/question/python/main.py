"""__NAME__: a guard that asks. Try it with `zot --ext .`; test it with `python3 test_main.py`."""

from __future__ import annotations

import re

from zot.ext import Context, Extension, Interception, Verdict

ext = Extension("__NAME__", "0.1.0", guard=True)

DANGEROUS = re.compile(r"\brm\s+-\w*r|\bgit\s+push\b|\bsudo\b")
allowed: set[str] = set()


@ext.intercept("tool_call", tools=["bash"])  # a filter: other tools run without asking this guard
def guard(event: Interception, ctx: Context) -> Verdict | None:
    """Called before a command runs. If this fails, or no user can be asked, the command is denied."""
    command = str(event.args.get("command", ""))
    if not DANGEROUS.search(command) or command in allowed:
        return None
    answer = ctx.select("Run this command?", ["once", "for this session", "no"], message=[command])
    if answer == "for this session":
        allowed.add(command)
    if answer in ("once", "for this session"):
        return None
    return event.block("refused by __NAME__: the user did not agree")


if __name__ == "__main__":
    ext.run()
