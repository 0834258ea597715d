"""``python -m attack.jail --level LEVEL``: every attempt of ``jail_rows`` against a real jail, one JSON line each.

It makes a machine to break out into: a directory everybody may write to, servers, sockets, a process, keys in a home.
An attempt has won when it said so, when it printed the secret, or when anything out there, or under a protected name of
the project, is not as it was.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import encodings.idna  # noqa: F401  as an ordinary user nothing more can be loaded from root's Python
import json
import os
import pty
import re
import shlex  # noqa: F401  as above
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from attack.jail_rows import ATTEMPTS, SECRET, Attempt
from zot.system import process_setup
from zot.system.files import find_program
from zot.system.jail import launcher  # noqa: F401  as above
from zot.system.jail.jail import Jail, JailSupport, detect_support
from zot.system.jail.policy import PROTECTED, JailLimits, jailed_environment, policy_for
from zot.system.process_table import snapshot
from zot.system.processes import spawn

LIMITS = JailLimits(processes=200, memory=2 << 30)
_PATIENCE_S = 20.0
_STRAGGLERS_S = 3.0  # for what is still there when the script is over, to say that it won
_SETTLING_S = {"staying": 0.25, "network": 0.05}  # a letter is in its mailbox at once, a process takes a moment to end
_NAMES = ("OUT", "ABSTRACT")
_NUMBERS = ("VICTIM", "TCP", "UDP", "SHM")
PRELUDE = """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
E = ctypes.get_errno
def sc(number, *rest):
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *(ctypes.c_long(r) if isinstance(r, int) else r for r in rest))
def got(won):
    if won: print("GOT")
"""


class Stage:
    """The machine outside the jail; ``environment`` is what the scripts are told about it."""

    def __init__(self, base: Path, closing: ExitStack) -> None:
        self.outside, self.project, self.home = base / "outside", base / "project", base / "home"
        for path in (self.outside, self.project, base / "project-2", self.outside / "empty"):
            path.mkdir()
            path.chmod(0o777)
        for path in (".ssh/id_rsa", ".netrc", ".aws/credentials", ".zot/auth.json"):
            self._write(self.home / path)
        self._write(self.outside / "secret")
        (self.outside / "pointer").symlink_to("secret")
        self._write(base / "project-2" / "secret")
        self.fresh_project()
        shared = base.parent / f"{base.name}-shared"
        memory = Path("/dev/shm") / base.name
        for path in (shared, memory):
            self._write(path)
            closing.callback(path.unlink, missing_ok=True)
        victim = subprocess.Popen(["sleep", "600"], env={"TOKEN": SECRET}, start_new_session=True)
        closing.callback(lambda: (victim.kill(), victim.wait()))
        argument = subprocess.Popen(["sh", "-c", "sleep 600; :", f"{SECRET}-argument"], start_new_session=True)
        closing.callback(lambda: (os.killpg(argument.pid, 9), argument.wait()))
        # Not orphans of the first attempt, which may begin within the same hundredth of a second.
        process_setup.helpers.update((victim.pid, argument.pid))
        self.victim = victim
        self.heard: list[str] = []
        master, window = pty.openpty()
        closing.callback(lambda: (os.close(master), os.close(window)))
        self._forgotten = os.open(self.outside / "secret", os.O_RDONLY)
        os.set_inheritable(self._forgotten, True)
        closing.callback(os.close, self._forgotten)
        self.environment = {
            **{"OUT": str(self.outside), "PROJECT": str(self.project), "REAL_HOME": str(self.home)},
            **{"VICTIM": str(victim.pid), "ABSTRACT": f"zot-attack-{os.getpid()}", "FD": str(self._forgotten)},
            **{"RUN": str(os.getpid()), "WINDOW": os.ttyname(window), "TRAP": f"touch {self.outside}/ran; false"},
            **{"SHARED_TMP": str(shared), "SHARED_SHM": str(memory), "SHM": str(self._segment(closing))},
            **self._servers(closing, base),
        }

    def _write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{SECRET}\n")
        path.chmod(0o666)

    def fresh_project(self) -> None:
        """As it was before anybody tried anything."""
        for path in self.project.iterdir():
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() and not path.is_symlink() else path.unlink(
                missing_ok=True
            )
        run = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(self.project)]
        (self.project / "README").write_text("hello\n")
        (self.project / ".idea").mkdir()
        for words in (["init", "-q"], ["add", "README"], ["commit", "-qm", "first"], ["init", "-q", "old"]):
            subprocess.run([*run, *words], check=True)
        store = self.project / ".git" / "modules" / "sub"  # as a submodule has it
        store.parent.mkdir()
        subprocess.run([*run, "init", "-q", "--separate-git-dir", str(store), "sub"], check=True)

    def ask_git(self) -> None:
        """What a person's shell does with every prompt, in each directory they might go to."""
        for path in [self.project, *(found for found in self.project.rglob("*") if found.is_dir())]:
            if ".git" not in path.relative_to(self.project).parts:
                subprocess.run(["git", "-C", str(path), "status", "--short"], capture_output=True, check=False)

    def _segment(self, closing: ExitStack) -> int:
        libc = ctypes.CDLL(None)
        segment = libc.shmget(0, 4096, 0o1666)
        closing.callback(libc.shmctl, segment, 0, None)
        return segment

    def _servers(self, closing: ExitStack, base: Path) -> dict[str, str]:
        name = f"zot-attack-{os.getpid()}"
        tcp, six, udp = socket.socket(), socket.socket(socket.AF_INET6), socket.socket(type=socket.SOCK_DGRAM)
        tcp.bind(("127.0.0.1", 0))
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", 0))
        listeners = [tcp, socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
        listeners[1].bind(f"\0{name}")
        listeners[2].bind(str(self.outside / "sock"))
        (self.outside / "sock").chmod(0o777)
        with suppress(OSError):
            six.bind(("::1", port))
            listeners.append(six)
        letters = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        letters.bind(f"\0{name}-d")
        mail = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        mail.bind(str(self.outside / "mail"))
        (self.outside / "mail").chmod(0o777)
        for listener in listeners:
            listener.listen()
        for made in (*listeners, udp, letters, mail, six):
            closing.callback(made.close)
        for mailbox in (udp, letters, mail):
            mailbox.setblocking(False)
        self._mailboxes = (udp, letters, mail)
        threading.Thread(target=self._knock, args=(port + 1,), daemon=True).start()
        return {"TCP": str(port), "UDP": str(udp.getsockname()[1])}

    def _collect(self) -> None:
        """A letter is in its mailbox at once, so that none is taken for a later attempt's."""
        for mailbox in self._mailboxes:
            with suppress(BlockingIOError):
                while True:
                    self.heard.append(mailbox.recv(100).decode(errors="replace"))

    def _knock(self, port: int) -> None:
        """Whether somebody listens who should be out of reach."""
        while not self.victim.poll():
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                time.sleep(0.3)
            time.sleep(0.1)

    def picture(self) -> dict[str, object]:
        """Everything outside that could have changed."""
        self._collect()
        seen: dict[str, object] = {"heard": len(self.heard), "victim": self.victim.poll()}
        for path in sorted([*self.outside.rglob("*"), *self.home.rglob("*"), *self.project.parent.glob("*")]):
            info = path.lstat()
            if path == self.project:  # it is the jail's to change; what counts is that it is still called so
                seen[str(path)] = stat.S_ISDIR(info.st_mode)
                continue
            whole = path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
            extra = tuple(os.listxattr(path, follow_symlinks=False))
            seen[str(path)] = (info.st_mode, info.st_uid, info.st_mtime if whole else 0, info.st_nlink, whole, extra)
        return seen

    def protected(self) -> dict[str, object]:
        """What is under the protected names of the project; a directory that only holds one is empty."""
        seen: dict[str, object] = {}
        for name in (*PROTECTED, ".git/hooks", ".git/config"):
            place = self.project / name
            for path in (place, *place.rglob("*")):
                if path.is_file() or path.is_symlink():
                    seen[str(path)] = os.readlink(path) if path.is_symlink() else path.read_bytes()
        return seen


def try_all(level: str, base: Path, only: str = "") -> list[dict[str, object]]:
    results: list[dict[str, object]] = []
    process_setup.harden_process()  # orphans become ours, as those of zot do
    with ExitStack() as closing:
        stage = Stage(base, closing)
        machine = detect_support(find_program)
        if level == "reduced":
            machine = JailSupport("reduced", "", "", machine.landlock)
        if machine.level != level:
            raise SystemExit(f"this machine cannot hold {level}: {machine.why}")
        os.environ.update(HOME=str(stage.home), TOKEN=SECRET, AWS_SECRET_ACCESS_KEY=SECRET, SSH_AUTH_SOCK="/nowhere")
        policy = msgspec.structs.replace(policy_for(stage.project, home=str(stage.home)), limits=LIMITS)
        jail = Jail(policy, machine, str(stage.home))
        closing.callback(jail.close)
        for attempt in ATTEMPTS:
            if not re.search(only, f"{attempt.area}: {attempt.what}"):
                continue
            began = time.monotonic()
            won = asyncio.run(_try(attempt, stage, jail))
            seconds = round(time.monotonic() - began, 3)
            results.append({"area": attempt.area, "what": attempt.what, "won": won, "seconds": seconds})
            print(json.dumps(results[-1]), flush=True)
    return results


async def _try(attempt: Attempt, stage: Stage, jail: Jail) -> str:
    """How it won; empty when it did not."""
    if attempt.area in ("protected", "planted"):
        stage.fresh_project()
        (stage.outside / "ran").unlink(missing_ok=True)
    seen = (lambda: stage.picture() | stage.protected()) if attempt.area == "protected" else stage.picture
    before = seen()
    environment = {**jailed_environment(os.environ), **stage.environment}
    python = attempt.script.startswith("#py")
    script = attempt.script
    if python:
        names = "".join(f"{name} = os.environ[{name!r}]\n" for name in _NAMES)
        names += "".join(f"{name} = int(os.environ[{name!r}])\n" for name in _NUMBERS)
        script = f"{PRELUDE}{names}{script}"
    argv = ["/usr/bin/python3", "-c", script] if python else ["/bin/bash", "-c", script]
    terminal, stdin = pty.openpty()
    told, telling = os.pipe()
    try:
        tree = spawn(argv, cwd=stage.project, env=environment, stdin=stdin, stdout=telling, stderr=telling, jail=jail)
        os.close(telling)
        over = threading.Event()
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(asyncio.to_thread(_read, told, over))
            with suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE_S):
                    await tree.wait()
            over.set()
        text = reading.result()
        began = not tree.jail_failed
        tree.detach()
    finally:
        for fd in (terminal, stdin, told):
            os.close(fd)
    if not began:
        return f"the jail was not built: {text[-300:]}"
    if "GOT" in text or SECRET in text:
        return f"it said {text[-200:]!r}"
    await asyncio.sleep(_SETTLING_S.get(attempt.area, 0))
    if attempt.area == "staying" and (left := await _staying()):
        await asyncio.to_thread(subprocess.run, ["pkill", "-f", f"sleep 987.*{os.getpid()}"], check=False)
        return f"still there: {left}"
    if attempt.area == "planted":
        await asyncio.to_thread(stage.ask_git)
    after = seen()
    changed = [name for name in before | after if before.get(name) != after.get(name)]
    return f"changed: {changed[:3]}" if changed else ""


async def _staying() -> list[str]:
    """What stays: on a busy machine a process that was killed may take a moment to end."""
    left: list[str] = []
    for _ in range(50):
        left = [row for row in _commands() if " 987." in row and f"{os.getpid()} " in row]
        if not left:
            break
        await asyncio.sleep(0.1)
    return left


def _read(fd: int, over: threading.Event) -> str:
    """What was written within a reasonable time: something that stays may hold the pipe, also when its parent is
    over."""
    parts: list[bytes] = []
    deadline = time.monotonic() + _PATIENCE_S
    waiting = True
    os.set_blocking(fd, False)
    while time.monotonic() < deadline:
        if waiting and over.is_set():
            waiting, deadline = False, min(deadline, time.monotonic() + _STRAGGLERS_S)
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            time.sleep(0.002)
            continue
        if not data:
            break
        parts.append(data)
    return b"".join(parts).decode(errors="replace")


def _commands() -> list[str]:
    found: list[str] = []
    for pid in snapshot():
        with suppress(OSError):
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [command for command in found if "attack.jail" not in command and "bwrap" not in command.split(" ")[0]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="attack.jail", description=__doc__.splitlines()[0])
    parser.add_argument("--level", choices=("full", "reduced"), required=True)
    parser.add_argument("--only", default="", help="a regular expression over `area: what`")
    parser.add_argument("--base", type=Path, default=None)
    parser.add_argument("--user", type=int, default=0, help="become this user first; only root can")
    options = parser.parse_args()
    if options.user:
        os.setgroups([])
        os.setgid(options.user)
        os.setuid(options.user)
        os.environ.pop("TMPDIR", None)
    base = options.base or Path(tempfile.mkdtemp(prefix="zot-jail-"))
    base.chmod(0o755)
    try:
        results = try_all(options.level, base, options.only)
    finally:
        if options.base is None:
            shutil.rmtree(base, ignore_errors=True)
    open_ones = {(a.area, a.what) for a in ATTEMPTS if a.open_at_reduced and options.level == "reduced"}
    wrong = [r for r in results if bool(r["won"]) and (r["area"], r["what"]) not in open_ones]
    print(f"{len(results) - len(wrong)} of {len(results)} as documented at {options.level}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
