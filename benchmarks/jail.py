"""What a jail costs: per command at each level, at the start of a run, and per file that a tool opens."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import run, scratch_home
from benchmarks.row import Row
from tests.fakes.model_server import FakeModelServer, Say

ZOT = f"{sys.prefix}/bin/zot"

# Plain, reduced and full in turn, so that a slow moment is everybody's; of each the median.
COMMANDS = """
import asyncio, json, sys, time
from pathlib import Path
from zot.features.jail.feature import JailOptions, cached_jail_support
from zot.agent.tools.bash import BashTool
from zot.agent.tools.read import ReadTool
from zot.agent.tools.registry import BashLimits
from zot.agent.tools.workspace import Workspace
from zot.core.tool import ToolContext
from zot.provider.messages import ToolCallBlock
from zot.system.jail.jail import Jail, JailSupport
from zot.system.jail.policy import policy_for

root = Path(sys.argv[1])
project, home = root / "project", root / "zot"
project.mkdir(), home.mkdir()
(project / "file").write_text("words\\n" * 10)
machine = cached_jail_support(home)
spaces = {"plain": Workspace(project), "reduced": Workspace(project)}
spaces["reduced"].jail = Jail(policy_for(project), JailSupport("reduced", "", "", machine.landlock))
if machine.level == "full":
    spaces["full"] = Workspace(project)
    spaces["full"].jail = Jail(policy_for(project), machine)

async def timed(tool, count, **arguments):
    context = ToolContext(ToolCallBlock("1", tool.name), lambda text: None)
    began = time.perf_counter()
    for _ in range(count):
        done = await tool.execute(arguments, context)
        assert not done.is_error, done
    return (time.perf_counter() - began) / count

async def main():
    found = {}
    for number in range(61):
        for name, space in spaces.items():
            found.setdefault("bash " + name, []).append(await timed(BashTool(space, BashLimits()), 1, command="true"))
            if name != "full":
                found.setdefault("read " + name, []).append(await timed(ReadTool(space), 20, path="file"))
    print(json.dumps({name: sorted(times)[len(times) // 2] * 1000 for name, times in found.items()}))

asyncio.run(main())
for space in spaces.values():
    if space.jail is not None:
        space.jail.close()
"""


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="zot-bench-") as directory:
        argv = [sys.executable, "-c", COMMANDS, directory]
        found = json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout)
    plain = found["bash plain"]
    note = f"plain {plain:.1f} ms"
    yield Row("a command in the reduced jail: over plain, p50", found["bash reduced"] - plain, 1, "ms", note=note)
    if "bash full" in found:
        yield Row("a command in the full jail: over plain, p50", found["bash full"] - plain, 20, "ms", note=note)
    opened = (found["read reduced"] - found["read plain"]) * 1000
    yield Row("a file read in the jail: over plain, p50", opened, 50, "µs")
    yield start_up()


def start_up() -> Row:
    """Plain and jailed in turn; the probe of the machine is remembered after the first."""
    first: dict[tuple[str, ...], list[float]] = {(): [], ("--jail",): []}
    with scratch_home() as (env, cwd):
        Path(env["ZOT_HOME"]).mkdir(exist_ok=True)
        for _ in range(15):
            for flags, times in first.items():
                with FakeModelServer([Say("ok")]) as server:
                    process = run([ZOT, "-p", "go", "--base-url", server.url, *flags], env, cwd)
                times.append(server.timings[0].first_byte - process.started)
    plain, jailed = (min(times) * 1000 for times in first.values())
    return Row("zot -p --jail: added to the first request", jailed - plain, 10, "ms", note=f"plain {plain:.0f} ms")
