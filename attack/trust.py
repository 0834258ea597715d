"""Attacks on trust: whoever gets code to run that nobody trusted, wins.

The trusted program leaves ``ran`` in the project, so that the control can fail; the attacker's leaves ``pwned``. Both
are free to do so: without walls only trust is in the way.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from attack.scratch import Scratch
from attack.table import attack

GREET = """\
import json, os, sys
print(json.dumps({"type": "hello", "name": "x"}), flush=True)
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello_ack":
        MARK(frame["cwd"])
        print(json.dumps({"type": "ready"}), flush=True)
    if frame["type"] == "shutdown":
        break
"""
GOOD = "def MARK(cwd): open(cwd + '/ran', 'w').close()\n"
EVIL = "def MARK(cwd): open(cwd + '/pwned', 'w').close()\n"
QUIET = {"text": "done"}


class Victim(Scratch):
    """A project with one extension, of a program and a module ``mark``."""

    def extension_at(
        self, directory: Path, *, exec: str = sys.executable, args: tuple[str, ...] = ("main.py",)
    ) -> Path:
        directory.mkdir(parents=True)
        (directory / "main.py").write_text("from mark import MARK\n" + GREET)
        (directory / "mark.py").write_text(GOOD)
        (directory / "extension.json").write_text(json.dumps({"name": "x", "exec": exec, "args": list(args)}))
        return directory

    @property
    def place(self) -> Path:
        return self.project / ".zot" / "extensions" / "x"

    def run(self, **environment: str) -> str:
        ran = self.zot(*self.model(QUIET), "-p", "hi", **environment)
        return ran.err

    def trusted(self) -> str:
        """Trust what is there and see it run; what went wrong with that."""
        told = self.zot("ext", "trust", "--unconfined").err
        told += self.run()
        return "" if self.wiped("ran") else f"the control failed: {told}"

    def verdict(self, **environment: str) -> str:
        told = self.run(**environment)
        return f"changed code ran: {told}" if self.happened else ""


def _row(
    what: str, prepare: Callable[[Victim], object], change: Callable[[Victim], object], *, quick: bool = False
) -> None:
    """Trust what ``prepare`` made, then ``change`` it: nothing of that may run."""

    def run(root: Path) -> str:
        victim = Victim(root)
        prepare(victim)
        if wrong := victim.trusted():
            return wrong
        change(victim)
        return victim.verdict()

    attack("trust", what, expect="refused", quick=quick)(run)


def _plain(victim: Victim) -> None:
    victim.extension_at(victim.place)


def _write(name: str, text: str) -> Callable[[Victim], object]:
    def write(victim: Victim) -> None:
        path = victim.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


_row("a module of a trusted extension is changed", _plain, _write("mark.py", EVIL), quick=True)
_row(
    "a module appears that is imported instead",
    _plain,
    _write("json.py", f"{EVIL}import os; MARK(os.environ['HOME'] + '/../project')"),
)
_row(
    "the manifest names another program",
    _plain,
    lambda v: (
        _write("evil.py", EVIL + GREET)(v),
        _write("extension.json", '{"name":"x","exec":"python3","args":["evil.py"]}')(v),
    ),
)


# --- links


def _linked_directory(victim: Victim) -> None:
    victim.extension_at(victim.project / "tools" / "x")
    victim.place.parent.mkdir(parents=True)
    victim.place.symlink_to("../../tools/x")


def _linked_zot(victim: Victim) -> None:
    victim.extension_at(victim.root / "elsewhere" / "extensions" / "x")
    (victim.project / ".zot").symlink_to(victim.root / "elsewhere")


def _turn_link(victim: Victim) -> None:
    other = victim.extension_at(victim.project / "evil")
    (other / "mark.py").write_text(EVIL)
    victim.place.unlink()
    victim.place.symlink_to("../../evil")


_row("the target of a linked extension directory is changed", _linked_directory, _write("mark.py", EVIL))
_row("a linked extension directory is changed to another target", _linked_directory, _turn_link)
_row("the target of a linked .zot is changed", _linked_zot, _write("mark.py", EVIL))


# --- code that lies elsewhere


def _never(what: str, exec: str, *args: str) -> None:
    """A command that leads into the project: trusting it is refused, and so is running it, changed or not."""

    def run(root: Path) -> str:
        victim = Victim(root)
        tools = victim.extension_at(victim.project / "tools")
        (tools / "mark.py").write_text(EVIL)
        (tools / "run.sh").write_text(f"cd {tools}; exec {sys.executable} main.py\n")
        (tools / "run.sh").chmod(0o755)
        words = [word.replace("PROJECT", str(victim.project)) for word in (exec, *args)]
        victim.extension_at(victim.place, exec=words[0], args=tuple(words[1:]))
        told = victim.zot("ext", "trust", "--unconfined").err
        return victim.verdict() or ("" if "can be trusted" in told else f"it was trusted: {told}")

    attack("trust", what, expect="refused", quick=exec == "sh")(run)


_never("a script outside the extension whose imports change later", sys.executable, "../../../tools/main.py")
_never("sh -c with a path outside the project", "sh", "-c", "../../../tools/run.sh")
_never("sh -c with a path into the project", "sh", "-c", "exec PROJECT/tools/run.sh")
_never("a program of the project by its absolute path", "PROJECT/tools/run.sh")


def _in_pycache(victim: Victim) -> None:
    victim.extension_at(victim.place, args=("__pycache__/main.py",))
    (victim.place / "__pycache__").mkdir()
    for name in ("main.py", "mark.py"):
        (victim.place / name).rename(victim.place / "__pycache__" / name)


_row("a script in __pycache__ is changed", _in_pycache, _write("__pycache__/mark.py", EVIL))
_row(
    "a script beside the one in __pycache__ appears",
    _in_pycache,
    _write("__pycache__/json.py", f"{EVIL}import os; MARK(os.environ['HOME'] + '/../project')"),
)


@attack("trust", "bytecode is planted that python prefers to the source", expect="refused", quick=False)
def planted_bytecode(root: Path) -> str:
    import py_compile

    victim = Victim(root)
    _plain(victim)
    if wrong := victim.trusted():
        return wrong
    source = root / "mark.py"
    source.write_text(EVIL)
    target = victim.place / "__pycache__" / f"mark.{sys.implementation.cache_tag}.pyc"
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(source), cfile=str(target), doraise=True, invalidation_mode=mode)
    return victim.verdict()


if make := shutil.which("make"):

    def _makefile(victim: Victim) -> None:
        victim.extension_at(victim.place, exec=make, args=("-s", "run"))
        (victim.place / "Makefile").write_text(f"run:\n\t@exec {sys.executable} main.py\n")

    _row(
        "a GNUmakefile appears, which make prefers to the Makefile",
        _makefile,
        lambda v: (
            _write("GNUmakefile", f"run:\n\t@exec {sys.executable} evil.txt\n")(v),
            _write("evil.txt", EVIL + GREET)(v),
        ),
    )

if node := shutil.which("node"):
    NODE = """\
const mark = require("dependency");
process.stdout.write(JSON.stringify({type: "hello", name: "x"}) + "\\n");
require("readline").createInterface({input: process.stdin}).on("line", (line) => {
  const frame = JSON.parse(line);
  if (frame.type === "hello_ack") { mark(frame.cwd); process.stdout.write(JSON.stringify({type: "ready"}) + "\\n"); }
  if (frame.type === "shutdown") process.exit(0);
});
"""

    def _in_node(file: str) -> str:
        return f"module.exports = (cwd) => require('fs').writeFileSync(cwd + '/{file}', '');\n"

    def _node(victim: Victim) -> None:
        victim.extension_at(victim.place, exec=node, args=("main.js",))
        _write("main.js", NODE)(victim)
        _write("node_modules/dependency/index.js", _in_node("ran"))(victim)

    _row("a package in node_modules is changed", _node, _write("node_modules/dependency/index.js", _in_node("pwned")))
    _row(
        "a package in node_modules gets a package.json that leads to another file",
        _node,
        lambda v: (
            _write("node_modules/dependency/package.json", '{"main": "other.txt"}')(v),
            _write("node_modules/dependency/other.txt", _in_node("pwned"))(v),
        ),
    )

    @attack("trust", "an extension loads a package from the project's node_modules", expect="refused", quick=False)
    def node_modules_of_the_project(root: Path) -> str:
        victim = Victim(root)
        victim.extension_at(victim.place, exec=node, args=("main.js",))
        _write("main.js", NODE)(victim)
        package = victim.project / "node_modules" / "dependency"
        package.mkdir(parents=True)
        (package / "index.js").write_text(_in_node("pwned"))
        victim.zot("ext", "trust", "--unconfined")
        return victim.verdict()


# --- the environment


@attack("trust", "PYTHONPATH leads into the project, where a module appears", expect="refused")
def python_path(root: Path) -> str:
    victim = Victim(root)
    _plain(victim)
    main = victim.place / "main.py"
    main.write_text(f"try:\n    import an_extra\nexcept ImportError:\n    pass\n{main.read_text()}")
    if wrong := victim.trusted():
        return wrong
    (victim.project / "an_extra.py").write_text(f"{EVIL}MARK({str(victim.project)!r})\n")
    return victim.verdict(PYTHONPATH=str(victim.project))


@attack("trust", "PATH leads into the project, where an interpreter appears", expect="refused", quick=False)
def search_path(root: Path) -> str:
    victim = Victim(root)
    victim.extension_at(victim.place, exec="python3")
    programs = victim.project / "bin"
    programs.mkdir()
    (programs / "python3").write_text(f"#!/bin/sh\ntouch {victim.project}/pwned\n")
    (programs / "python3").chmod(0o755)
    victim.zot("ext", "trust", "--unconfined")
    return victim.verdict(PATH=f"{programs}:{os.environ['PATH']}")


# --- timing


@attack("trust", "a file is swapped while a large one is hashed", expect="refused", quick=False)
def swapped_while_hashing(root: Path) -> str:
    victim = Victim(root)
    _plain(victim)
    with (victim.place / "zz.bin").open("wb") as file:
        file.truncate(200 << 20)
    if wrong := victim.trusted():
        return wrong
    watching = f"""
import glob, os, sys, time
target, times, before = {str(victim.place / "mark.py")!r}, 0, False
while times < int(sys.argv[1]):
    hashing = False
    for link in glob.glob("/proc/[0-9]*/fd/[0-9]*"):
        try:
            hashing = hashing or os.readlink(link) == {str(victim.place / "zz.bin")!r}
        except OSError:
            pass
    times, before = times + (hashing and not before), hashing
with open(target, "w") as file:
    file.write({EVIL!r})
"""
    for time in ("1", "2"):
        _write("mark.py", GOOD)(victim)
        with victim.beside(sys.executable, "-c", watching, time):
            if verdict := victim.verdict():
                return verdict
    return ""


@attack("trust", "a module is changed after the extension has started and before it imports it", expect="refused")
def changed_before_a_late_import(root: Path) -> str:
    victim = Victim(root)
    _plain(victim)
    late = GREET.replace("        MARK(", "        import time; time.sleep(1); from mark import MARK\n        MARK(")
    (victim.place / "main.py").write_text("import os\nopen(os.environ['HOME'] + '/started', 'w').close()\n" + late)
    if wrong := victim.trusted():
        return wrong
    (victim.home.parent / "started").unlink()
    waiting = f"import os, time\nwhile not os.path.exists({str(victim.home.parent / 'started')!r}): time.sleep(0.01)\n"
    waiting += f"open({str(victim.place / 'mark.py')!r}, 'w').write({EVIL!r})"
    with victim.beside(sys.executable, "-c", waiting):
        return victim.verdict()


@attack("trust", "files are swapped while the question is open", expect="refused")
def swapped_while_asked(root: Path) -> str:
    from tests.fakes.terminal import FakeTerminal

    victim = Victim(root)
    _plain(victim)
    argv = [f"{sys.prefix}/bin/zot", *victim.model(QUIET)]
    with FakeTerminal(argv, cwd=victim.project, env=victim.environment()) as terminal:
        terminal.wait_for("do not run them")
        _write("mark.py", EVIL)(victim)
        terminal.press("down")
        terminal.press("enter")
        terminal.wait_for("changed during the review")
    return victim.verdict()


# --- other doors


@attack("trust", "zot ext trace runs an untrusted project extension", expect="refused")
def traced(root: Path) -> str:
    victim = Victim(root)
    victim.extension_at(victim.place)
    (victim.place / "mark.py").write_text("open(__import__('os').environ['HOME'] + '/../project/pwned', 'w')\n" + EVIL)
    ran = victim.zot("ext", "trace", "x")
    if victim.happened:
        return f"it ran: {ran.out[-200:]}"
    return "" if ran.code and "zot ext trust" in ran.err else f"not a word: {ran.err}"


@attack("trust", "a directory of the clone takes the name that zot ext trace was given", expect="refused")
def traced_by_name(root: Path) -> str:
    victim = Victim(root)
    victim.extension_at(victim.home / "extensions" / "x")
    other = victim.extension_at(victim.project / "x")
    (other / "mark.py").write_text(EVIL)
    ran = victim.zot("ext", "trace", "x")
    if victim.happened:
        return f"the clone's extension ran: {ran.out[-200:]}"
    return "" if victim.wiped("ran") else f"nothing ran: {ran.err}"


@attack("trust", "an untrusted extension runs in a mode or verb that should only read", expect="refused", quick=False)
def only_looked_at(root: Path) -> str:
    victim = Victim(root)
    victim.extension_at(victim.place)
    (victim.place / "mark.py").write_text(EVIL)
    for words in (("ext", "list"), ("ext", "doctor"), ("doctor",), ("ext", "logs", "x"), ("--list-models",)):
        victim.zot(*words)
    for mode in ("-p", "--json", "--stream"):
        victim.zot(*victim.model(QUIET), mode, "hi")
    victim.zot("rpc", *victim.model(QUIET), stdin='{"type":"prompt","id":"1","message":"hi"}\n')
    return "it ran" if victim.happened else ""
