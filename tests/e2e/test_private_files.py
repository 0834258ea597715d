"""Whatever zot makes in its home and in the temporary directory is its user's alone, also under an umask of zero."""

from __future__ import annotations

import os
import resource
import stat
from functools import partial
from pathlib import Path

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say


def test_every_file_and_directory_is_private(zot: Zot, serve, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    zot.environment["TMPDIR"] = str(temporary)
    calls = [
        ("write", {"path": "a.txt", "content": "x"}),
        ("bash", {"command": "echo b >b; for i in $(seq 3000); do echo a line of much output $i; done"}),
        ("edit", {"path": "a.txt", "edits": [{"oldText": "x", "newText": "y"}]}),
    ]
    serve([CallTools(calls), Say("done"), CallTools(calls), Say("done"), Say("again")])
    of = partial(zot, model=False)
    before = os.umask(0)
    try:
        ran = [of("ext", "new", "hello", "--lang", "python"), of("ext", "install", "./hello")]
        project = zot.project / ".zot" / "extensions"
        project.mkdir(parents=True)
        (zot.project / "hello").rename(project / "deep")
        ran += [of("ext", "trust"), zot("-p", "go"), zot("-p", "--jail", "go"), zot("-p", "-c", "go on")]
        ran += [of("doctor"), of("ext", "list"), of("sessions", "list")]
    finally:
        os.umask(before)
    assert not [one.err for one in ran if one.code not in (0, 1) or "Traceback" in one.err]
    found = [path for top in (zot.home / "zot", temporary) for path in top.rglob("*") if not path.is_symlink()]
    assert {"sessions", "extensions", "changes", "pycache", "trust.json"} <= {path.name for path in found}
    loose = {str(path): oct(stat.S_IMODE(path.stat().st_mode)) for path in found if path.stat().st_mode & 0o077}
    assert loose == {}


def test_core_dumps_are_disabled(zot: Zot, serve) -> None:
    """zot writes none; a command may raise its own limit unless it is jailed."""
    server = serve(
        [
            CallTools([("bash", {"command": "ulimit -Sc; ulimit -Hc; awk '/core/{print $5}' /proc/$PPID/limits"})]),
            Say("done"),
        ]
    )
    zot("-p", "go")
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    lines = str(server.requests[-1].json["messages"][-1])
    assert f"\\n0\\n{'unlimited' if hard == resource.RLIM_INFINITY else hard // 1024}\\n0\\n" in lines


def test_a_jailed_command_cannot_leave_one(zot: Zot) -> None:
    ran = zot("jail", "--", "sh", "-c", "ulimit -Hc; ulimit -c unlimited || echo refused")
    assert ran.out.split() == ["0", "refused"]
