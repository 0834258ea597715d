"""The reference page of the second edition names what zot's source has, parameter by parameter."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from generate.extension import second_edition as page
from zot.features.extensions.contributions import KINDS
from zot.features.extensions.requests import METHODS
from zot.wire import extension_frames

SOURCE = Path(__file__).parents[3] / "src/zot/features/extensions"


def parameters() -> dict[str, set[str]]:
    """Per method the wire names of its parameters, as the struct it reads them with has them."""
    found: dict[str, set[str]] = {}
    for name, method in METHODS.items():
        module, function = method.function.split(":")
        found[name] = _read_by(ast.parse((SOURCE / "methods" / f"{module}.py").read_text()), function)
    return found


def _read_by(tree: ast.Module, function: str) -> set[str]:
    body = next(node for node in tree.body if isinstance(node, ast.AsyncFunctionDef) and node.name == function)
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "params":
            (kind,) = node.args
            assert isinstance(kind, ast.Name)
            return _fields(tree, kind.id)
    return set()


def _fields(tree: ast.Module, name: str) -> set[str]:
    for of in (tree, ast.parse((SOURCE / "dialogs.py").read_text())):
        for node in of.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                names = {each.target.id for each in node.body if isinstance(each, ast.AnnAssign)}  # pyright: ignore
                renamed = [word.value for word in node.keywords if word.arg == "rename"]
                new = ast.literal_eval(renamed[0]) if renamed else {}
                return {new.get(each, each) for each in names}
    raise AssertionError(f"no struct {name}")


def words(keys: str) -> set[str]:
    return set(re.findall(r"[a-z_]+", keys)) - {"or", "with", "handled"}


@pytest.mark.parametrize("method", METHODS)
def test_parameters_of_a_method(method: str) -> None:
    assert words(page.REQUESTS[method].given) == parameters()[method]


def test_every_name_is_listed_and_no_other() -> None:
    assert list(page.REQUESTS) == list(METHODS)
    assert list(page._KINDS) == list(KINDS)  # pyright: ignore[reportPrivateUsage]
    assert tuple(page.EVENTS) == extension_frames.EDITION2_EVENTS
    assert tuple(page.INTERCEPTIONS) == extension_frames.EDITION2_INTERCEPTS
    assert tuple(page.ERRORS) == extension_frames.ERROR_CODES


@pytest.mark.parametrize("name", [name for name, *_ in page.QUESTIONS])
def test_zot_asks_each_listed_question(name: str) -> None:
    asked = {text for path in SOURCE.rglob("*.py") for text in re.findall(r'"([a-z.]+)"', path.read_text())}
    assert name in asked


def test_keys_of_events_are_in_the_source() -> None:
    """Names of events' and interceptions' data, as string literals or struct fields of the package."""
    paths = (*SOURCE.rglob("*.py"), SOURCE.parents[1] / "agent/extension_ui.py")
    everything = "".join(path.read_text() for path in paths)
    named = {key for keys, _ in page.EVENTS.values() for key in words(keys)}
    named |= {key for data, value, _ in page.INTERCEPTIONS.values() for key in words(data) | words(value)}
    assert not {key for key in named if not re.search(rf'"{key}"|\b{key}[=:]', everything)}
