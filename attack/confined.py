"""What an extension can do beyond its permissions, and how it could get more of them than somebody granted.

What it tries by itself is tried at both levels of the jail; a secret that it cannot name in its answer was not read.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attack.stage import zot_in
from attack.table import attack
from tests.e2e.probing import at_level, prober, told
from tests.fakes.zot_process import Ran, Zot

ROOM = "confinement"
SECRET = "THE-SECRET"
LEVELS = ("full", "reduced")
ASKED = {"fs": {"read": ["$PROJECT"]}}

# What to try, and what nobody granted; {home} is the user's, {port} somebody's server.
TRIES = {
    "reads a private key": "open('{home}/.ssh/id_rsa').read()",
    "reads a private key by a link": "(os.symlink('{home}/.ssh', DATA / 'l'), open(DATA / 'l/id_rsa').read())",
    "reads zot's credentials": "open('{home}/zot/auth.json').read()",
    "reads a session": "open('{home}/zot/sessions/one').read()",
    "reads another extension's data": "open('{home}/zot/data/global/other/one').read()",
    "reads another project": "open(PROJECT.parent / 'project-2' / 'secret').read()",
    "reads a secret variable": "os.environ['OTHER_TOKEN']",
    "reads the environment of its parent process": "open(f'/proc/{{os.getppid()}}/environ').read()",
    "reads the environment of all processes": "[open(p).read() for p in pathlib.Path('/proc').glob('[0-9]*/environ')]",
}
CHANGES = {
    "changes a file of the project": "(PROJECT / 'README').write_text('x')",
    "creates a file in the project": "(PROJECT / 'new').write_text('x')",
    "removes a file of the project": "(PROJECT / 'README').unlink()",
    "changes its own program": "(OWN / 'main.py').write_text('x')",
    "changes its own manifest": "(OWN / 'extension.json').write_text('x')",
    "writes code next to its program": "(OWN / 'json.py').write_text('x')",
    "changes the granted permissions": "open('{home}/zot/ext-lock.json', 'r+').write('x')",
    "changes the trust file": "open('{home}/zot/trust.json', 'r+').write('x')",
    "changes a start-up file of the shell": "open('{home}/.bashrc', 'r+').write('x')",
    "connects to a server": "socket.create_connection(('127.0.0.1', {port}), 3)",
    "runs a program it did not name": "run('git', '--version')",
    "runs a program by the loader": "run(str(next(pathlib.Path('/lib64').glob('ld-*'))), '/bin/cat', OWN / 'main.py')",
    "runs a copy of a program": "(DATA / 'c').write_bytes(open('/bin/cat', 'rb').read())",
}


def _stage(zot: Zot) -> None:
    for name in (".ssh/id_rsa", "zot/auth.json", "zot/sessions/one", "zot/data/global/other/one", ".bashrc"):
        (zot.home / name).parent.mkdir(parents=True, exist_ok=True)
        (zot.home / name).write_text(SECRET)
    for name in ("zot/trust.json", "zot/ext-lock.json"):
        (zot.home / name).write_text("{}")
    (zot.project.parent / "project-2").mkdir()
    (zot.project.parent / "project-2" / "secret").write_text(SECRET)
    (zot.project / "README").write_text("hello")
    zot.environment.update(OTHER_TOKEN=SECRET, ANTHROPIC_API_KEY=SECRET)


def _tried(scratch: Path, code: str, level: str, reads: bool) -> str:
    place = scratch / level
    place.mkdir()
    zot = zot_in(place)
    _stage(zot)
    at_level(zot, level, place / "bin")
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = code.format(home=zot.home, port=server.getsockname()[1])
        prober(_own(zot), {"it": code, "control": "(PROJECT / 'README').read_text()"}, permissions=ASKED)
        ran = zot("ext", "doctor")
    found = told(zot)
    if found["control"] != {"got": "hello"}:
        return f"{level}: the control failed: {found['control']} {ran.out}"
    it = found["it"]
    won = SECRET in it.get("got", "") if reads else "got" in it
    return f"{level}: {it}" if won else ""


def _row(what: str, code: str, reads: bool) -> None:
    quick = what in ("reads a private key", "changes a file of the project", "connects to a server")

    @attack(ROOM, f"an extension {what} without the permission", expect="refused at both levels", quick=quick)
    def row(scratch: Path) -> str:
        return "; ".join(filter(None, (_tried(scratch, code, level, reads) for level in LEVELS)))


for _what, _code in (TRIES | CHANGES).items():
    _row(_what, _code, _what in TRIES)


# --- getting more than was granted


def _own(zot: Zot) -> Path:
    return zot.home / "zot" / "extensions" / "prober"


def _rewritten(directory: Path, **fields: Any) -> None:
    path = directory / "extension.json"
    manifest = {**json.loads(path.read_text()), **fields}
    path.write_text(json.dumps({key: value for key, value in manifest.items() if value is not None}))


def _ran(zot: Zot) -> Ran:
    script = zot.project.parent / "script.json"
    turns = [{"tool_calls": [{"name": "bash", "args": {"command": "touch done"}}]}, {"text": "done"}]
    script.write_text(json.dumps({"turns": turns}))
    return zot("--provider", "script", "--script", str(script), "-p", "go")


def _started(zot: Zot) -> bool:
    """Whether it ran since the last time."""
    found = list((zot.home / "zot" / "data").glob("*/prober/told.json"))
    for path in found:
        path.unlink()
    return bool(found)


def _trick(what: str, expect: str) -> Callable[[Callable[[Zot], str]], None]:
    def register(try_it: Callable[[Zot], str]) -> None:
        @attack(ROOM, what, expect=expect, quick=False)
        def row(scratch: Path) -> str:
            return try_it(zot_in(scratch))

    return register


def _installed(zot: Zot, permissions: Any) -> Path:
    source = prober(zot.project.parent / "source" / "prober", {}, permissions=permissions)
    zot("ext", "install", str(source))
    _ran(zot)
    if not _started(zot):
        raise AssertionError("the control did not start")
    return _own(zot)


@_trick("a granted extension's manifest is edited to request more permissions", expect="does not start; reported")
def edited_wider(zot: Zot) -> str:
    directory = prober(_own(zot), {}, permissions=ASKED)
    _ran(zot)
    if not _started(zot):
        return "the control did not start"
    for more in (
        {**ASKED, "net": True},
        {"fs": {"write": ["$PROJECT"]}},
        {**ASKED, "exec": True},
        {**ASKED, "env": ["X"]},
    ):
        _rewritten(directory, permissions=more)
        ran = _ran(zot)
        if _started(zot) or "requests more than you granted" not in ran.err:
            return f"{more}: {ran.err}"
    return ""


@_trick("a granted extension's manifest loses its permissions", expect="does not start; reported")
def edited_away(zot: Zot) -> str:
    directory = prober(_own(zot), {}, permissions=ASKED)
    _ran(zot)
    if not _started(zot):
        return "the control did not start"
    _rewritten(directory, permissions=None)
    ran = _ran(zot)
    return "" if not _started(zot) and "all your rights" in ran.err else ran.err


@_trick("an update requests more permissions without a user to ask", expect="not updated")
def updated_wider(zot: Zot) -> str:
    directory = _installed(zot, ASKED)
    _rewritten(zot.project.parent / "source" / "prober", permissions={**ASKED, "net": True})
    ran = zot("ext", "update", "prober")
    return "" if ran.code == 1 and "net" not in (directory / "extension.json").read_text() else ran.err


@_trick("one byte of an installed extension is flipped and its times set back", expect="does not start; reported")
def flipped(zot: Zot) -> str:
    program = _installed(zot, ASKED) / "main.py"
    before, data = program.stat(), bytearray(program.read_bytes())
    data[-2] ^= 1
    program.write_bytes(data)
    os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))
    ran = _ran(zot)
    return "" if not _started(zot) and f"{program} changed since it was installed" in ran.err else ran.err


@_trick("an installed extension loses its record, and a byte is flipped", expect="does not start; reported")
def without_record(zot: Zot) -> str:
    directory = _installed(zot, ASKED)
    (directory / ".zot-install.json").unlink()
    with (directory / "main.py").open("a") as file:
        file.write("\n")
    ran = _ran(zot)
    return "" if not _started(zot) and "since it was installed" in ran.err else ran.err


@_trick("a repository contains its own install record and lock", expect="ignored")
def brought(zot: Zot) -> str:
    source = prober(zot.project.parent / "source" / "prober", {}, permissions=ASKED)
    (source / ".zot-install.json").write_text('{"source": {"kind": "path", "place": "/"}, "files": {}}')
    (source / "ext-lock.json").write_text('{"extensions": {"prober": {"confined": false}}}')
    zot("ext", "install", str(source))
    with (_own(zot) / "main.py").open("a") as file:
        file.write("\n")
    ran = _ran(zot)
    return "" if not _started(zot) and "since it was installed" in ran.err else ran.err


@_trick("disabling and enabling a changed extension accepts the change", expect="it is not accepted")
def switched(zot: Zot) -> str:
    directory = _installed(zot, ASKED)
    with (directory / "main.py").open("a") as file:
        file.write("\n")
    for verb in ("disable", "enable"):
        zot("ext", verb, "prober")
    ran = _ran(zot)
    return "" if not _started(zot) and "since it was installed" in ran.err else ran.err


@_trick("the writable directory is a link to the user's keys", expect="does not start; reported")
def link_for_a_directory(zot: Zot) -> str:
    (zot.home / ".ssh").mkdir()
    (zot.project / "out").symlink_to(zot.home / ".ssh")
    prober(_own(zot), {}, permissions={"fs": {"write": ["$PROJECT/out"]}})
    ran = _ran(zot)
    return "" if not _started(zot) and "is a link to" in ran.err else ran.err


@_trick("a trusted project extension is edited to request more permissions", expect="does not start; reported")
def project_wider(zot: Zot) -> str:
    directory = prober(zot.project / ".zot" / "extensions" / "prober", {}, permissions=ASKED)
    zot("ext", "trust")
    _ran(zot)
    if not _started(zot):
        return "the control did not start"
    _rewritten(directory, permissions={**ASKED, "net": True})
    ran = _ran(zot)
    return "" if not _started(zot) and "has changed since you trusted it" in ran.err else ran.err


@_trick(
    "an extension without `intercept` subscribes to every tool call and blocks it", expect="is not called; reported"
)
def intercepting(zot: Zot) -> str:
    prober(_own(zot), {}, ("tool_call",), permissions=ASKED)
    ran = _ran(zot)
    told_so = 'not allowed by "intercept" of its permissions' in ran.err
    return "" if (zot.project / "done").exists() and told_so else ran.err


@_trick("an extension without `intercept` declares itself a guard and never answers", expect="zot does not wait for it")
def guarding(zot: Zot) -> str:
    directory = prober(_own(zot), {}, permissions=ASKED)
    program = directory / "main.py"
    program.write_text(program.read_text().replace('"name": "prober"', '"name": "x", "capabilities": ["guard"]'))
    ran = _ran(zot)
    told_so = "its permissions do not allow intercepting" in ran.err
    return "" if (zot.project / "done").exists() and told_so else ran.err
