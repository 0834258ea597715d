"""How many processes a command may have at the reduced level, where it is one user with everything else that runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
NOBODY_ELSE = 64_321  # a user whom no other test is
BUSY_USER = """
import os, signal, sys, tempfile, threading
from pathlib import Path
import msgspec
from zot.system.files import find_program
from zot.system.jail import landlock, seccomp, launcher
from zot.system.jail.jail import Jail, JailSupport, detect_support
from zot.system.jail.policy import JailLimits, policy_for
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(int(sys.argv[1]))
    os.setuid(int(sys.argv[1]))
for _ in range(60):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
with tempfile.TemporaryDirectory() as project, tempfile.TemporaryDirectory() as home:
    policy = msgspec.structs.replace(policy_for(Path(project), home=home), limits=JailLimits(processes=25))
    jail = Jail(policy, JailSupport("reduced", "", "", detect_support(find_program).landlock), home)
    script = "n=0; while [ $n -lt 100 ]; do sleep 30 >/dev/null & echo started; n=$((n + 1)); done"
    null = os.open("/dev/null", os.O_RDWR)
    told, telling = os.pipe()
    child, cell = jail.start(["/bin/dash", "-c", script], Path(project), dict(os.environ), null, telling, null)
    os.close(telling)
    with open(told) as lines:
        print(len(lines.readlines()))
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    jail.close()
"""


def test_other_processes_of_user_do_not_count() -> None:
    """engine-229: sixty threads of the user's own are above the limit of 25, and a command gets its 25 all the same."""
    ran = subprocess.run(
        [sys.executable, "-c", BUSY_USER, str(NOBODY_ELSE)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert 10 < int(ran.stdout or "-1") <= 25, ran.stderr
