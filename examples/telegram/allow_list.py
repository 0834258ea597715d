"""Who may use the bridge: users that sent the code shown in the terminal. Kept in a private file."""

from __future__ import annotations

import json
import os
import secrets
import time
from hmac import compare_digest
from pathlib import Path

CODE_S = 600.0
_TRIES = 5


class AllowList:
    """A user is allowed in the private chat where the code was sent, and nowhere else."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._users: set[int] = set(_read(path))
        self._code = ""
        self._until = 0.0
        self._tries = 0

    def __len__(self) -> int:
        return len(self._users)

    def new_code(self) -> str:
        """To be shown in the terminal; it works once, within ten minutes."""
        self._code = f"{secrets.randbelow(10**8):08}"
        self._until, self._tries = time.monotonic() + CODE_S, _TRIES
        return f"{self._code[:4]} {self._code[4:]}"

    def allows(self, user: int, chat: int, kind: str) -> bool:
        return kind == "private" and user == chat and user in self._users

    def pair(self, user: int, chat: int, kind: str, text: str) -> bool:
        """True if the text is the code. After five wrong ones no code works."""
        typed = "".join(text.split())
        if kind != "private" or user != chat or not self._code or time.monotonic() > self._until:
            return False
        if not (typed.isascii() and typed.isdecimal() and len(typed) == 8):
            return False  # no attempt
        self._tries -= 1
        if not compare_digest(typed, self._code):
            self._code = self._code if self._tries else ""
            return False
        self._code = ""
        self._users.add(user)
        self._write()
        return True

    def forget(self, user: int) -> None:
        self._users.discard(user)
        self._write()

    def _write(self) -> None:
        temporary = self._path.with_suffix(".new")
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump({"users": sorted(self._users)}, file)
        temporary.replace(self._path)


def _read(path: Path) -> list[int]:
    """Fails rather than start without a list that is there."""
    if not path.exists():
        return []
    users = json.loads(path.read_text())["users"]
    if not all(isinstance(user, int) for user in users):
        raise ValueError(f"{path}: expected numbers in users")
    return users
