"""Applies a merge to the user's working tree: all files or none.

A file is replaced only if it did not change since the merge was computed. A journal lets the next merge finish one that
was killed; a failure is rolled back.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from zot.errors import GitFailed, describe_error
from zot.features.checkpoints.file_state import encode_path, unpacked
from zot.system.files import make_private_dir, replace_file, sync_dir, write_atomic
from zot.system.jail.jailed_files import linkless_path, set_mode
from zot.system.safe_open import open_buffered, open_regular, read_whole
from zot.system.temp_files import PendingFile, remove_tree, temporary_name

PLACE, JOURNAL = "landing", "journal.json"  # in a worker's directory
_LARGEST_FILE = 2 << 30
_LARGEST_JOURNAL = 256 << 20
_GONE = ""


class MergeChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``before`` and ``after`` are results of ``state``; empty for a missing file."""

    path: str
    before: str = _GONE
    after: str = _GONE


class MergeJournal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``reference`` moves first, from ``old`` to ``new``; ``entries`` are for ``update-index --index-info``."""

    top: str
    changes: tuple[MergeChange, ...]
    reference: str = ""
    old: str = ""
    new: str = ""
    entries: str = ""


class FileChanged(GitFailed):
    """A file changed during the merge."""


class PartiallyApplied(GitFailed):
    """Some files have new content that cannot be rolled back."""


def state(path: str) -> str:
    """A file's kind, executable bit and content hash. A directory counts as missing: its files have their own state,
    and no file can replace it while it has any."""
    try:
        info = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return _GONE
    if stat.S_ISLNK(info.st_mode):
        return f"link {sha256(os.fsencode(os.readlink(path))).hexdigest()}"
    if stat.S_ISDIR(info.st_mode):
        return _GONE
    if not stat.S_ISREG(info.st_mode):
        return f"other {info.st_mode}"
    kind = "program" if info.st_mode & stat.S_IXUSR else "file"
    with open_buffered(path, follow=False) as file:
        digest = sha256()
        while part := file.read(1 << 20):
            digest.update(part)
    return f"{kind} {digest.hexdigest()}"


def check_path(path: str) -> str:
    """A path inside a working tree and outside .git; GitFailed for crafted paths."""
    parts = path.split("/")
    if os.path.isabs(path) or any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        raise GitFailed(f"{path!r} is not a path a merge may write to")
    return path


def obstacle(top: str, path: str) -> str:
    """A link or file in place of a directory that the path needs; empty if none."""
    place = top
    for part in path.split("/")[:-1]:
        place = os.path.join(place, part)
        try:
            info = os.lstat(place)
        except FileNotFoundError:
            return ""
        if not stat.S_ISDIR(info.st_mode):
            return os.path.relpath(place, top)
    return ""


def prepare(directory: Path, journal: MergeJournal, fresh: Path) -> None:
    """Stores old and new content of every file for ``carry_out``. ``fresh`` has new ones by path."""
    place = directory / PLACE
    remove_tree(place)
    for name in ("old", "new"):
        make_private_dir(place / name)
    for number, change in enumerate(journal.changes):
        if change.before:
            with linkless_path(os.path.join(journal.top, change.path), journal.top) as source:
                _save_old(source, place / "old" / str(number))
        if change.after:
            path = place / "new" / str(number)
            os.rename(fresh / change.path, path)
            if not path.is_symlink():
                fd = open_regular(path)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
    sync_dir(place / "old")
    sync_dir(place / "new")
    write_atomic(place / JOURNAL, msgspec.json.encode(_recoded(journal, encode_path)))


def _save_old(source: str, target: Path) -> None:
    mode = os.lstat(source).st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISREG(mode):
        write_atomic(target, read_whole(source, _LARGEST_FILE, follow=False), 0o700 if mode & stat.S_IXUSR else 0o600)


def apply_files(directory: Path, journal: MergeJournal) -> None:
    """Applies the journal to all files; on a failure rolls back those already changed."""
    done: list[tuple[int, MergeChange]] = []
    try:
        for number, change in _ordered(journal.changes):
            if _change(journal.top, change, directory / PLACE / "new" / str(number)):
                done.append((number, change))
    except (OSError, GitFailed) as error:
        stuck = [change.path for number, change in reversed(done) if not _taken_back(directory, journal, number)]
        if stuck:
            raise PartiallyApplied(
                f"{describe_error(error)}; {', '.join(stuck)} cannot be restored; merge again to finish"
            ) from error
        raise GitFailed(f"nothing was merged: {describe_error(error)}") from error


def _taken_back(directory: Path, journal: MergeJournal, number: int) -> bool:
    change = journal.changes[number]
    back = MergeChange(path=change.path, before=change.after, after=change.before)
    try:
        _change(journal.top, back, directory / PLACE / "old" / str(number))
    except (GitFailed, OSError):
        return False
    return True


def finish(directory: Path) -> None:
    """Deletes the journal."""
    with suppress(OSError):
        (directory / PLACE / JOURNAL).unlink()
    remove_tree(directory / PLACE)


def resume(directory: Path, journal: MergeJournal) -> tuple[str, ...]:
    """Finishes a killed merge; returns the files that changed since and are left alone."""
    left: list[str] = []
    for number, change in _ordered(journal.changes):
        try:
            _change(journal.top, change, directory / PLACE / "new" / str(number))
        except FileChanged:
            left.append(change.path)
    return tuple(left)


def pending_journals(agents: Path, top: str) -> list[tuple[Path, MergeJournal]]:
    """Journals of merges into this working tree that were killed; call it with the merge lock."""
    found: list[tuple[Path, MergeJournal]] = []
    for path in sorted(agents.glob(f"*/{PLACE}/{JOURNAL}")):
        with suppress(OSError, ValueError, msgspec.DecodeError, msgspec.ValidationError):
            journal = msgspec.json.decode(read_whole(path, _LARGEST_JOURNAL), type=MergeJournal)
            journal = _recoded(journal, unpacked)
            if journal.top == top:
                found.append((path.parent.parent, journal))
    return found


def _recoded(journal: MergeJournal, recode: Callable[[str], str]) -> MergeJournal:
    """With all paths changed for JSON, or back: a path need not be UTF-8."""
    changes = tuple(msgspec.structs.replace(change, path=recode(change.path)) for change in journal.changes)
    return msgspec.structs.replace(journal, top=recode(journal.top), changes=changes, entries=recode(journal.entries))


def _ordered(changes: Sequence[MergeChange]) -> list[tuple[int, MergeChange]]:
    """Deletions come first: a file may become a directory and vice versa."""
    numbered = list(enumerate(changes))
    gone = [pair for pair in numbered if not pair[1].after]
    return [*sorted(gone, key=lambda pair: pair[1].path, reverse=True), *(pair for pair in numbered if pair[1].after)]


def _change(top: str, change: MergeChange, content: Path) -> bool:
    """Whether something changed."""
    target = os.path.join(top, check_path(change.path))
    if blocked := obstacle(top, change.path):
        if change.after:
            raise FileChanged(f"{blocked} blocks {change.path}")
        return False
    try:
        with linkless_path(target, top, make=not change.before) as place:
            changed = _change_at(place, change, content)
    except (FileNotFoundError, NotADirectoryError) as error:
        if not change.after:
            return False
        raise FileChanged(f"{change.path} changed during the merge") from error
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise FileChanged(f"{change.path} changed during the merge: {error.strerror}") from error
    if changed and not change.after:
        _prune(top, os.path.dirname(target))
    return changed


def _change_at(place: str, change: MergeChange, content: Path) -> bool:
    """``place`` is a name that no rename changes."""
    now = state(place)
    if now == change.after:
        return False
    if now != change.before:
        raise FileChanged(f"{change.path} changed during the merge")
    if change.after.startswith("link "):
        new = temporary_name(place)
        os.symlink(os.readlink(content), new)
        os.replace(new, place)
    elif change.after:
        _put_file(place, change, read_whole(content, _LARGEST_FILE))
    else:
        os.unlink(place)
    return True


def _put_file(target: str, change: MergeChange, data: bytes) -> None:
    is_program = change.after.startswith("program ")
    if change.before.startswith(("file ", "program ")):
        replace_file(Path(target), data, follow=False)
        if is_program != change.before.startswith("program "):
            mode = stat.S_IMODE(os.lstat(target).st_mode)
            set_mode(target, mode | (mode & 0o444) >> 2 if is_program else mode & ~0o111)
        return
    new = PendingFile(target, 0o777 if is_program else 0o666)
    try:
        with os.fdopen(new.fd, "wb", closefd=False) as file:
            file.write(data)
        os.fsync(new.fd)
        new.commit(replace=bool(change.before))
    finally:
        new.close()


def _prune(top: str, directory: str) -> None:
    """Deletes empty directories, as git does."""
    while directory != top and directory.startswith(f"{top}/"):
        try:
            with linkless_path(directory, top) as place:
                os.rmdir(place)
        except OSError:
            return
        directory = os.path.dirname(directory)
