"""``docs/concepts/jail.md``, with the attempts of the attack suite and their results per level."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from attack.jail_rows import ATTEMPTS
from zot.system.jail.policy import GIT_PROTECTED, PROTECTED

_KINDS = {
    "read": "reading outside files",
    "write": "changing outside files",
    "protected": "changing files that other programs run (hooks, editors, agents)",
    "planted": "planting a repository that makes your git run a program",
    "processes": "other processes, keys and memory",
    "network": "network and sockets",
    "kernel": "namespaces, mounts and the kernel",
    "terminal": "your terminal",
    "staying": "surviving the end of the command",
}

_HEAD = """\
# How the jail works

What `--jail`, `/jail` and `zot jail -- COMMAND` confine, how, and which attempts to escape were tested at each level.
Read it before you rely on the jail; [the guide](../guides/jail.md) shows how to use it.

```sh
zot jail --check                          # which level this machine supports
python -m attack.jail --level full        # in a checkout: run the attempts below
```

The operating system enforces the jail. zot never pattern-matches commands, and refuses to start if it cannot enforce
it.

## What is inside

- The project directory, at its own path, to read and to change.
- The system (`/usr` and similar), some files of `/etc` and the toolchains on your `PATH`, to read.
- A private home and temporary directory, empty at first and deleted with the jail. Of your own home, git has your name
  and e-mail address for commits.
- No network; with `--jail=net` or `/jail net` the whole network.
- The variables a build needs, and those in `env_passthrough`.

`--jail-read DIR` and `--jail-write DIR` add directories for one run, `jail_roots` in `config.json` for every run.
`jail_by_default` starts every run in the jail. Only flags, your settings and your keyboard can extend it: no model,
extension, project file or program that drives zot can.

## Protected files

Files that git, editors, shells and agents would run later are read-only inside, even if they do not exist yet:
{protected}, and in `.git` {git}. While a command runs, an empty directory takes the place of a missing one; git does
not see it, and zot removes it afterwards.

Existing repositories in subdirectories, including submodules, are protected as well. A repository that a command
creates cannot be protected in advance, and git runs programs from a repository's configuration, even for a shell
prompt. So zot searches the project after each command: it renames a new repository whose configuration or hooks name a
program to `.git-from-the-jail` and prints a notice. In a project too large to search within 0.3 seconds zot skips this
and prints a notice once.

## File tools

The tools `read`, `write`, `edit`, `glob`, `grep` and `skill`, context files, files attached with `!@` and dropped
images are opened in zot's own process. zot opens them below the same roots, so that no link can lead outside. Denials
begin with `jailed: …`.

zot tells the model that it is jailed, where it can write, whether there is a network, and to report if a task needs
more. `get_state` of `zot rpc` and the first line of `--json` contain the same.

## Ask about outside paths

With `--ask-outside` (which starts the jail) or the setting `ask_outside`, nothing inside needs approval, unless you choose
another mode (shift+tab, `--permission-mode`); a `permission_mode` in your settings alone does not count. If a call fails
because of the jail, zot asks you about the exact path or host:

- **once** runs this call again from its beginning with the access added; **for this session** keeps the access;
  **never** denies it and everything like it without asking; **no**, the default, denies this call.
- Only what is shown is allowed: one file or one directory, to read or to change. The network is all or nothing. A
  command may misreport what it needs, so zot offers a path only if it exists, you could open it yourself, and the jail
  does not include it.
- Never offered: zot's own directory, your home or a directory that contains it or the project, sockets and devices; and
  for changing, files that other programs run (`.git`, the names above, names in your home that begin with a dot except
  `~/.cache`, the system).
- Without a user (`-p`, `--json`) zot denies the call with a notice. It asks a program that drives `zot rpc` only if
  started with the flag; an embedding program decides with `approve_outside=`.

Removing or renaming outside files, and programs that first create a file with another name, need the directory:
`--jail-write`.

## Levels

`zot doctor` and `zot jail --check` print the level of this machine and what is missing for a higher one.
`--require-jail full` refuses to start below that level.

- **full**: bubblewrap (package `bubblewrap` on most systems). Separate user, file, process, network and message
  namespaces, filtered system calls; everything ends with the command.
- **reduced**: Landlock and a system call filter, in every Linux kernel since 6.2. Outside files cannot be read or
  changed, but they exist, and the list below stays open. No program can be connected to, over the network or a socket;
  there are no new terminals (`script`, `tmux`) and no process list (`ps`). Before Linux 6.12, signals to your other
  processes are open.
- **macOS**: a profile for the system's sandbox (`sandbox-exec`) that denies everything it does not name. **It is
  untested**: only its text is tested, and no escape was attempted on a Mac. Before each first use zot tests whether
  reading and writing outside are denied; it calls this level *reduced* and refuses to start otherwise. Tools in zot's
  process check every path, but a link swapped during the call is not detected.
- On other kernels and on Windows (use WSL 2), `--jail` refuses to start.

## What was tried

{count} attempts, each at both levels, as root and as an ordinary user, in `make test`. All are denied at *full*.

| attempts | number | full | reduced |
|---|--:|---|---|
{table}

Open at *reduced* only:

{opened}

`make race` lets a jailed command swap directories and files for links that lead outside, 100,000 times against `read`,
`write` and `edit` at both levels; nothing outside is read or changed.

## What no level stops

- Damage inside: the agent can delete or break the project. Use `/rewind` and version control.
- Programs you run later: a `Makefile`, test or script that was changed inside runs with your rights outside. Read
  `/diff` first. The same applies to a half-finished rebase.
- A bug in the kernel. The filter makes the attack surface smaller, not zero.
- With `--jail=net`: sending the project's content anywhere.
- Disk and processor use.
- Your own extensions without [permissions](../extensions.md#permissions): they run with your rights, outside.
  Extensions with permissions, and a project's, run in their own jails.
"""


_HEADING = "| attempts | number | full | reduced |\n|---|--:|---|---|\n"
_BEGIN, _END = "<!-- jail attempts: begin -->\n", "<!-- jail attempts: end -->\n"


def safety() -> str:
    """``docs/concepts/safety.md`` with the current table of jail attempts."""
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
    """One row per kind of attempt, and the attempts that succeed at the reduced level."""
    rows: list[str] = []
    opened: list[str] = []
    for kind, group in groupby(ATTEMPTS, key=lambda attempt: attempt.area):
        attempts = list(group)
        open_ones = [attempt.what for attempt in attempts if attempt.open_at_reduced]
        reduced = f"{len(open_ones)} open" if open_ones else "denied"
        rows.append(f"| {_KINDS[kind]} | {len(attempts)} | denied | {reduced} |")
        if open_ones:
            opened.append(f"- {_KINDS[kind]}: {'; '.join(open_ones)}")
    return rows, opened
