"""The table of commands: names, modules, and protection against extensions."""

from __future__ import annotations

from importlib import import_module

import pytest

from zot.agent.slash_commands import TERMINAL_COMMANDS, parse
from zot.features.extensions.registry import BUILTIN_COMMANDS
from zot.frontends.terminal.commands.registry import ALIASES, COMMANDS, find, suggest_command


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_a_module_that_runs_it(command: object) -> None:
    assert callable(import_module(command.module).run)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


def test_no_extension_can_take_the_name_of_a_command() -> None:
    names = {name for command in COMMANDS for name in (command.name, *command.aliases)}
    assert names <= set(BUILTIN_COMMANDS)


def test_other_front_ends_know_the_names_of_the_terminal() -> None:
    """issue 29.20: `/model` outside the terminal is an error that names the flag; every command has its row."""
    assert {name for command in COMMANDS for name in (command.name, *command.aliases)} == set(TERMINAL_COMMANDS)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/help", ("help", "")),
        ("/CLEAR", ("clear", "")),
        ("/model GPT-x ", ("model", "GPT-x")),
        ("/session export ~/a b", ("session", "export ~/a b")),
        ("/reload-ext", ("reload-ext", "")),
        ("/skill:Cook make soup", ("skill", "Cook make soup")),
        ("/usr/bin is what", None),
        ("/a.b/", None),
        ("/other:thing", None),
        ("/", None),
        ("no slash", None),
    ],
)
def test_path_is_not_a_command_and_names_ignore_case(text: str, parsed: tuple[str, str] | None) -> None:
    """iface-156, iface-288: a path is no command, and names of commands ignore case."""
    assert parse(text) == parsed


def test_a_command_is_found_by_its_alias() -> None:
    assert find("quit") is find("exit")
    assert find("nope") is None


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        ("setings", "did you mean /settings?"),
        ("resme", "did you mean /resume?"),
        ("xyzzy", ""),
        ("deplyo", "did you mean /deploy?"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_one(typed: str, advice: str) -> None:
    assert suggest_command(typed, ["fix", "deploy"]) == advice


@pytest.mark.parametrize("alias", ALIASES)
def test_alias_runs_a_command_and_is_not_one_itself(alias: str) -> None:
    command = find(ALIASES[alias].split()[0])
    assert command is not None
    assert command.arguments or " " not in ALIASES[alias]
    assert find(alias) is None
