"""One line for a command that may have failed because a variable was kept from it: which one, and what lets it through.

Only a name that the command or its complaint speaks of is told, so that other work stays quiet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MOST = 4
_REFUSED = re.compile(r"(?i)credential|unauthori[sz]ed|forbidden|not logged in|log ?in|authenticat|\b40[13]\b|token")


def withheld_note(command: str, output: str, *, failed: bool, names: Iterable[str]) -> str:
    """Empty when no variable that was kept back has anything to do with it."""
    told = sorted(name for name in names if _concerns(name, command, output, failed=failed))
    if not told:
        return ""
    more = f" and {len(told) - _MOST} more" if len(told) > _MOST else ""
    listed = ", ".join(told[:_MOST])
    return f"[not passed to commands: {listed}{more}; the user can name it in env_passthrough of config.json]"


def _concerns(name: str, command: str, output: str, *, failed: bool) -> bool:
    if name in command and _word(name, command):
        return True
    if not failed:
        return False
    program = name.partition("_")[0].lower()  # `aws` does not say AWS_SECRET_ACCESS_KEY when it finds no credentials
    return (name in output and _word(name, output)) or bool(_word(program, command) and _REFUSED.search(output))


def _word(name: str, text: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9_-]){re.escape(name)}(?![A-Za-z0-9_])", text) is not None
