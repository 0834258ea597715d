"""Nothing outlives its command in a jail, however it slips from parent to parent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
TRIES = 25
SLIPPING = """
import asyncio, os, sys, tempfile
from pathlib import Path
from zot.system import process_setup
from zot.system.files import find_program
from zot.system.jail.jail import Jail, JailSupport, detect_support
from zot.system.jail.policy import policy_for
from zot.system.process_table import snapshot
from zot.system.processes import spawn

async def main():
    process_setup.harden_process()
    stayed = 0
    with tempfile.TemporaryDirectory() as project, tempfile.TemporaryDirectory() as home:
        support = JailSupport("reduced", "", "", detect_support(find_program).landlock)
        jail = Jail(policy_for(Path(project), home=home), support, home)
        for _ in range(int(sys.argv[1])):
            script = "(setsid sh -c 'sleep 600 & exit' >/dev/null 2>&1 &)"
            tree = spawn(["/bin/bash", "-c", script], cwd=Path(project), env=dict(os.environ), jail=jail)
            await tree.wait()
            tree.detach()
            await asyncio.sleep(0.05)
            own = [p for p in snapshot().values() if p.parent == os.getpid() and not p.zombie]
            commands = [Path(f"/proc/{p.pid}/cmdline").read_bytes() for p in own]
            stayed += b"sleep\\0600\\0" in commands
        jail.close()
    print(stayed)

asyncio.run(main())
"""


def test_child_of_exiting_parents_is_found() -> None:
    command = [sys.executable, "-c", SLIPPING, str(TRIES)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (ran.stdout, ran.stderr) == ("0\n", "")
