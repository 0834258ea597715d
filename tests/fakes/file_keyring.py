"""A keyring that is a file: a real backend of the ``keyring`` package, for child processes of tests.

``environment`` gives the variables that make a child use it. A ``locked`` file beside it locks it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import keyring.backend
import keyring.errors

ROOT = Path(__file__).parents[2]


def environment(place: Path) -> dict[str, str]:
    return {
        "PYTHON_KEYRING_BACKEND": "tests.fakes.file_keyring.FakeFileKeyring",
        "FAKE_KEYRING": str(place),
        "PYTHONPATH": str(ROOT),
    }


def items(place: Path) -> dict[str, str]:
    """Its content by ``service item``."""
    return json.loads(place.read_text()) if place.exists() else {}


class FakeFileKeyring(keyring.backend.KeyringBackend):
    priority = 1.0

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self._read(), f"{service} {username}": password})

    def get_password(self, service: str, username: str) -> str | None:
        return self._read().get(f"{service} {username}")

    def delete_password(self, service: str, username: str) -> None:
        found = self._read()
        if found.pop(f"{service} {username}", None) is None:
            raise keyring.errors.PasswordDeleteError("not found")
        self._write(found)

    def _read(self) -> dict[str, str]:
        if self._place.with_name("locked").exists():
            raise keyring.errors.KeyringLocked("locked")
        return items(self._place)

    def _write(self, found: dict[str, str]) -> None:
        self._place.write_text(json.dumps(found))

    @property
    def _place(self) -> Path:
        return Path(os.environ["FAKE_KEYRING"])
