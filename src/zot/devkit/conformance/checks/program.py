"""Checks the program that ``exec`` and ``args`` name: exists, may run, readable by the system.

Windows line ends, a missing interpreter and a foreign binary are recognised by the file's first bytes.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from pathlib import Path

from zot.devkit.conformance.results import Check, CheckResults
from zot.errors import ExtensionError, closest_match
from zot.features.extensions.loader.manifest import FILE, Manifest
from zot.system.safe_open import read_prefix

CHECKS = (
    Check(
        "exec-found",
        "3.1",
        (16, 17, 18),
        "exec leads to a program",
        'a file beside the manifest is written "./name"; a bare name is searched on PATH only',
    ),
    Check(
        "exec-arguments",
        "3.1",
        (19,),
        "exec is the program alone",
        'write "exec": "python3", "args": ["main.py"]: nothing is split at spaces, and no shell is involved',
    ),
    Check(
        "exec-executable",
        "3.1",
        (18,),
        "the file that exec names has its executable bit",
        'run `chmod +x` on it, or name its interpreter: "exec": "python3", "args": ["main.py"]',
    ),
    Check(
        "exec-script",
        "3.1",
        (18,),
        "the script that args names is there",
        "paths in args are relative to the directory of extension.json; correct the name",
    ),
    Check(
        "exec-shebang",
        "3.1",
        (18,),
        "a script that is run by itself begins with #! and the path of an interpreter that is there",
        "begin it with a line like #!/usr/bin/env python3, with LF line ends (dos2unix) and without a byte order mark",
    ),
    Check(
        "exec-encoding",
        "3.1",
        (18,),
        "the script is UTF-8, and one for a shell has LF line ends",
        'save it as "UTF-8" with LF line ends (dos2unix), not as "UTF-16" or "Unicode"',
    ),
    Check(
        "exec-machine",
        "3.1",
        (18,),
        "a compiled program is made for this system",
        "compile it here, or for this system (GOOS and GOARCH for Go), and keep one file per system",
    ),
)

_SCRIPT = re.compile(r"[^\s]+\.(py|js|mjs|cjs|ts|mts|sh|bash|rb|pl|lua|php|jar)")
_ELF_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
_MAGIC = {b"MZ": "Windows", b"\xcf\xfa\xed\xfe": "macOS", b"\xca\xfe\xba\xbe": "macOS", b"\x7fELF": "Linux"}
_SYSTEMS = {"linux": "Linux", "darwin": "macOS"}


def is_runnable(manifest: Manifest, verdicts: CheckResults) -> bool:
    """Whether the program can be started."""
    path_variable = os.environ.get("PATH", os.defpath)
    if _has_arguments(manifest, path_variable, verdicts):
        return False
    try:
        program = Path(manifest.argv(path_variable)[0])
    except ExtensionError as error:
        verdicts.failed("exec-found", str(error))
        return False
    verdicts.passed("exec-arguments")
    for check in (_is_there, _has_its_bit, _is_readable_by_the_system):
        if not check(program, manifest, verdicts):
            return False
    return _script(manifest, verdicts)


def _has_arguments(manifest: Manifest, path_variable: str, verdicts: CheckResults) -> bool:
    """``"exec": "python3 main.py"``; a file whose name has spaces is fine."""
    first, space, rest = manifest.exec.partition(" ")
    if not space or (manifest.directory / manifest.exec).exists() or os.path.exists(manifest.exec):
        return False
    if shutil.which(first, path=path_variable) or (manifest.directory / first).exists() or "-" in rest:
        verdicts.failed("exec-arguments", f'exec "{manifest.exec}" has arguments in it: "{first}" is the program')
        return True
    return False


def _is_there(program: Path, manifest: Manifest, verdicts: CheckResults) -> bool:
    if program.is_dir():
        verdicts.failed("exec-found", f"{program} is a directory")
    elif not os.path.exists(program):
        names = os.listdir(program.parent) if program.parent.is_dir() else ()
        near = closest_match(program.name, names)
        gone = "is a broken link" if program.is_symlink() else "is not there"
        verdicts.failed(
            "exec-found", f'exec "{manifest.exec}": {program} {gone}' + (f"; is it {near}?" if near else "")
        )
    else:
        verdicts.passed("exec-found")
    return not verdicts.has_failed("exec-found")


def _has_its_bit(program: Path, _manifest: Manifest, verdicts: CheckResults) -> bool:
    if os.access(program, os.X_OK):
        verdicts.passed("exec-executable")
        return True
    verdicts.failed("exec-executable", f"{program} has no executable bit")
    return False


def _is_readable_by_the_system(program: Path, _manifest: Manifest, verdicts: CheckResults) -> bool:
    """Whether the system can run the file, by its first bytes."""
    start = read_prefix(program)[:4096]
    for rule, problem in (
        ("exec-machine", _machine_problem(start)),
        ("exec-encoding", _encoding_problem(start)),
        ("exec-shebang", _shebang_problem(start)),
    ):
        verdicts.judged(rule, problem and f"{program.name} {problem}")
    return not any(verdicts.has_failed(rule) for rule in ("exec-machine", "exec-encoding", "exec-shebang"))


def _machine_problem(start: bytes) -> str:
    made_for = next((system for magic, system in _MAGIC.items() if start.startswith(magic)), "")
    here = _SYSTEMS.get(sys.platform, "")
    if not made_for or not here:
        return ""
    if made_for != here:
        return f"is a program for {made_for}, this is {here}"
    if made_for == "Linux" and len(start) >= 20:
        machine = _ELF_MACHINES.get(
            int.from_bytes(start[18:20], "little" if start[5] == 1 else "big"), "another machine"
        )
        own = platform.machine()
        if machine != own and not (machine == "i386" and own == "x86_64"):
            return f"is a program for {machine}, this is {own}"
    return ""


def _encoding_problem(start: bytes) -> str:
    return "is UTF-16" if start.startswith((b"\xff\xfe", b"\xfe\xff", b"#\0!\0", b"\0#\0!")) else ""


def _shebang_problem(start: bytes) -> str:
    if any(start.startswith(magic) for magic in _MAGIC):
        return ""
    if start.startswith(b"\xef\xbb\xbf#!"):
        return "begins with a byte order mark, which hides its #! from the system"
    if not start.strip():
        return "is empty"
    if not start.startswith(b"#!"):
        return "begins without #!: the system does not know what to run it with"
    line = start.partition(b"\n")[0]
    interpreter, *rest = line[2:].decode("utf-8", "replace").split() or [""]
    if line.endswith(b"\r"):
        return f'has Windows line ends: the system looks for a program named "{" ".join([interpreter, *rest])}\\r"'
    if not interpreter or not os.path.exists(interpreter):
        return f"begins with #!{interpreter}, which is not there"
    if interpreter.endswith("/env") and (name := next((word for word in rest if not word.startswith("-")), "")):
        return "" if shutil.which(name) else f'asks env for "{name}", which is not on PATH'
    return ""


def _script(manifest: Manifest, verdicts: CheckResults) -> bool:
    """The first argument that looks like a script, unless it may be an option's value."""
    name = manifest.args[0] if manifest.args else ""
    if not _SCRIPT.fullmatch(name):
        return True
    path = manifest.directory / name
    if not path.exists():
        near = closest_match(path.name, os.listdir(path.parent) if path.parent.is_dir() else ())
        beside = f"args names {name}, which is not beside {FILE}"
        verdicts.failed("exec-script", beside + (f"; is it {near}?" if near else ""))
        return False
    verdicts.passed("exec-script")
    start = read_prefix(path)[:4096]
    problem = _encoding_problem(start)
    if not problem and path.suffix in (".sh", ".bash") and b"\r\n" in start:
        problem = "has Windows line ends: a shell takes the CR for a part of each line's last word"
    verdicts.judged("exec-encoding", problem and f"{name} {problem}")
    return not verdicts.has_failed("exec-encoding")
