"""``zot ext new``: copies a starter with a test from ``starters/<language>``.

It replaces ``__NAME__`` and ``__TOOL__``; lines between ``zot:guard`` and ``zot:end`` are for ``--guard`` only.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import zot
from zot.cli.arguments import parse
from zot.cli.output import print_notice
from zot.cli.verb_table import options
from zot.errors import UsageError, ZotError
from zot.features.extensions.bytecode_cache import compile_ahead
from zot.features.extensions.loader.manifest import FILE, read_manifest
from zot.system.files import zot_home
from zot.system.temp_files import locked_temp_dir, remove_stale_files, temporary_name

STARTERS = Path(__file__).parents[1] / "starters"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_GUARD = re.compile(r"^[^\n]*zot:guard\n(.*?)^[^\n]*zot:end\n", re.MULTILINE | re.DOTALL)
_TRY = {
    "python": "python3 test_main.py",
    "typescript": "node --test",
    "go": "go test .",
    "bash": "bash test.sh",
    "node": "node --test",
}


def run(argv: list[str]) -> int:
    arguments = parse(argv, options("ext new"), least=1, most=1, what="the name")
    name = arguments.words[0]
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid name: expected a lower-case letter, then up to 39 of a-z, 0-9, - and _"
        )
    language = arguments.values.get("--lang", "")
    if language not in _TRY:
        raise UsageError(f"--lang: expected one of {', '.join(_TRY)}")
    directory = Path(os.path.abspath(os.path.expanduser(arguments.values.get("--dir", name))))
    create(directory, name, language, guard=arguments.has("--guard"))
    compile_ahead(read_manifest(directory), zot_home())
    print_notice(f"created {directory}; try in it:")
    if language == "typescript":
        sys.stderr.write("  npm install             only for Node older than 22.18, unless tsx is on PATH\n")
    sys.stderr.write(f"  {_TRY[language]:24}its tests\n")
    sys.stderr.write('  zot --ext . -p "…"      use it in one run\n')
    sys.stderr.write("  zot ext check .         every rule of the protocol\n")
    return 0


def create(directory: Path, name: str, language: str, *, guard: bool) -> None:
    """All or nothing; never writes into a directory with files."""
    if directory.exists() and any(directory.iterdir()):
        raise ZotError(f"{directory} already exists and is not empty")
    staging = Path(temporary_name(os.fspath(directory)))
    try:
        with locked_temp_dir(staging):
            before = os.umask(0)
            os.umask(before)
            staging.chmod(0o777 & ~before)
            for path in sorted((STARTERS / language).rglob("*")):
                if not path.is_file() or "__pycache__" in path.parts:
                    continue
                text = render(path.read_text(encoding="utf-8"), name, guard=guard)
                _write(staging / path.relative_to(STARTERS / language), text)
            path = staging / FILE
            fields = json.loads(path.read_text(encoding="utf-8"))
            if guard:
                fields |= {"description": "Counts words, and refuses rm -rf", "guard": True}
            path.write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
            _SDKS.get(language, _no_sdk)(staging)
            staging.replace(directory)
        remove_stale_files(directory.parent)
    except OSError as error:
        raise ZotError(f"{directory} cannot be made: {error.strerror or error}") from error


def render(text: str, name: str, *, guard: bool) -> str:
    text = _GUARD.sub(r"\1" if guard else "", text)
    return text.replace("__NAME__", name).replace("__TOOL__", f"{name.replace('-', '_')}_count")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if text.startswith("#!"):
        path.chmod(0o755)


# --- the SDKs a starter carries


def sdk_root() -> Path:
    """The SDKs of the installed package, else of the checkout."""
    package = Path(zot.__file__).parent
    installed = package / "sdks"
    return installed if installed.is_dir() else package.parent.parent / "sdks"


def _python_sdk(starter: Path) -> None:
    """As ``zot_ext``: a package ``zot`` beside the script would shadow zot itself."""
    source = Path(zot.__file__).parent / "ext"
    copies = {path: starter / "zot_ext" / path.name for path in sorted(source.glob("*.py"))}
    for path, copy in {**copies, starter / "main.py": starter / "main.py"}.items():
        _write(copy, path.read_text(encoding="utf-8").replace("zot.ext", "zot_ext"))


def _typescript_sdk(starter: Path) -> None:
    """The entry module and its imports. Imports name .ts files, which Node needs and tsx accepts."""
    source = sdk_root() / "typescript" / "src"
    waiting, done = ["index"], set[str]()
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done.add(name)
        text = (source / f"{name}.ts").read_text(encoding="utf-8")
        waiting += re.findall(r'from "\./([\w-]+)\.js"', text)
        _write(starter / "zot-ext" / f"{name}.ts", re.sub(r'(from "\./[\w-]+)\.js"', r'\1.ts"', text))


def _go_sdk(starter: Path) -> None:
    source = sdk_root() / "go"
    for path in (source / "go.mod", *sorted(source.glob("*.go")), *sorted(source.glob("internal/wire/*.go"))):
        if not path.name.endswith("_test.go"):
            _write(starter / "zot-ext" / path.relative_to(source), path.read_text(encoding="utf-8"))


def _no_sdk(_starter: Path) -> None:
    """Bash and Node starters need no SDK."""


_SDKS: dict[str, Callable[[Path], None]] = {"python": _python_sdk, "typescript": _typescript_sdk, "go": _go_sdk}
