"""SDK errors name options, never flags."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import CallTools, FakeModelServer, Say
from zot.cli.flags import FLAGS
from zot.errors import ZotError
from zot.sdk import Error, Options, Runtime, stream

Serve = Callable[..., FakeModelServer]
Embed = Callable[..., Runtime]

# Flags of modes and of people at a terminal: no sentence that a program can meet names them.
OF_PEOPLE = {
    "--require-jail",  # a program that wants it full asks the machine: `zot jail --check`
    *("--print", "--json", "--stream", "--rpc", "--list-models", "--resume", "--no-session", "--ext-trace", "--stats"),
    *("--theme", "--record", "--help", "--help-all", "--version", "--trust-project", "--permission-limit"),
    "--output-schema",  # `returns=` takes a type
    *("--api-key-fd", "--session-file", "--all-workers"),  # of the program that starts the process
}


def test_every_flag_has_an_option_or_is_interactive() -> None:
    known = {name for flag in FLAGS for name in flag.names if name.startswith("--")}
    aliases = {name for flag in FLAGS for name in flag.names[1:] if flag.names[0].startswith("--")}
    assert known - set(stream.OPTIONS) - OF_PEOPLE - aliases == set()
    assert set(stream.OPTIONS) - known == set()
    assert {option.partition("=")[0] for option in stream.OPTIONS.values()} <= set(Options.__annotations__)


def test_examples_run() -> None:
    assert doctest.testmod(stream).failed == 0


WRONG: list[dict[str, Any]] = [
    {"provider": "anthropic", "environ": {}},
    {"provider": "nonsense"},
    {"provider": "anthropic", "script": "x.json"},
    {"provider": "anthropic", "api_key": "k", "model": "gpt-5"},
    {"provider": "anthropic", "api_key": "k", "model": "nonsense-1"},
    {"provider": "anthropic", "api_key": "k", "fallback_model": "openai/gpt-5", "environ": {}},
    {"provider": "ollama"},
    {"provider": "anthropic", "api_key": "k", "allowed_tools": ["nonsense"]},
    {"provider": "anthropic", "api_key": "k", "session": "missing/file.jsonl"},
    {"provider": "anthropic", "api_key": "k", "cwd": "/nonexistent"},
    {"script": {"turns": [{"texts": "x"}]}},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
async def test_option_errors_name_options_not_flags(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ZotError) as failed:
        async with Runtime(**{"home": tmp_path, "cwd": tmp_path, "environ": {}, **wrong}) as zot:
            await zot.ask("hi")
    assert "--" not in str(failed.value).replace("`zot --list-models`", "") and str(failed.value)


async def test_error_event_names_options_not_flags(serve: Serve, embed: Embed) -> None:
    async with embed(serve(CallTools([("bash", {"command": "true"})]), Say("x")), max_cost_usd=0.000001) as zot:
        (error,) = [event async for event in zot.prompt("hi") if isinstance(event, Error)]
    assert "max_cost_usd=" in error.message and "--" not in error.message
