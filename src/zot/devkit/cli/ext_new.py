"""``zot ext new``: copies a starter with a test from ``starters/<language>``; ``--template`` puts a program of
``starters/templates`` in its place.

It replaces ``__NAME__`` and ``__TOOL__``; lines between ``zot:guard`` and ``zot:end`` are for ``--guard`` only.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zot
from zot.cli.arguments import parse
from zot.cli.output import print_notice
from zot.cli.verb_table import TEMPLATES, options
from zot.errors import UsageError, ZotError
from zot.features.extensions.bytecode_cache import compile_ahead
from zot.features.extensions.contributions import imitates_zot
from zot.features.extensions.loader.manifest import FILE, read_manifest
from zot.system.files import zot_home
from zot.system.temp_files import locked_temp_dir, remove_stale_files, temporary_name

STARTERS = Path(__file__).parents[1] / "starters"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_GUARD = re.compile(r"^[^\n]*zot:guard\n(.*?)^[^\n]*zot:end\n", re.MULTILINE | re.DOTALL)
_ABOUT = re.compile(r"It registers the command [^\n]*\.$", re.MULTILINE)
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
    if imitates_zot(name):
        raise UsageError(f"{name!r} could be taken for zot itself: choose another name")
    template = arguments.values.get("--template", "")
    if template and template not in TEMPLATES:
        raise UsageError(f"--template: expected one of {', '.join(TEMPLATES)}")
    if template and language not in _SDKS:
        raise UsageError(f"--template: there is none in {language}; expected one of {', '.join(_SDKS)}")
    if template and arguments.has("--guard"):
        raise UsageError("--guard cannot be combined with --template; the template question is a guard")
    directory = Path(os.path.abspath(os.path.expanduser(arguments.values.get("--dir", name))))
    create(directory, name, language, guard=arguments.has("--guard"), template=template)
    compile_ahead(read_manifest(directory), zot_home())
    print_notice(f"created {directory}; try in it:")
    if language == "typescript":
        sys.stderr.write("  npm install             only for Node older than 22.18, unless tsx is on PATH\n")
    sys.stderr.write(f"  {_TRY[language]:24}its tests\n")
    sys.stderr.write('  zot --ext . -p "…"      use it in one run\n')
    sys.stderr.write("  zot ext check .         every rule of the protocol\n")
    return 0


def create(directory: Path, name: str, language: str, *, guard: bool, template: str = "") -> None:
    """All or nothing; never writes into a directory with files."""
    if directory.exists() and any(directory.iterdir()):
        raise ZotError(f"{directory} already exists and is not empty")
    staging = Path(temporary_name(os.fspath(directory)))
    try:
        with locked_temp_dir(staging):
            before = os.umask(0)
            os.umask(before)
            staging.chmod(0o777 & ~before)
            for source in (STARTERS / language, *_template_sources(template, language)):
                _copy(source, staging, name, guard=guard)
            path = staging / FILE
            fields = json.loads(path.read_text(encoding="utf-8"))
            if guard:
                fields |= {"description": "Counts words, and refuses rm -rf", "guard": True}
            if template:
                fields |= _describe(staging, name, template)
            path.write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
            _SDKS.get(language, _no_sdk)(staging)
            staging.replace(directory)
        remove_stale_files(directory.parent)
    except OSError as error:
        raise ZotError(f"{directory} cannot be made: {error.strerror or error}") from error


def _copy(source: Path, staging: Path, name: str, *, guard: bool) -> None:
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            text = render(path.read_text(encoding="utf-8"), name, guard=guard)
            _write(staging / path.relative_to(source), text)


def _template_sources(template: str, language: str) -> list[Path]:
    folder = STARTERS / "templates"
    return [folder / "tests" / language, folder / template / language] if template else []


def _describe(staging: Path, name: str, template: str) -> dict[str, Any]:
    """Writes what the template's test plays and its line of the README; the keys of its manifest."""
    folder = STARTERS / "templates" / template
    _write(staging / "frames.json", render((folder / "frames.json").read_text(encoding="utf-8"), name, guard=False))
    fields = json.loads(render((folder / "template.json").read_text(encoding="utf-8"), name, guard=False))
    readme = staging / "README.md"
    text = _ABOUT.sub(lambda _: fields.pop("about"), readme.read_text(encoding="utf-8"), count=1)
    _write(readme, text)
    return fields


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
