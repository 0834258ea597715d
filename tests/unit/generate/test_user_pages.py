"""The reference pages name everything there is; that they are current is checked with every generated file."""

from __future__ import annotations

from generate import user_pages
from zot.agent.settings import SettingsValues
from zot.cli.flags import FLAGS
from zot.frontends.terminal.commands.registry import COMMANDS


def test_the_page_names_every_flag() -> None:
    page = user_pages.command_line()
    assert all(flag.names[-1] in page and flag.help in page for flag in FLAGS)


def test_the_page_names_every_setting_with_its_meaning() -> None:
    page = user_pages.settings()
    for name in SettingsValues.__struct_fields__:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert len(row.split("|")[-2].strip()) > 10


def test_the_page_names_every_command() -> None:
    page = user_pages.slash_commands()
    assert all(f"`/{command.name}" in page for command in COMMANDS)
