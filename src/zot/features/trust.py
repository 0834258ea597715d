"""Programs of a project that the user allowed to run: extensions, MCP servers, hooks and plugins.
``$ZOT_HOME/trust.json`` has records of extensions by directory, and per project the other entries by kind and name with
the SHA-256 of the reviewed content. Changed content needs a new decision."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import msgspec

from zot.system.digest import sha256
from zot.system.files import locked
from zot.system.json_store import JsonStore

EntryKind = Literal["mcp", "hooks", "commands", "plugin", "rules"]
UntrustedKind = Literal["extension", "mcp", "hooks"]

FILE = "trust.json"
ADVICE = "fix the file or delete it to trust nothing"
_LOOKS_ESCAPED = re.compile(r"\\(?=x(?:[89a-f][0-9a-f]|5c))")

T = TypeVar("T", bound=msgspec.Struct)


# --- which project


def project_key(directory: Path) -> str:
    """The key of a project in every file of zot's home: its real path."""
    return path_key(os.path.realpath(directory))


def path_key(path: str) -> str:
    """The path as unique text for JSON.
    A byte that is not UTF-8 becomes ``\\xff``; in a name with such an escape the backslash becomes ``\\x5c``."""
    return os.fsencode(_LOOKS_ESCAPED.sub(r"\\x5c", path)).decode("utf-8", "backslashreplace")


# --- the store


class TrustFile(msgspec.Struct):
    """The whole file."""

    version: int = 1
    extensions: dict[str, msgspec.Raw] = {}
    guests: dict[str, dict[str, str]] = {}
    """By project key, then ``"kind name"``."""


class _Entries(msgspec.Struct):
    guests: dict[str, dict[str, str]] = {}


class TrustStore:
    """Reads the file each time, so that decisions of other processes count. ConfigError: it is damaged."""

    def __init__(self, home: Path, for_run: Collection[str] = ()) -> None:
        self.path = home / FILE
        self._for_run = for_run

    def is_trusted(self, project: Path, kind: EntryKind, name: str, content: bytes) -> bool:
        """Saved, or among the decisions of the starter of a worker that were not saved (``run_entry``)."""
        saved = self.entries(project).get(f"{kind} {name}")
        return saved == sha256(content) or run_entry(kind, name, content) in self._for_run

    def is_changed(self, project: Path, kind: EntryKind, name: str, content: bytes) -> bool:
        """True if other content was trusted under that name."""
        return self.entries(project).get(f"{kind} {name}", sha256(content)) != sha256(content)

    def entries(self, project: Path) -> dict[str, str]:
        """``"kind name"`` and the digest of the trusted content; extensions have their own records."""
        return self.load(_Entries).guests.get(project_key(project), {})

    def trust(self, project: Path, kind: EntryKind, name: str, content: bytes) -> None:
        with self.edit() as file:
            file.guests.setdefault(project_key(project), {})[f"{kind} {name}"] = sha256(content)

    def untrust(self, project: Path, kind: EntryKind, name: str) -> bool:
        """Remove an entry; true if it was trusted."""
        key = project_key(project)
        with self.edit() as file:
            entries = file.guests.get(key, {})
            known = entries.pop(f"{kind} {name}", None) is not None
            if not entries:
                file.guests.pop(key, None)
        return known

    # --- for features with their own records

    def load(self, part: type[T]) -> T:
        """The fields of the file in ``part``."""
        return JsonStore(self.path, part, ADVICE).load()

    @contextmanager
    def edit(self) -> Generator[TrustFile]:
        """The whole file, to be changed in the block. OSError if it cannot be written."""
        with JsonStore(self.path, TrustFile, ADVICE).edit() as file:
            yield file

    @contextmanager
    def locked(self) -> Generator[None]:
        """Locks the file and its related files against other processes."""
        with locked(self.path):
            yield


def run_entry(kind: EntryKind, name: str, content: bytes) -> str:
    """A decision that holds for one run and its workers, as an item of ``RunConfig.trusted_for_run``."""
    return f"{kind} {sha256(content)} {name}"


# --- the files of a command


MAX_COMMAND_BYTES = 64 << 20  # of all files of a command


class CommandFiles(msgspec.Struct, frozen=True):
    """Files that a project's command runs (``command_search`` finds them), compared before each run: digests by path,
    empty for a file without one; ``notes`` name what else the command can run."""

    files: dict[str, str] = {}
    notes: tuple[str, ...] = ()

    def difference(self, now: CommandFiles) -> str:
        """The path of a file that is new, missing, changed or has no digest; empty if there is none."""
        for path in sorted({*self.files, *now.files}):
            if not now.files.get(path) or self.files.get(path) != now.files[path]:
                return path
        return ""

    def unreadable(self) -> list[str]:
        return [path for path, digest in self.files.items() if not digest]

    def lines(self) -> list[str]:
        """For a question: each file, and each note."""
        without = f" (cannot be trusted: unreadable, or more than {MAX_COMMAND_BYTES >> 20} MiB)"
        files = [f"script {path}{'' if digest else without}" for path, digest in self.files.items()]
        more = ["scripts can load other files while they run"] if files else []
        return [*files, *(f"not covered: {note}" for note in (*self.notes, *more))]


def merge_files(found: Iterable[CommandFiles]) -> CommandFiles:
    files: dict[str, str] = {}
    notes: list[str] = []
    for each in found:
        files |= each.files
        notes += each.notes
    return CommandFiles(files, tuple(dict.fromkeys(notes)))


# --- pending decisions


class Untrusted(msgspec.Struct, frozen=True, kw_only=True):
    """An untrusted program, as plain values for a front end to show."""

    kind: UntrustedKind
    name: str
    source: str
    """The file or directory it comes from."""
    runs: tuple[str, ...]
    """The commands or addresses, one line each."""
    details: tuple[str, ...] = ()
    """Other subjects of the decision: permissions, files, scripts, changes; one line each."""
    changed: bool = False
    """Other content was trusted under that name."""
    guard: bool = False


class TrustSubject(Protocol):
    """A feature that runs programs of a project: the extension host, the MCP host, the hook host."""

    def untrusted_items(self) -> list[Untrusted]:
        """Items awaiting the user's decision. It may read many files: call it in a thread."""
        ...

    def accept_items(self, items: Sequence[Untrusted]) -> None:
        """The user agreed: guards and hooks among them apply to prompts from now on."""
        ...

    async def trust_items(self, items: Sequence[Untrusted], *, save: bool = True) -> None:
        """Run accepted items exactly as listed; without ``save`` until this process ends.
        The feature reports failures."""
        ...


async def list_untrusted(subjects: Iterable[TrustSubject | None]) -> list[tuple[TrustSubject, list[Untrusted]]]:
    """Pending decisions with their features; None stands for a feature this run does not have."""
    import asyncio

    present = [subject for subject in subjects if subject is not None]
    found = [(subject, await asyncio.to_thread(subject.untrusted_items)) for subject in present]
    return [(subject, items) for subject, items in found if items]


async def trust_all(found: Sequence[tuple[TrustSubject, list[Untrusted]]], *, save: bool = True) -> None:
    """Trust the items of ``list_untrusted``. All are accepted before the first record is written."""
    for subject, items in found:
        subject.accept_items(items)
    for subject, items in found:
        await subject.trust_items(items, save=save)
