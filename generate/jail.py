"""``docs/concepts/jail.md``: what each level stops, counted and listed from the attempts the tests make."""

from __future__ import annotations

from itertools import groupby

from attack.jail_rows import ATTEMPTS
from zot.system.jail.policy import GIT_PROTECTED, PROTECTED

_ROOMS = {
    "read": "reading what is outside",
    "write": "changing what is outside",
    "protected": "changing what other programs run (hooks, editors, agents)",
    "planted": "leaving a repository that your own git would run something from",
    "processes": "other processes, keys and memory",
    "network": "the network and sockets",
    "kernel": "namespaces, mounts and the kernel",
    "terminal": "your terminal",
    "staying": "living on after the command",
}

_HEAD = """\
# The jail

`zot --jail`, `/jail` and `zot jail -- COMMAND` confine commands and file tools to the project. The operating system holds
it, or zot refuses to start: no text of a command is ever matched. It is for letting an agent run freely without fear.

## What is inside

- The project's directory, at its own path, to read and to change.
- The system (`/usr` and the like), some files of `/etc` and the toolchains on your `PATH`, to read.
- A home and a temporary directory of the jail's own, empty at first; they last as long as the jail does. Of your own home
  there are the name and the address that git writes into commits.
- No network; with `--jail=net` or `/jail net` the whole of it, and nothing else more.
- The variables a build needs. All others are gone, unless you name them in `env_passthrough`.

`--jail-read DIR` and `--jail-write DIR` add directories for one run, `jail_roots` in `config.json` for every run.
`jail_by_default` starts every run in the jail. Only flags, your own settings and your keyboard can widen it: no model, no
extension, no file of the project and no program that drives zot can.

What git, editors, shells and agents would run later is read-only inside, also when it is not there yet: {protected}, and in
`.git` {git}. A name that is missing is held by an empty directory while a command runs, which git does not see and which is
gone afterwards.

## Two levels

`zot doctor` and `zot jail --check` say what this machine can hold and what is missing for more. `--jail-level full` refuses
to start with less.

- **full**: bubblewrap (the package `bubblewrap` on most systems). A machine of its own: user, files, processes, network and
  messages, system calls filtered, everything gone when the command ends.
- **reduced**: Landlock and a filter of system calls, in every Linux kernel since 6.2. What is outside stays out of reach of
  reading and changing, but it is there, and what is listed below stays open.
- Otherwise there is no jail: on other kernels, on macOS and on Windows `--jail` refuses.

## What was tried

{count} attempts, each at both levels, as root and as an ordinary user, in `make test`; `python -m attack.jail --level full`
runs them. All are refused at *full*.

| attempts | how many | full | reduced |
|---|--:|---|---|
{table}

Open at *reduced*, and only there:

{opened}

## What no level stops

- Whatever the agent may do inside: delete or break the project itself. `/rewind` and version control are for that.
- What you run later: a `Makefile`, a test, a script of the project that was changed inside runs with your rights when you
  run it outside. Look at `/diff` first.
- A hole in the kernel. The filter makes it smaller, not zero.
- With `--jail=net`: sending what is in the project to anybody.
- Using up the disk, and the processor.
- Extensions. They run as you, outside, until they get permissions of their own; their tools are theirs.
"""


def page() -> str:
    rows: list[str] = []
    opened: list[str] = []
    for room, group in groupby(ATTEMPTS, key=lambda attempt: attempt.room):
        attempts = list(group)
        open_ones = [attempt.what for attempt in attempts if attempt.open_at_reduced]
        reduced = f"{len(open_ones)} open" if open_ones else "refused"
        rows.append(f"| {_ROOMS[room]} | {len(attempts)} | refused | {reduced} |")
        if open_ones:
            opened.append(f"- {_ROOMS[room]}: {'; '.join(open_ones)}")
    return _HEAD.format(
        protected=", ".join(f"`{name}`" for name in PROTECTED),
        git=", ".join(f"`{name}`" for name in GIT_PROTECTED),
        count=len(ATTEMPTS),
        table="\n".join(rows),
        opened="\n".join(opened),
    )
