"""Files that a project's command runs, with their digests: what trust in hooks, MCP servers and plugins covers.
They are compared before each run; a file without a digest never counts as unchanged."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

MAX_BYTES = 64 << 20  # of all files of a command


class CommandFiles(msgspec.Struct, frozen=True):
    """Digests by path, empty for a file without one; ``notes`` name what else the command can run."""

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
        without = f" (cannot be trusted: unreadable, or more than {MAX_BYTES >> 20} MiB)"
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
