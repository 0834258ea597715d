"""Declared permissions: comparison with the granted ones and their texts."""

from __future__ import annotations

from typing import Any

import pytest

from generate.extension.reference import MANIFEST_KEYS
from zot.errors import ExtensionError
from zot.features.extensions.loader.declared_permissions import (
    OF_PROJECTS,
    Permissions,
    added_permissions,
    describe_permissions,
    read_permissions,
)
from zot.features.extensions.loader.manifest import KEYS


def permissions(**fields: Any) -> Permissions:
    return read_permissions(fields)[0]


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ({}, {}, []),
        ({"net": True}, {}, []),
        ({}, {"net": True}, ["connects to the network"]),
        ({"fs": {"read": ["~/notes"]}}, {"fs": {"read": ["~/notes/a"]}}, []),
        ({"fs": {"read": ["~/notes"]}}, {"fs": {"read": ["~/notes-2"]}}, ["reads ~/notes-2"]),
        ({"fs": {"read": ["~/notes"]}}, {"fs": {"write": ["~/notes"]}}, ["changes ~/notes"]),
        ({"fs": {"write": ["~/notes"]}}, {"fs": {"read": ["~/notes"]}}, []),
        ({}, {"fs": {"read": ["lib", "$DATA/x"], "write": ["$DATA/x"]}}, []),
        ({}, {"fs": {"write": ["."]}}, ["changes its own directory"]),
        ({"exec": True}, {"exec": ["git"]}, []),
        ({"exec": ["git"]}, {"exec": ["git", "jq"]}, ["runs jq"]),
        ({"exec": ["git"]}, {"exec": True}, ["runs any program"]),
        ({"env": ["A"]}, {"env": ["A", "B"]}, ["gets the variables B"]),
        ({"intercept": ["tool_call"]}, {"intercept": True}, ["may deny and rewrite: all events"]),
    ],
)
def test_only_additional_permissions_are_reported(old: dict[str, Any], new: dict[str, Any], more: list[str]) -> None:
    assert added_permissions(permissions(**old), permissions(**new)) == more


def test_all_exceeds_any_permission_and_nothing_exceeds_all() -> None:
    assert added_permissions(OF_PROJECTS, None) == ["unconfined: it runs with all your rights"]
    assert added_permissions(None, permissions(net=True)) == []


def test_permission_texts_for_project() -> None:
    assert describe_permissions(OF_PROJECTS) == [
        "reads its own directory, the project",
        "changes its data directory, its own directory",
        "has no network",
        "runs any program",
        "may deny and rewrite: all events",
    ]


def test_both_path_spellings_count_and_misspelt_key_is_reported() -> None:
    found, slips = read_permissions({"fs": {"read": ["a"]}, "fs.read": ["b"], "nett": True, "x-mine": 1, "net": None})
    assert found == Permissions(read=("a", "b"))
    assert slips == ('"nett" is not a key of permissions; did you mean "net"?',)


@pytest.mark.parametrize("value", [["x"] * 101, [""], ["a\0b"], ["a\nb"], [1], ["~other/x"], ["a/../b"]])
def test_invalid_paths_are_rejected(value: list[Any]) -> None:
    with pytest.raises(ExtensionError, match=r"permissions\.fs\.read"):
        read_permissions({"fs": {"read": value}})


def test_the_reference_page_names_every_key_of_the_manifest() -> None:
    assert {key.partition(".")[0] for key, _, _ in MANIFEST_KEYS} == set(KEYS)
