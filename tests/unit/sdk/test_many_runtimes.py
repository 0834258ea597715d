"""Many runtimes in one process: nothing is shared, lost or mixed up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest
from zot.sdk import Runtime, TextDelta, text_of


def echo(seen: SeenRequest) -> Any:
    """Answers with the words of the prompt, one delta each."""
    last = seen.json["messages"][-1]["content"]
    prompt = last if isinstance(last, str) else last[0].get("text", "")
    if prompt.startswith("write"):
        name = prompt.split()[1]
        return CallTools([("write", {"path": "mine.txt", "content": name})])
    return Say(deltas=tuple(f"{prompt}:{number} " for number in range(20)))


async def test_a_hundred_runtimes_at_once_share_nothing(serve: Callable[..., FakeModelServer], tmp_path: Path) -> None:
    server = serve(echo, repeat=True)

    async def one(number: int) -> str:
        cwd = tmp_path / f"project-{number}"
        cwd.mkdir()
        async with Runtime(
            provider="anthropic", api_key="k", base_url=server.url, cwd=cwd, home=tmp_path / "home", skills=False
        ) as zot:
            heard = [e.delta async for e in zot.prompt(f"n{number}") if isinstance(e, TextDelta)]
            assert heard == [f"n{number}:{part} " for part in range(20)]
            await zot.ask(f"write {number}")
            assert text_of(zot.messages()[0]) == f"n{number}"
            return (cwd / "mine.txt").read_text()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number)) for number in range(100)]
    assert [task.result() for task in tasks] == [str(number) for number in range(100)]
    assert len(asyncio.all_tasks()) == 1
