"""The command that has to succeed before something is merged or kept: run in a directory of its own, to its end.

It is the user's own and runs with the user's rights, without the credentials of the environment; what the worker wrote
is run by it, as it would be after the merge.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from zot.system.processes import spawn
from zot.system.safe_open import create_unnamed
from zot.system.secret_variables import looks_like_secret

TIMEOUT_S = 1800.0
_MOST_SAID = 8_000  # bytes of its output, from the end


class CommandCheck:
    """``await check(directory)``: whether it passed, and the last of what it said."""

    def __init__(self, command: str, timeout_s: float = TIMEOUT_S) -> None:
        self.command = command
        self._timeout_s = timeout_s

    async def __call__(self, directory: Path) -> tuple[bool, str]:
        output = create_unnamed(directory.parent)
        if output < 0:
            output = os.memfd_create("check") if hasattr(os, "memfd_create") else os.dup(2)
        try:
            env = {key: text for key, text in os.environ.items() if key[:4] != "GIT_" and not looks_like_secret(key)}
            tree = spawn(
                ["/bin/sh", "-c", self.command],
                cwd=directory,
                env={**env, "PWD": os.fspath(directory)},
                stdout=output,
                stderr=output,
            )
            try:
                async with asyncio.timeout(self._timeout_s):
                    code = await tree.wait()
            except TimeoutError:
                return False, f"{_last(output)}\n(stopped after {self._timeout_s:.0f} s)".lstrip()
            finally:
                await tree.stop()
            return code == 0, _last(output)
        finally:
            os.close(output)


def _last(output: int) -> str:
    size = os.fstat(output).st_size
    data = os.pread(output, _MOST_SAID, max(0, size - _MOST_SAID))
    text = data.decode(errors="replace").strip()
    return f"…{text}" if size > _MOST_SAID else text
