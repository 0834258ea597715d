"""Access requests of a jailed command: parsed from its stderr, verified, and granted exactly."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from zot.system.jail.access_requests import (
    AccessContext,
    is_granted,
    request_for_file,
    requests_from_output,
    with_access,
)
from zot.system.jail.policy import Policy, Wish


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("project/.git", "home/.ssh", "home/.cache", "home/zot", "out/sub", "seen"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("out/file", "out/with a space", "home/notes", "home/.ssh/id", "home/zot/auth.json", "seen/file"):
        (tmp_path / name).write_text("x")
    return tmp_path


def around(place: Path, **more: object) -> AccessContext:
    policy = Policy(root=str(place / "project"), read=(str(place / "seen"),), **more)  # type: ignore[arg-type]
    return AccessContext(policy, str(place / "project"), str(place / "home"), (str(place / "home" / "zot"),))


COMPLAINTS = [
    ("cat: {}/out/file: No such file or directory", "", "to read the file {}/out/file"),
    ("cat: '{}/out/with a space': Permission denied", "", "to read the file {}/out/with a space"),
    ("cat: {}/out/with a space: No such file or directory", "", "to read the file {}/out/with a space"),
    ("ls: cannot open directory '{}/out': Permission denied", "", "to read the directory {}/out"),
    ("PermissionError: [Errno 13] Permission denied: '{}/out/file'", "", "to read the file {}/out/file"),
    ("Error: ENOENT: no such file or directory, open '{}/out/file'", "", "to read the file {}/out/file"),
    ("open {}/out/file: permission denied", "", "to read the file {}/out/file"),
    ("cat: ../out/file: No such file or directory", "", "to read the file {}/out/file"),
    ("sh: 1: {}/out/file: not found", "", "to read the file {}/out/file"),
    ("bash: line 1: {}/out/file: No such file or directory", "echo x >{}/out/file", "to change the file {}/out/file"),
    ("bash: line 1: {}/out/new: Permission denied", "", "to make the file {}/out/new"),
    ("bash: line 1: {}/out/new: No such file or directory", 'echo x >> "{}/out/new"', "to make the file {}/out/new"),
    ("touch: cannot touch '{}/out/new': No such file or directory", "", "to make the file {}/out/new"),
    ("mkdir: cannot create directory ‘{}/out/new’: Permission denied", "", "to make the directory {}/out/new"),
    ("tee: {}/seen/file: Read-only file system", "", "to change the file {}/seen/file"),
    ("cat: {}/home/.ssh/id: No such file or directory", "", "to read the file {}/home/.ssh/id"),
    ("touch: cannot touch '{}/home/.cache/x': Permission denied", "", "to make the file {}/home/.cache/x"),
    ("curl: (6) Could not resolve host: example.org", "", "the network, to reach example.org"),
    ("curl: (7) Failed to connect to 1.1.1.1 port 80 after 0 ms", "", "the network, to reach 1.1.1.1:80"),
    ("  [cause]: Error: getaddrinfo EAI_AGAIN registry.npmjs.org", "", "the network, to reach registry.npmjs.org"),
    ("dial tcp: lookup proxy.golang.org: no such host", "", "the network, to reach proxy.golang.org"),
    ("gaierror: [Errno -3] Temporary failure in name resolution", "get https://a.b/c", "the network, to reach a.b"),
    ("OSError: [Errno 101] Network is unreachable", "", "the network"),
]


@pytest.mark.parametrize(("said", "command", "wanted"), COMPLAINTS, ids=[row[0][:40] for row in COMPLAINTS])
def test_denial_message_names_the_path(place: Path, said: str, command: str, wanted: str) -> None:
    at = str(place)
    found = requests_from_output(f"before\n{said.replace('{}', at)}\nafter", command.replace("{}", at), around(place))
    assert [str(wish) for wish in found] == [wanted.replace("{}", at)]


NOTHING = [
    "cat: {}/out/missing: No such file or directory",  # it is not there outside either
    "rm: cannot remove '{}/out/file': Read-only file system",  # that would take the whole directory
    "cat: {}/project/missing: No such file or directory",
    "cat: {}/seen/missing: No such file or directory",
    "cat: {}/home/zot/auth.json: No such file or directory",
    "ls: cannot open directory '{}/home/zot': Permission denied",
    "ls: cannot open directory '{}/home': Permission denied",  # it holds zot's own
    "ls: cannot open directory '{}': Permission denied",
    "ls: cannot open directory '/': Permission denied",
    "cat: /proc/1/environ: Permission denied",
    "bash: /dev/kmsg: Permission denied",
    "touch: cannot touch '{}/home/.bashrc': Read-only file system",
    "touch: cannot touch '{}/home/.ssh/authorized_keys': Permission denied",
    "touch: cannot touch '{}/out/.git': Permission denied",
    "mkdir: cannot create directory '{}/out/.zot': Permission denied",
    "touch: cannot touch '{}/project/.git/hooks/x': Read-only file system",
    "touch: cannot touch '/usr/bin/x': Read-only file system",
    "touch: cannot touch '/etc/x': Read-only file system",
    "cat: {}/out/socket: No such file or directory",
    "the file {}/out/file is nice",
    "curl: (7) Failed to connect to 127.0.0.1 port 1 after 0 ms",  # nobody listens there
]


@pytest.mark.parametrize("said", NOTHING)
def test_missing_or_protected_path_is_not_offered(place: Path, said: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "out" / "socket"))
        assert requests_from_output(said.replace("{}", str(place)), "", around(place)) == []


def test_link_is_resolved_to_its_target(place: Path) -> None:
    (place / "project" / "link").symlink_to(place / "out" / "file")
    found = requests_from_output("cat: link: No such file or directory", "", around(place))
    assert [wish.path for wish in found] == [str(place / "out" / "file")]
    (place / "project" / "hook").symlink_to(place / "home" / ".bashrc")
    assert request_for_file("hook", around(place), writing=True) is None


def test_a_server_on_this_machine_is_a_wish_for_the_network(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        said = f"curl: (7) Failed to connect to localhost port {port} after 0 ms: Couldn't connect to server"
        assert [str(wish) for wish in requests_from_output(said, "", around(place))] == [
            f"the network, to reach localhost:{port}"
        ]
        assert requests_from_output(said, "", around(place, network=True)) == []


def test_only_shown_paths_are_added(place: Path) -> None:
    policy = around(place).policy
    file, directory = str(place / "out" / "file"), str(place / "out" / "sub")
    wider = with_access(
        policy, [Wish("read", file), Wish("write", directory, "directory"), Wish("network", host="a.b")]
    )
    assert (wider.read, wider.read_files, wider.write, wider.write_files) == (policy.read, (file,), (directory,), ())
    assert wider.network and is_granted(wider, Wish("read", file)) and not is_granted(wider, Wish("write", file))
    assert is_granted(wider, Wish("write", f"{directory}/x")) and not is_granted(
        wider, Wish("read", os.path.dirname(file))
    )
    assert with_access(wider, [Wish("read", file)]) == wider


def test_a_flood_of_complaints_asks_for_little(place: Path) -> None:
    said = "\n".join(f"cat: {place}/out/missing{i}: No such file or directory" for i in range(5_000))
    assert len(requests_from_output(f"{said}\ncat: {place}/out/file: Permission denied", "", around(place))) == 1
    assert requests_from_output(f"cat: {place}/out/file: Permission denied\n{said}", "", around(place)) == []
    for name in range(9):
        (place / "out" / str(name)).write_text("")
    said = "\n".join(f"cat: {place}/out/{i}: Permission denied" for i in range(9))
    assert len(requests_from_output(said, "", around(place))) == 4
