"""A guard with a question: files that match PROTECTED_PATHS are read and changed only if the user agrees.

PROTECTED_PATHS are patterns separated by colons (default ``.env*:*.pem:*.key:.git/*``).
"""

from __future__ import annotations

import os
from fnmatch import fnmatch

from zot.ext import Context, Extension, Interception, RequestError, Verdict

PATTERNS = os.environ.get("PROTECTED_PATHS", ".env*:*.pem:*.key:.git/*").split(":")
CHOICES = [("once", "Allow once"), ("session", "Allow for this session"), ("no", "Block")]
ext = Extension("protected-paths", "1.0.0", guard=True)
allowed: set[str] = set()


def is_protected(path: str) -> bool:
    """The path as given, its name, and each part of it are compared."""
    parts = os.path.normpath(path).split(os.sep)
    tails = ["/".join(parts[start:]) for start in range(len(parts))]
    return any(fnmatch(tail, pattern) for tail in (*parts, *tails) for pattern in PATTERNS)


@ext.intercept("tool_call", tools=["read", "write", "edit"])
def protect(event: Interception, ctx: Context) -> Verdict | None:
    path = str(event.args.get("path") or event.args.get("file_path") or "")
    if path in allowed or not is_protected(path):
        return None
    try:
        answer = ctx.select(f"{event.tool_name} {path}?", CHOICES, [f"{path} is protected."])
    except RequestError:  # no user: a guard blocks
        return event.block(f"{path} is protected, and no user can be asked")
    if answer == "session":
        allowed.add(path)
    return None if answer in ("once", "session") else event.block(f"the user protects {path}; do not try again")


if __name__ == "__main__":
    ext.run()
