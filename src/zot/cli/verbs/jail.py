"""``zot jail -- COMMAND``: runs a command in the jail of this directory."""

from __future__ import annotations

import os
from pathlib import Path

from zot.agent.settings import Settings
from zot.agent.tools.workspace import Workspace
from zot.cli.arguments import parse
from zot.cli.output import print_result
from zot.cli.verb_table import options
from zot.errors import NotThere, UsageError
from zot.features.jail.feature import JailOptions, cached_jail_support, confine
from zot.frontends.console import print_notice, run_loop
from zot.system.files import find_program, zot_home
from zot.system.processes import spawn


def run(argv: list[str]) -> int:
    known, at = options("jail"), 0  # up to `--`, or to the first word that is not a switch
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "--":
        at += 2 if known.get(argv[at]) else 1
    ours = argv[:at]
    command = argv[len(ours) :]
    command = command[1:] if command[:1] == ["--"] else command
    typed = parse(ours, options("jail"), most=0)
    if typed.has("--check"):
        machine = cached_jail_support(zot_home())
        print_result(f"{machine.level or 'none'}{f': {machine.why}' if machine.why else ''}")
        return 0 if machine.level else 1
    if not command:
        raise UsageError("zot jail: the command is missing: zot jail -- COMMAND")
    program = find_program(command[0]) if "/" not in command[0] else os.path.abspath(command[0])
    if program is None:
        raise NotThere(f"zot jail: no program {command[0]} on PATH")
    home = zot_home()
    values = Settings(home).values
    workspace = Workspace(Path.cwd(), passthrough=values.env_passthrough)
    names = ("--jail-level", "--level", "--require-jail", "--require")  # also a run's flag, which errors name
    level = next(reversed(typed.all(*names)), "reduced")
    if level not in ("full", "reduced"):
        raise UsageError(f'--require "{level}": expected full or reduced')
    write = (*typed.all("--jail-write", "--write"), *values.jail_roots)
    jail = workspace.jail = confine(
        workspace.cwd, home, JailOptions(typed.has("--net"), typed.all("--jail-read", "--read"), write, level)
    )
    try:
        return run_loop(_run([program, *command[1:]], workspace))
    finally:
        jail.close()


async def _run(argv: list[str], workspace: Workspace) -> int:
    tree = spawn(
        argv, cwd=workspace.cwd, env=workspace.child_environment(), stdin=0, stdout=1, stderr=2, jail=workspace.jail
    )
    code = await tree.wait()
    tree.detach()
    for remark in tree.jail_messages:
        print_notice(remark)
    if tree.jail_failed:
        print_notice("the jail failed; see the error above")
        return 126
    return code if code >= 0 else 128 - code
