"""``docs/concepts/jail.md``: what each level stops, counted and listed from the attempts the tests make."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

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

Repositories further down are protected too when they are there, those of submodules included. One that a command makes
cannot be held in advance, and git runs what a repository's configuration names, as soon as your shell asks it for a prompt.
So zot looks through the project after each command: a new repository whose configuration or hooks name a program is renamed
(`.git-from-the-jail`) and you are told. In a project with more directories than can be looked at in 0.3 seconds this is not
done, which you are told once.

What zot opens itself for the model, in its own process, goes through the same roots, opened so that no link can lead out:
the tools `read`, `write`, `edit`, `glob`, `grep` and `skill`, context files, what you attach with `!@`, pictures you drop.
They say `jailed: …` when they refuse.

The model is told that it is jailed, where it may write and whether there is a network, and to say so when a task needs more.
`get_state` of `zot rpc` and the first line of `--json` tell it, too.

## Asking about what is outside

With `--ask-outside` (which starts the jail) or the setting `ask_outside` nothing inside needs a question, whatever the
permission mode but `plan`, and a call that failed because of the jail is put to you, with the exact path or host it wanted:

- **once** runs that one call again, from its beginning, with this added; **for this session** keeps it; **never** refuses it
  and everything like it without asking again; **no**, which is selected, refuses this call.
- What is shown is what is allowed: one file or one directory, to read or to change; a file that is to be made is that file and
  nothing beside it. The network is all or nothing. A command may lie about what it wanted, so a path is offered only if it is
  there, you could open it yourself, and the jail has not got it.
- Never offered: zot's own directory, your home or anything that holds it or the project, sockets and devices; and for changing,
  what other programs run or obey (`.git`, the names above, what begins with a dot in your home but `~/.cache`, the system).
- Where nobody can be asked (`-p`, `--json`) it stays refused, and that is told. A program that drives `zot rpc` is asked only
  if zot was started with the flag; one that embeds zot decides with `approve_outside=`.

Removing or renaming what is outside, and programs that make a file of another name first, need the directory: `--jail-write`.

## Two levels

`zot doctor` and `zot jail --check` say what this machine can hold and what is missing for more. `--require-jail full` refuses
to start with less.

- **full**: bubblewrap (the package `bubblewrap` on most systems). A machine of its own: user, files, processes, network and
  messages, system calls filtered, everything gone when the command ends.
- **reduced**: Landlock and a filter of system calls, in every Linux kernel since 6.2. What is outside stays out of reach of
  reading and changing, but it is there, and what is listed below stays open. No program can be connected to, on the network or
  by a socket, and there are no new terminals (`script`, `tmux`) and no process list (`ps`). Before Linux 6.12 signals to your
  other processes are open as well.
- **macOS**: the policy is written as a profile for the system's own sandbox (`sandbox-exec`) that denies everything it does
  not name. **It is untested**: only its text is, and nobody has tried to break out of it on a Mac. zot tries before each first
  use whether reading and writing outside are refused, calls it *reduced*, and refuses to start when they are not. The tools
  that open files in zot's own process check every path, but a link that is swapped in at the right moment is not caught there.
- Otherwise there is no jail: on other kernels and on Windows (use WSL 2) `--jail` refuses.

## What was tried

{count} attempts, each at both levels, as root and as an ordinary user, in `make test`; `python -m attack.jail --level full`
runs them. All are refused at *full*.

| attempts | how many | full | reduced |
|---|--:|---|---|
{table}

Open at *reduced*, and only there:

{opened}

Beside them `make race` lets a jailed command swap directories and files for links that lead out, 100,000 times against
`read`, `write` and `edit` at both levels; nothing outside is read or changed.

## What no level stops

- Whatever the agent may do inside: delete or break the project itself. `/rewind` and version control are for that.
- What you run later: a `Makefile`, a test, a script of the project that was changed inside runs with your rights when you
  run it outside. Look at `/diff` first.
- A half-done rebase, or a `Makefile`, made for you to go on with: git and make do what it says.
- A hole in the kernel. The filter makes it smaller, not zero.
- With `--jail=net`: sending what is in the project to anybody.
- Using up the disk, and the processor.
- Extensions of your own without [permissions](../extensions.md#permissions): they run as you, outside. Those with
  permissions, and a project's, run in jails of their own; their tools follow these, not the session's.
"""


_HEADING = "| attempts | how many | full | reduced |\n|---|--:|---|---|\n"
_BEGIN, _END = "<!-- made from the attempts of the tests -->\n", "<!-- as far as here -->\n"


def safety() -> str:
    """``docs/concepts/safety.md`` with the table of the jail as it is now."""
    text = (Path(__file__).parent.parent / "docs" / "concepts" / "safety.md").read_text("utf-8")
    before, _, rest = text.partition(_BEGIN)
    rows, _ = _rows()
    table = "\n".join(rows)
    return f"{before}{_BEGIN}{_HEADING}{table}\n{_END}{rest.partition(_END)[2]}"


def page() -> str:
    rows, opened = _rows()
    return _HEAD.format(
        protected=", ".join(f"`{name}`" for name in PROTECTED),
        git=", ".join(f"`{name}`" for name in GIT_PROTECTED),
        count=len(ATTEMPTS),
        table="\n".join(rows),
        opened="\n".join(opened),
    )


def _rows() -> tuple[list[str], list[str]]:
    """A row for each kind of attempt, and for each what is open at the reduced level."""
    rows: list[str] = []
    opened: list[str] = []
    for room, group in groupby(ATTEMPTS, key=lambda attempt: attempt.room):
        attempts = list(group)
        open_ones = [attempt.what for attempt in attempts if attempt.open_at_reduced]
        reduced = f"{len(open_ones)} open" if open_ones else "refused"
        rows.append(f"| {_ROOMS[room]} | {len(attempts)} | refused | {reduced} |")
        if open_ones:
            opened.append(f"- {_ROOMS[room]}: {'; '.join(open_ones)}")
    return rows, opened
