"""Runs a linter after each change of a file and appends what it reports to the result, so that the model fixes it.

LINT_COMMAND is the linter (default ``python3 -m pyflakes``); the file is added. LINT_FILES are its endings (``.py``).
"""

from __future__ import annotations

import os

from zot.ext import Context, Extension, Interception, Verdict

COMMAND = os.environ.get("LINT_COMMAND", "python3 -m pyflakes").split()
ENDINGS = tuple(os.environ.get("LINT_FILES", ".py").split(","))
MOST = 30  # lines
ext = Extension("lint-after-edit", "1.0.0")


@ext.intercept("tool_result", tools=["write", "edit"])
def lint(event: Interception, ctx: Context) -> Verdict | None:
    path = str(event.args.get("path") or "")
    if event.is_error or not path.endswith(ENDINGS):
        return None
    done = ctx.run_program([*COMMAND, path], timeout_s=4)
    found = (done["stdout"] + done["stderr"]).strip().splitlines()
    if done["code"] == 0 or not found:
        return None
    more = [f"… and {len(found) - MOST} more"] if len(found) > MOST else []
    return event.replace(append="\n".join(["", f"{COMMAND[-1]} reports:", *found[:MOST], *more]))


if __name__ == "__main__":
    ext.run()
