"""Attempts of a jailed command: a script each, and whether the reduced level is known to allow it.

A row succeeded if its output contains ``GOT`` or the secret, or if something outside the project or a protected name in
it changed. Variables of the scripts: ``$OUT``, a world-writable directory outside, with the file ``secret``;
``$PROJECT``; ``$VICTIM``, a process outside; ``$TCP`` and ``$UDP``, ports on loopback; ``$ABSTRACT`` and ``$OUT/sock``,
sockets; ``$REAL_HOME``; ``$WINDOW``, the terminal of another window; ``$SHM``, a shared memory segment; ``$FD``, an open
descriptor; ``$TRAP``, a command that a repository should make git run outside.
"""

from __future__ import annotations

from typing import NamedTuple

SECRET = "s3cr3t-of-somebody"


class Attempt(NamedTuple):
    area: str
    what: str
    script: str  # for the shell; one that begins with "#py" is for Python
    open_at_reduced: bool = False


def _sh(area: str, *rows: tuple[str, str] | tuple[str, str, bool]) -> list[Attempt]:
    return [Attempt(area, row[0], row[1], len(row) == 3) for row in rows]


def _py(area: str, *rows: tuple[str, str] | tuple[str, str, bool]) -> list[Attempt]:
    return [Attempt(area, row[0], f"#py\n{row[1]}", len(row) == 3) for row in rows]


OPEN = True

READING = _sh(
    "read",
    ("an absolute path", 'cat "$OUT/secret"'),
    ("a path with ..", 'cat ../outside/secret; cat "$PROJECT/../outside/secret"'),
    ("through a link to a file", 'ln -s "$OUT/secret" l1; cat l1'),
    ("through a link to a directory", 'ln -s "$OUT" l2; cat l2/secret'),
    ("through a chain of links", 'ln -s "$OUT" l3; ln -s l3 l4; cat l4/secret'),
    ("through a hard link", 'ln "$OUT/secret" h1 && cat h1'),
    ("through /proc/self/root", 'cat "/proc/self/root$OUT/secret"'),
    ("through /proc/1/root", 'cat "/proc/1/root$OUT/secret"'),
    ("through the root of every process", 'for p in /proc/[0-9]*; do cat "$p/root$OUT/secret"; done'),
    (
        "through the directory of every process",
        'for p in /proc/[0-9]*; do cat "$p/cwd/secret" "$p/cwd/../outside/secret"; done',
    ),
    (
        "through descriptors of every process",
        r"printf '%s\0' /proc/[0-9]*/fd/* | xargs -0 -n 1 -P 40 timeout 1 head -c 200 2>&1 | grep -a s3cr3t",
    ),
    ("through our own descriptors", 'for n in $(seq 3 40); do timeout 1 head -c 200 "/dev/fd/$n" </dev/null; done'),
    ("a descriptor somebody forgot to close", 'cat <&"$FD"'),
    ("by copying the directory", 'cp -r "$OUT" copy && cat copy/secret'),
    ("by packing it", 'tar cf - "$OUT" | grep -a s3cr3t'),
    ("by looking for it everywhere", "find / -xdev -name secret -readable -exec cat {} + 2>/dev/null"),
    ("by listing it", 'ls "$OUT" | grep -q secret && echo GOT'),
    ("by changing into it", 'cd "$OUT" && cat secret'),
    ("a directory whose name begins like the project's", 'cat "$PROJECT-2/secret"'),
    ("a key in the home", 'cat "$REAL_HOME/.ssh/id_rsa" ~/.ssh/id_rsa'),
    ("a token in the home", 'cat "$REAL_HOME/.netrc" "$REAL_HOME/.aws/credentials" ~/.netrc'),
    ("zot's own credentials", 'cat "$REAL_HOME/.zot/auth.json" "$ZOT_HOME/auth.json"'),
    ("the home by its owner's name", 'cat "$(eval echo ~"$(id -un)")/.netrc"'),
    ("a file in the machine's /tmp", 'cat "$SHARED_TMP"'),
    ("a file in /dev/shm", 'cat "$SHARED_SHM"'),
    ("the passwords", "cat /etc/shadow && echo GOT"),
    ("a host key", "cat /etc/ssh/ssh_host_* && echo GOT"),
    (
        "a key of the machine",
        "for f in /etc/ssl/private/* /etc/pki/tls/private/* /etc/letsencrypt/live/*/*; do head -c 9 $f && echo GOT; done",
    ),
    ("settings of the machine's git", "test -s /etc/gitconfig && cat /etc/gitconfig && echo GOT"),
    ("environments of other processes", "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -a s3cr3t"),
    (
        "memory of another process",
        'head -c 1 "/proc/$VICTIM/mem" && echo GOT; cat "/proc/$VICTIM/maps" | grep -q . && echo GOT',
    ),
    ("the disk itself", "for d in /dev/[sv]d[a-z] /dev/nvme*; do head -c 1 $d && echo GOT; done"),
    ("memory of the machine", "head -c 1 /dev/mem && echo GOT; head -c 5000 /proc/kcore | grep -q . && echo GOT"),
    (
        "the kernel's log",
        "cat /dev/kmsg 2>/dev/null | head -c 1 | grep -q . && echo GOT; dmesg 2>/dev/null | grep -q . && echo GOT",
    ),
    ("a device made for it", "mknod dev b 253 0 && echo GOT; mknod dev2 c 1 1 && echo GOT"),
    ("a bind mount", 'mkdir -p m; mount --bind "$OUT" m && cat m/secret'),
    ("an overlay", 'mkdir -p o u w; mount -t overlay x -o lowerdir="$OUT",upperdir=u,workdir=w o && cat o/secret'),
    ("its environment", "env | grep s3cr3t; tr '\\0' '\\n' </proc/self/environ | grep s3cr3t"),
    (
        "the environment of the process above",
        "cat /proc/1/environ /proc/$PPID/environ | tr '\\0' '\\n' | grep -a s3cr3t",
    ),
    ("command lines", "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -a '[s]3cr3t-of-somebody-argument'"),
    ("whether another process exists", 'test -d "/proc/$VICTIM" && echo GOT', OPEN),
    ("whether a file exists, its size and time", 'stat "$OUT/secret" >/dev/null && echo GOT', OPEN),
    ("the target of a link", 'readlink "$OUT/pointer" | grep -q secret && echo GOT', OPEN),
)
READING += _py(
    "read",
    (
        "a hard link to a descriptor",
        "f = os.open(OUT + '/secret', os.O_PATH); sc(265, f, b'', -100, b'h2', 0x1000); print(open('h2').read())",
    ),
    (
        "what is typed in another window",
        "f = os.open(os.environ['WINDOW'], os.O_RDWR | os.O_NOCTTY); os.write(f, b'x'); print('GOT')",
    ),
    (
        "the names of files that change",
        "got(sc(254, sc(294, 0), OUT.encode(), 0x2 | 0x100) >= 0)",
        OPEN,
    ),
    ("an extended attribute of a file", "os.listxattr(OUT + '/secret'); print('GOT')", OPEN),
)

WRITING = _sh(
    "write",
    ("a new file", 'echo x >"$OUT/new"'),
    ("at the end of a file", 'echo x >>"$OUT/secret"'),
    ("by truncating", 'truncate -s 0 "$OUT/secret"; : >"$OUT/secret"'),
    ("by deleting", 'rm -f "$OUT/secret"'),
    ("by moving it here", 'mv "$OUT/secret" moved'),
    ("by moving something there", 'echo x >f1; mv f1 "$OUT/moved"'),
    ("by renaming it there", 'mv "$OUT/secret" "$OUT/renamed"'),
    ("by exchanging", 'echo x >f2; mv -f f2 "$OUT/secret"'),
    ("a hard link there", 'echo x >f3; ln f3 "$OUT/linked"'),
    ("a link there", 'ln -s x "$OUT/link"'),
    ("a directory", 'mkdir "$OUT/directory"'),
    ("by removing a directory", 'rmdir "$OUT/empty"'),
    ("a pipe", 'mkfifo "$OUT/pipe"'),
    ("the mode of a file", 'chmod 777 "$OUT/secret"', OPEN),
    ("its owner", 'chown 12345 "$OUT/secret"'),
    ("the time of a file", 'touch -c -d 2001-01-01 "$OUT/secret"', OPEN),
    ("through a link that leads nowhere yet", 'ln -s "$OUT/fresh" l5; echo x >l5'),
    ("through a linked directory", 'ln -s "$OUT" l6; echo x >l6/fresh'),
    ("through /proc/self/root", 'echo x >"/proc/self/root$OUT/fresh"'),
    ("through /proc/1/cwd", 'echo x >"/proc/1/cwd$OUT/fresh"; echo x >"/proc/1/cwd/../outside/fresh"'),
    (
        "by unpacking an archive",
        'mkdir -p t; ln -s "$OUT" t/l; tar cf t.tar t/l; rm t/l; tar xf t.tar; echo x >t/l/fresh',
    ),
    ("by copying over", 'echo x >f4; cp f4 "$OUT/secret"; install f4 "$OUT/fresh"'),
    ("with dd", 'echo x | dd of="$OUT/secret" conv=notrunc'),
    ("by git in another directory", 'git -C "$OUT" init -q; git --git-dir="$OUT/r" init -q'),
    ("a start-up file of the shell", 'echo x >>"$REAL_HOME/.bashrc"; echo x >>"$REAL_HOME/.profile"'),
    ("a key that may log in", 'mkdir -p "$REAL_HOME/.ssh"; echo x >>"$REAL_HOME/.ssh/authorized_keys"'),
    ("a program on PATH", 'for d in /usr/local/bin /usr/bin; do echo x >"$d/zot-attack" && echo GOT; done'),
    ("a job of the system", "echo x >/etc/cron.d/zot-attack && echo GOT"),
    ("a job of the user", "echo '* * * * * true' | crontab - && echo GOT"),
    (
        "a setting of the kernel",
        "echo 60 >/proc/sys/vm/swappiness && echo GOT; echo core >/proc/sys/kernel/core_pattern && echo GOT",
    ),
    ("help from the kernel", "echo h >/proc/sysrq-trigger && echo GOT; echo x >/sys/kernel/uevent_helper && echo GOT"),
    (
        "a control group",
        "mkdir /sys/fs/cgroup/zot-attack && echo GOT; echo 1 >/sys/fs/cgroup/release_agent && echo GOT",
    ),
    ("the directory next to the project", 'echo x >"$PROJECT-2/fresh"'),
    ("the project's own name", 'mv "$PROJECT" "$PROJECT-moved" && echo GOT'),
)
WRITING += _py(
    "write",
    ("an extended attribute", "os.setxattr(OUT + '/secret', 'user.x', b'x')", OPEN),
    ("a socket", "s = socket.socket(socket.AF_UNIX); s.bind(OUT + '/bound')"),
    ("by exchanging two names", "open('f9','w'); sc(316, -100, b'f9', -100, (OUT + '/secret').encode(), 2)"),
    (
        "with an unnamed file",
        "f = os.open(OUT, os.O_TMPFILE | os.O_RDWR); os.link(f'/proc/self/fd/{f}', OUT + '/fresh', follow_symlinks=True)",
    ),
    ("by truncating without opening", "os.truncate(OUT + '/secret', 0)"),
    ("with open_by_handle_at", "got(sc(304, -100, 0, 0) >= 0)"),
)

PROTECTED = _sh(
    "protected",
    ("a hook", 'echo "#!/bin/sh" >.git/hooks/pre-commit && echo GOT', OPEN),
    ("a hook, by renaming a file", "echo x >f5; mv f5 .git/hooks/post-checkout && echo GOT", OPEN),
    ("git's configuration", "git config core.fsmonitor ./x && echo GOT", OPEN),
    ("git's configuration, by writing the file", 'echo "[core]" >>.git/config && echo GOT', OPEN),
    ("git's directory of hooks (core.hooksPath)", "git config core.hooksPath . && echo GOT", OPEN),
    ("by renaming .git", "mv .git .git-old && echo GOT", OPEN),
    ("by a link instead of .git", "rm -rf .git; ln -sfn /nowhere .git && test -L .git && echo GOT", OPEN),
    ("by a file instead of .git", "rm -rf .git 2>/dev/null; echo 'gitdir: x' >.git && echo GOT", OPEN),
    ("by renaming the directory of hooks", "mv .git/hooks .git/hooks2 && mkdir .git/hooks && echo GOT", OPEN),
    ("the mode of the hooks", "chmod 777 .git/hooks .git/config && echo GOT", OPEN),
    ("zot's extensions, new", "mkdir -p .zot/extensions/x && echo GOT", OPEN),
    ("zot's directory, new, by renaming", "mkdir z1; mv -fT z1 .zot && echo GOT", OPEN),
    ("zot's directory by a link", "rmdir .zot; ln -sn /tmp .zot && echo GOT", OPEN),
    ("Claude Code's hooks, new", "mkdir -p .claude && echo x >.claude/settings.json && echo GOT", OPEN),
    ("MCP servers, new", "echo x >.mcp.json && echo GOT", OPEN),
    ("skills, new", "mkdir -p .agents/skills/x && echo GOT", OPEN),
    ("an editor's tasks", "mkdir -p .vscode && echo x >.vscode/tasks.json && echo GOT", OPEN),
    ("an editor's existing settings", "echo x >.idea/workspace.xml && echo GOT", OPEN),
    ("a debugger's start-up file", "echo x >.gdbinit && echo GOT", OPEN),
    (
        "another agent's programs",
        "mkdir -p .opencode; touch .opencode/x && echo GOT; mkdir .zed; touch .zed/x && echo GOT",
        OPEN,
    ),
    ("an editor's start-up file", "echo x >.vimrc && echo GOT; echo x >.exrc && echo GOT", OPEN),
    (
        "a shell's start-up file",
        "echo x >.bashrc && echo GOT; echo x >.envrc && echo GOT; echo x >.zshenv && echo GOT",
        OPEN,
    ),
    ("by unmounting the cover", "umount .zot && echo GOT; umount -l .git/hooks && echo GOT"),
    ("by mounting over the cover", "mount -t tmpfs none .zot && echo GOT"),
    (
        "by making the cover writable",
        # What it writes there after all must not be in the project: the stage looks.
        "mount -o remount,rw .zot && echo GOT; test -d .zot && chmod 777 .zot && touch .zot/x",
    ),
    ("through another path to the project", 'echo x >"/proc/self/cwd/.git/hooks/update" && echo GOT', OPEN),
)

# What git would run outside: after each, the stage asks git for the status of the project and of what was made in it.
PLANTED = _sh(
    "planted",
    (
        "a repository with a watcher",
        'rm -rf .git 2>/dev/null; git init -q n1 && git -C n1 config core.fsmonitor "$TRAP"',
    ),
    (
        "a repository with a hook",
        'git init -q n2; printf "#!/bin/sh\\n$TRAP" >n2/.git/hooks/post-index-change; chmod +x n2/.git/hooks/*',
    ),
    (
        "a repository that the project's own leads into",
        'git init -q n3; cd n3; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; git config core.fsmonitor "$TRAP"; '
        'cd ..; git update-index --add --cacheinfo "160000,$(git -C n3 rev-parse HEAD),n3"',
    ),
    (
        "a repository far down, and one that is included",
        'mkdir -p d/e/f; git init -q d/e/f; printf "[core]\\nfsmonitor = %s\\n" "$TRAP" >d/inc; git -C d/e/f config include.path "$PWD/d/inc"',
    ),
    (
        "a bare one",
        'git init -q --bare b1; git -C b1 config core.bare false; git -C b1 config core.worktree "$PWD/b1"; git -C b1 config core.fsmonitor "$TRAP"',
    ),
    (
        "a pointer to one",
        'git init -q p1; mv p1/.git p1/store; echo "gitdir: store" >p1/.git; git -C p1 config core.fsmonitor "$TRAP"',
    ),
    (
        "a link to one",
        'git init -q l7; mv l7/.git l7/store; ln -s store l7/.git; git -C l7 config core.fsmonitor "$TRAP"',
    ),
    (
        "by the word that another directory is the project's own",
        'cp -r .git c1; git config -f c1/config core.fsmonitor "$TRAP"; echo ../c1 >.git/commondir',
    ),
    ("in an existing repository", 'git -C old config core.fsmonitor "$TRAP"', OPEN),
    ("in a submodule of the project", 'git -C sub config core.fsmonitor "$TRAP"', OPEN),
    ("by moving one that was there", 'mv old old2; git init -q old; git -C old config core.fsmonitor "$TRAP"'),
)

PROCESSES = _py(
    "processes",
    ("a signal", "os.kill(VICTIM, 0); print('GOT')"),
    ("a signal that kills", "os.kill(VICTIM, 15); print('GOT')"),
    ("a signal to a group", "os.killpg(VICTIM, 15); print('GOT')"),
    ("a signal to a thread", "got(sc(234, VICTIM, VICTIM, 15) == 0)"),
    ("a signal by descriptor", "f = os.pidfd_open(VICTIM); got(sc(424, f, 15, 0, 0) == 0)"),
    ("by tracing it", "got(sc(101, 16, VICTIM, 0, 0) == 0)"),
    ("by seizing it", "got(sc(101, 0x4206, VICTIM, 0, 0) == 0)"),
    (
        "by reading its memory",
        "b = ctypes.create_string_buffer(8); v = (ctypes.c_ulong * 2)(ctypes.addressof(b), 8); got(sc(310, VICTIM, v, 1, v, 1, 0) >= 0 or E() not in (1, 3))",
    ),
    ("by writing its memory", "open(f'/proc/{VICTIM}/mem', 'wb'); print('GOT')"),
    ("by taking a descriptor", "f = os.pidfd_open(VICTIM); got(sc(438, f, 1, 0) >= 0)"),
    ("its limits", "import resource; resource.prlimit(VICTIM, resource.RLIMIT_CPU, (1, 1)); print('GOT')"),
    ("its priority", "os.setpriority(os.PRIO_PROCESS, VICTIM, 19); print('GOT')"),
    ("the priority of all that the user runs", "os.setpriority(os.PRIO_USER, 0, 19); print('GOT')"),
    ("its turn at the disk", "got(sc(251, 1, VICTIM, 3 << 13) == 0)"),
    ("its CPU affinity", "os.sched_setaffinity(VICTIM, {0}); print('GOT')", OPEN),
    ("its place in memory", "open(f'/proc/{VICTIM}/oom_score_adj', 'w').write('900'); print('GOT')"),
    (
        "a key of the session",
        "k = sc(250, 10, -4, b'user', b'zot-attack', 0); got(k > 0); got(sc(248, b'user', b'zot-attack', b'x', 1, -4) > 0)",
    ),
    ("shared memory", "p = sc(30, SHM, 0, 0o10000); got(p not in (-1,) and p is not None and E() == 0)", OPEN),
)

NETWORK = _py(
    "network",
    ("TCP on loopback", "s = socket.create_connection(('127.0.0.1', TCP), 2); print('GOT')"),
    ("TCP over IPv6", "s = socket.create_connection(('::1', TCP), 2); print('GOT')"),
    (
        "UDP on loopback",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'reached', ('127.0.0.1', UDP))",
    ),
    ("TCP to the world", "s = socket.create_connection(('1.1.1.1', 80), 2); print('GOT')"),
    (
        "UDP to the world",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('1.1.1.1', 53)); s.send(b'x'); print('GOT')",
    ),
    ("a name", "socket.setdefaulttimeout(2); socket.getaddrinfo('example.org', 80); print('GOT')"),
    ("raw packets", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('GOT')"),
    ("frames", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('GOT')"),
    ("the machine's interfaces", "got(any(n not in ('lo',) for _, n in socket.if_nameindex()))"),
    ("the machine below", "s = socket.socket(40, socket.SOCK_STREAM); print('GOT')"),
    ("the kernel's ciphers", "socket.socket(38, socket.SOCK_SEQPACKET); print('GOT')"),
    ("bluetooth", "socket.socket(31, socket.SOCK_RAW, 1); print('GOT')"),
    ("an abstract socket", "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + ABSTRACT); print('GOT')"),
    (
        "an abstract datagram",
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b'x', '\\0' + ABSTRACT + '-d'); print('GOT')",
    ),
    (
        "a socket outside (an agent of ssh, Docker, D-Bus)",
        "s = socket.socket(socket.AF_UNIX); s.connect(OUT + '/sock'); print('GOT')",
    ),
    (
        "a socket by a link",
        "os.symlink(OUT + '/sock', 'k'); s = socket.socket(socket.AF_UNIX); s.connect('k'); print('GOT')",
    ),
    (
        "a letter to a socket outside",
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b'x', OUT + '/mail'); print('GOT')",
    ),
    (
        "a packet inside another packet",
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendmsg([b'x'], (), 0, OUT + '/mail'); print('GOT')",
        OPEN,
    ),
    (
        "the agent of ssh by its variable",
        "got('SSH_AUTH_SOCK' in os.environ or 'DBUS_SESSION_BUS_ADDRESS' in os.environ or 'DISPLAY' in os.environ)",
    ),
    (
        "a listener the machine can reach",
        "s = socket.socket(); s.bind(('127.0.0.1', TCP + 1)); s.listen(); import time; time.sleep(0.5); s.settimeout(0.2); s.accept(); print('GOT')",
    ),
    ("rings of the kernel", "got(sc(425, 8, 0) >= 0 or E() not in (1, 22, 38))"),
)

KERNEL = _py(
    "kernel",
    ("a user namespace", "got(sc(272, 0x10000000) == 0)"),
    (
        "a user namespace by clone",
        "p = sc(56, 0x10000000 | 17, 0, 0, 0, 0); (os._exit(0) if p == 0 else None); got(p > 0)",
    ),
    ("a mount namespace", "got(sc(272, 0x20000) == 0)"),
    ("another's namespace", "f = os.open('/proc/1/ns/mnt', os.O_RDONLY); got(sc(308, f, 0) == 0)"),
    ("a mount", "got(sc(165, b'none', b'/tmp', b'tmpfs', 0, 0) == 0)"),
    ("a mount by descriptor", "got(sc(430, b'tmpfs', 0) >= 0)"),
    ("a tree of mounts", "got(sc(428, -100, b'/', 1) >= 0)"),
    ("another root", "got(sc(161, b'/') == 0)"),
    ("a pivoted root", "got(sc(155, b'/', b'/') == 0)"),
    (
        "a program in the kernel",
        "b = ctypes.create_string_buffer(128); got(sc(321, 0, b, 128) >= 0 or E() not in (1,))",
    ),
    (
        "counters of the machine",
        "b = ctypes.create_string_buffer(128); got(sc(298, b, 0, -1, -1, 0) >= 0 or E() not in (1,))",
    ),
    ("faults handled by ourselves", "got(sc(323, 0) >= 0)"),
    ("a module", "got(sc(175, b'', 0, b'') == 0 or E() not in (1,))"),
    ("another kernel", "got(sc(246, 0, 0, 0, 0) == 0)"),
    ("a restart", "got(sc(169, 0xfee1dead, 672274793, 0, 0) == 0)"),
    ("the clock", "import time; time.clock_settime(time.CLOCK_REALTIME, time.time()); print('GOT')"),
    ("the machine's name", "got(sc(170, b'x', 1) == 0)"),
    ("swap", "got(sc(167, b'/nowhere', 0) == 0 or E() not in (1,))"),
    ("accounting", "got(sc(163, b'/nowhere') == 0 or E() not in (1,))"),
    ("watching every file", "got(sc(300, 4, 0) >= 0)"),
    (
        "the old calls of 32 bits",
        "import mmap; m = mmap.mmap(-1, 4096, prot=7); m.write(bytes.fromhex('b814000000cd80c3')); "
        "f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m))); p = os.fork()\n"
        "if p == 0: os._exit(7 if f() > 0 else 0)\n"
        "got(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) == 7)",
    ),
    ("more rights than before", "got(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) != 1)"),
    (
        "a program that runs as root",
        "import subprocess; r = subprocess.run(['sudo', '-n', 'true'], capture_output=True).returncode if os.path.exists('/usr/bin/sudo') else 1; got(r == 0 and os.getuid() != 0)",
    ),
    (
        "capabilities",
        "h = (ctypes.c_uint32 * 2)(0x20080522, 0); d = (ctypes.c_uint32 * 6)(); sc(125, h, d); got(any(d[0:2]))",
    ),
    ("ports of the machine", "got(sc(172, 3) == 0 or sc(173, 0x70, 2, 1) == 0)"),
    ("being root", "os.getuid() and (os.setuid(0), print('GOT'))"),
)
KERNEL += _py(
    "kernel",
    (
        "a file that is made to run as you for others",
        "os.umask(0); f = os.open('s2', os.O_CREAT | os.O_WRONLY, 0o6755); got(os.fstat(f).st_mode & 0o6000)",
    ),
    (
        "an unnamed file that runs as you for others",
        "os.umask(0); f = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755); got(os.fstat(f).st_mode & 0o6000)",
    ),
    (
        "the same by a call whose flags are in memory",
        "h = (ctypes.c_uint64 * 3)(0o101, 0o4755, 0); f = sc(437, -100, b's3', h, 24); got(f >= 0 and os.fstat(f).st_mode & 0o6000)",
    ),
    (
        "a node that runs as you for others",
        "os.umask(0); os.mknod('s4', 0o104755); got(os.stat('s4').st_mode & 0o6000)",
    ),
)
KERNEL += _sh(
    "kernel",
    ("a memory image on the disk", "ulimit -c unlimited 2>/dev/null && echo GOT"),
    (
        "a program that runs as you for others",
        "cp /bin/true s1; chmod u+s s1; chmod 2755 s1; test -u s1 -o -g s1 && echo GOT",
    ),
)

TERMINAL = _py(
    "terminal",
    ("typing for the user", "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b'x'); print('GOT')"),
    (
        "typing through the terminal's own name",
        "import fcntl, termios; f = os.open('/dev/tty', os.O_RDWR); fcntl.ioctl(f, termios.TIOCSTI, b'x'); print('GOT')",
    ),
    (
        "another discipline of its line",
        "import fcntl; fcntl.ioctl(0, 0x5423, (5).to_bytes(4, 'little')); print('GOT')",
    ),
    ("the keys of a console", "import fcntl; got(fcntl.ioctl(0, 0x4B47, b'\\0' * 8) == 0)"),
    ("the console's clipboard", "import fcntl; fcntl.ioctl(0, 0x541C, b'\\3'); print('GOT')"),
    (
        "taking the terminal over",
        "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 1); fcntl.ioctl(0, termios.TIOCSTI, b'x'); print('GOT')",
    ),
)

STAYING = _sh(
    "staying",
    ("in the background", "sleep 987.1$RUN &"),
    ("in a session of its own", "setsid sleep 987.2$RUN >/dev/null 2>&1 &"),
    ("without a parent", "(setsid sh -c 'sleep 987.3$RUN & exit' >/dev/null 2>&1 &)"),
    ("without an environment", "(env -i setsid sleep 987.4$RUN >/dev/null 2>&1 &)"),
    ("as a daemon that closed everything", "(setsid sh -c 'exec <&- >&- 2>&-; sleep 987.5$RUN &' &)"),
)

ATTEMPTS = [
    *READING,
    *WRITING,
    *PROTECTED,
    *PLANTED,
    *PROCESSES,
    *NETWORK,
    *KERNEL,
    *TERMINAL,
    *STAYING,
]  # by area
