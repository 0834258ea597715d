"""Every flag, configuration field, setting and extra is used somewhere."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from zot.agent.config import RunConfig
from zot.agent.settings import SettingsValues
from zot.cli.flags import FLAGS, Flags

ROOT = Path(__file__).parents[3]
SRC = ROOT / "src" / "zot"
IMPORTED_AS = {"pillow": "PIL"}


@functools.cache
def sources() -> dict[str, str]:
    return {str(path.relative_to(SRC)): path.read_text("utf-8") for path in SRC.rglob("*.py")}


def trees(pattern: str) -> Iterator[tuple[str, ast.Module]]:
    """Of the files in which something is written like that: parsing all of them takes seconds."""
    written = re.compile(pattern)
    return ((file, parsed(file)) for file, text in sources().items() if written.search(text))


@functools.cache
def parsed(file: str) -> ast.Module:
    return ast.parse(sources()[file])


def reads(tree: ast.AST, receiver: str) -> Iterator[str]:
    """Attributes read from something of that name: ``receiver.x``, ``self._receiver.x``, ``app.receiver.x``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            owner = node.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
            if name.lstrip("_") == receiver:
                yield node.attr


def read_anywhere(receiver: str, *, but: str) -> set[str]:
    found = trees(rf"{receiver}\s*\.")
    return {name for file, tree in found if file != but for name in reads(tree, receiver)}


def read_by_itself(file: str, name: str) -> set[str]:
    """The own fields that the methods of a class read."""
    (found,) = [node for node in parsed(file).body if isinstance(node, ast.ClassDef) and node.name == name]
    return set(reads(found, "self"))


def test_every_flag_is_read() -> None:
    """In a mode, or on its way into the run configuration."""
    heard = read_anywhere("flags", but="cli/flags.py") | read_by_itself("cli/flags.py", "Flags")
    assert {flag.dest for flag in FLAGS} - heard == set()
    assert {flag.dest for flag in FLAGS} <= set(Flags.__annotations__)


def test_every_field_of_the_run_configuration_is_read() -> None:
    assert set(RunConfig.__struct_fields__) - read_anywhere("config", but="agent/config.py") == set()


def test_every_setting_is_read() -> None:
    """Showing it in a dialog does not count: that goes through ``getattr``."""
    heard = read_anywhere("values", but="agent/settings.py") | read_by_itself("agent/settings.py", "SettingsValues")
    assert set(SettingsValues.__struct_fields__) - heard == set()


def test_every_extra_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {re.split(r"[^\w-]", need)[0] for needs in project["optional-dependencies"].values() for need in needs}
    modules = {IMPORTED_AS.get(name, name.replace("-", "_")) for name in wanted}
    found = trees(rf"(?:from|import|import_module)\W+(?:{'|'.join(modules)})\b")
    imported = {name.partition(".")[0] for _, tree in found for name in _imports(tree)}
    assert modules - imported == set()


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "import_module":  # of a module without types
            yield from (str(name.value) for name in node.args if isinstance(name, ast.Constant))
