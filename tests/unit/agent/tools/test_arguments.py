"""Arguments as models send them."""

from __future__ import annotations

from typing import Any

import pytest

from zot.agent.tools.arguments import ToolArguments
from zot.errors import ToolError


@pytest.mark.parametrize(
    ("sent", "meant"), [(3, 3), (3.0, 3), ("3", 3), (" 3 ", 3), ("3.0", 3), ("1e3", 1000), (-2, -2)]
)
def test_integers_are_read_leniently(sent: Any, meant: int) -> None:
    assert ToolArguments("t", {"n": sent}).integer("n") == meant


@pytest.mark.parametrize("absent", [{}, {"n": None}, {"n": ""}])
def test_an_absent_integer_is_its_default(absent: dict[str, Any]) -> None:
    assert ToolArguments("t", absent).integer("n", 7) == 7


@pytest.mark.parametrize("sent", [3.5, "three", True, [], {}, float("inf"), float("nan"), "1e999", "0x10"])
def test_non_integer_error_names_the_field(sent: Any) -> None:
    with pytest.raises(ToolError, match="t: 'n' must be an integer, not "):
        ToolArguments("t", {"n": sent}).integer("n")


@pytest.mark.parametrize(
    ("sent", "meant"), [(True, True), ("true", True), (1, True), ("No", False), (None, False), (0, False)]
)
def test_flags_are_read_leniently(sent: Any, meant: bool) -> None:
    assert ToolArguments("t", {"f": sent}).flag("f") is meant


def test_invalid_flag_error_names_the_field() -> None:
    with pytest.raises(ToolError, match="'f' must be true or false"):
        ToolArguments("t", {"f": "maybe"}).flag("f")


def test_a_missing_or_wrong_string_names_the_field() -> None:
    with pytest.raises(ToolError, match="t: 's' is required"):
        ToolArguments("t", {}).text("s")
    with pytest.raises(ToolError, match="t: 's' must be a string"):
        ToolArguments("t", {"s": 1}).text("s")
    with pytest.raises(ToolError, match="t: 's' is required and must not be blank"):
        ToolArguments("t", {"s": " "}).filled_text("s")


@pytest.mark.parametrize("values", [None, [], "x", 3])
def test_arguments_that_are_not_an_object_are_an_error(values: Any) -> None:
    with pytest.raises(ToolError, match="must be a JSON object"):
        ToolArguments("t", values)
