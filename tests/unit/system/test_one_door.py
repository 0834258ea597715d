"""All files are opened through ``zot.system.safe_open``, which neither blocks on pipes nor follows links."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import zot

SOURCE = Path(zot.__file__).parent

# Who may open what the door would not, and why.
ALLOWED = {
    "system/safe_open.py": "the door",
    "system/process_table.py": "/dev/null, and /proc, whose files are the kernel's",
    "system/process_setup.py": "/dev/null, and /proc, whose files are the kernel's",
    "system/files.py": "directories, to make a rename durable",
    "tui/terminal.py": "the terminal's own device",
    "cli/main.py": "/dev/null",
    "system/jail/jailed_files.py": "the door of the jail itself",
    "system/jail/git_repositories.py": "repositories, to keep their numbers taken; nothing is read by that",
    "system/jail/landlock.py": "directories of the policy, not what is in them",
    "cli/verbs/docs.py": "pages that came with the package",
    "frontends/docs_index.py": "pages that came with the package",
    "devkit/cli/ext_new.py": "starters that came with the package, and the new files made of them",
    "system/installation.py": "the record of the installed package, through importlib",
    "provider/providers.py": "a table that came with the package",
    "provider/catalog.py": "a table that came with the package",
    "core/session/summary.py": "SQLite opens by name; the door made the file",
}
ROOMS_WITHOUT_US = ("ext/", "devkit/starters/")  # they import nothing of zot

_BY_PATH = {"read_bytes", "read_text", "write_bytes", "write_text", "touch"}
_BY_MODULE = {
    "os": {"open", "popen", "mkfifo", "truncate"},
    "io": {"open", "open_code", "FileIO"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move"},
    "sqlite3": {"connect"},
    "codecs": {"open"},
    "mmap": {"mmap"},
}


def _openings(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id="open"):
                yield node.lineno
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in _BY_MODULE.get(module, ()):
                yield node.lineno
            case ast.Attribute(attr="open") if _has_mode(node):
                yield node.lineno
            case ast.Attribute(attr=name) if name in _BY_PATH:
                yield node.lineno
            case _:
                pass


def _has_mode(call: ast.Call) -> bool:
    """``path.open("rb")``, not ``store.open(path)`` nor an archive in memory."""
    if any(keyword.arg == "fileobj" for keyword in call.keywords):
        return False
    words = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return any(isinstance(word, ast.Constant) and isinstance(word.value, str) for word in words)


def test_files_are_opened_through_safe_open() -> None:
    found: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if name in ALLOWED or name.startswith(ROOMS_WITHOUT_US):
            continue
        found += [f"src/zot/{name}:{line}" for line in _openings(ast.parse(path.read_text(encoding="utf-8")))]
    assert not found, (
        f"open these through zot.system.safe_open, which waits for nothing and follows no planted link: {found}"
    )


def test_every_exception_from_the_rule_is_still_needed() -> None:
    idle = [
        name
        for name in ALLOWED
        if not (SOURCE / name).exists() or not any(_openings(ast.parse((SOURCE / name).read_text(encoding="utf-8"))))
    ]
    assert not idle
