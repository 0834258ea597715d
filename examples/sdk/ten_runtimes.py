"""Ten agents in one program, each in a directory of its own, working at the same time.

    python ten_runtimes.py "Describe this project in one sentence." DIR...

Without directories it makes ten empty ones. Results are printed as they come in; the sum at the end.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from zot.sdk import Options, Runtime, ZotError


async def ask(prompt: str, directory: Path, options: Options) -> tuple[str, float]:
    async with Runtime(cwd=directory, **options) as zot:
        answer = await zot.ask(prompt)
        return answer, zot.cost().cost_usd


async def report(prompt: str, directory: Path, options: Options) -> float:
    try:
        answer, cost = await ask(prompt, directory, options)
    except ZotError as error:  # one that fails does not take the others along
        answer, cost = f"failed: {error}", 0.0
    print(f"{directory.name}: {answer}", flush=True)
    return cost


async def main(prompt: str, directories: list[Path], **options: object) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(report(prompt, directory, Options(**options))) for directory in directories]
    print(f"{len(tasks)} answers, ${sum(task.result() for task in tasks):.4f}")


if __name__ == "__main__":
    asked = sys.argv[1] if len(sys.argv) > 1 else "Say hello."
    given = [Path(name) for name in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as scratch:
        if not given:
            given = [Path(scratch, f"project-{number}") for number in range(10)]
            for directory in given:
                directory.mkdir()
        asyncio.run(main(asked, given))
