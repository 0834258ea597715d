"""Permissions of extensions: declared in the manifest, granted by the user, enforced at both jail levels."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.probing import at_level, prober, refused, told, without_a_jail
from tests.fakes.model_server import CallTools, Say

OUTSIDE = {
    "a key": "open(os.path.expanduser('~/.ssh/id_rsa')).read()",
    "a key by its path": "open('{home}/.ssh/id_rsa').read()",
    "zot's credentials": "open('{home}/zot/auth.json').read()",
    "other extensions' data": "os.listdir('{home}/zot/data/global/other')",
    "the project, changed": "(PROJECT / 'new').write_text('x')",
    "the project's file, changed": "(PROJECT / 'README').write_text('x')",
    "its own program": "(OWN / 'main.py').write_text('x')",
    "the lock file": "open('{home}/zot/ext-lock.json', 'r+')",
    "the trust file": "open('{home}/zot/trust.json', 'r+')",
    "the network": "socket.create_connection(('127.0.0.1', {port}), 3)",
    "a secret": "os.environ['OTHER_TOKEN']",
    "a variable": "os.environ['UNHEARD_OF']",
}
INSIDE = {
    "its data": "(DATA / 'x').write_text('x')",
    "its program": "len((OWN / 'main.py').read_text())",
    "a temporary file": "open('/tmp/x' if not os.environ.get('TMPDIR') else os.environ['TMPDIR'] + '/x', 'w')",
    "its home": "open(os.path.expanduser('~/x'), 'w')",
}


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


# Tests run as the current ordinary user; root drops its privileges, and runs as root only in `make torture`.
USERS = [pytest.param(True, id="an ordinary user"), pytest.param(False, id="root", marks=pytest.mark.torture)]


@pytest.fixture(params=USERS if os.geteuid() == 0 else [False])
def user_identity(request: pytest.FixtureRequest, zot: Zot) -> Iterator[None]:
    """An ordinary user needs a separate directory: pytest's belongs to root."""
    with tempfile.TemporaryDirectory(prefix="zot-plain-user-") as base:
        if request.param:
            os.chmod(base, 0o755)
            zot.as_plain_user, zot.home, zot.project = True, Path(base) / "home", Path(base) / "project"
            zot.home.mkdir()
            zot.project.mkdir()
        yield


@pytest.fixture(params=("full", "reduced"))
def level(request: pytest.FixtureRequest, user_identity: None, zot: Zot) -> str:
    at_level(zot, request.param, zot.home.parent / "bin")
    return request.param


@pytest.fixture
def tries(zot: Zot, port: int) -> dict[str, str]:
    (zot.home / ".ssh").mkdir()
    (zot.home / ".ssh" / "id_rsa").write_text("a key")
    (zot.home / "zot" / "data" / "global" / "other").mkdir(parents=True)
    for name in ("auth.json", "trust.json", "ext-lock.json"):
        (zot.home / "zot" / name).write_text("{}")
    (zot.project / "README").write_text("hello")
    zot.environment.update(OTHER_TOKEN="s", UNHEARD_OF="v", ANTHROPIC_API_KEY="k")
    return {name: code.format(home=zot.home, port=port) for name, code in (OUTSIDE | INSIDE).items()}


def own(zot: Zot, name: str = "prober") -> Path:
    return zot.home / "zot" / "extensions" / name


def rewrite(directory: Path, **fields: Any) -> None:
    path = directory / "extension.json"
    manifest = {**json.loads(path.read_text()), **fields}
    path.write_text(json.dumps({key: value for key, value in manifest.items() if value is not None}))


def test_permissions_that_ask_for_nothing_give_nothing(zot: Zot, level: str, tries: dict[str, str]) -> None:
    more = {"the project": "os.listdir(PROJECT)", "another program": "run('git', '--version')"}
    prober(own(zot), tries | more, permissions={})
    assert zot("ext", "doctor").code == 0
    assert refused(zot) == sorted([*OUTSIDE, *more])


def test_permission_grants_only_what_it_declares(zot: Zot, level: str, tries: dict[str, str]) -> None:
    (zot.home / "notes").mkdir()
    (zot.home / "notes" / "one").write_text("note")
    (zot.home / "notes-2").mkdir()
    more = {
        "the project": "(PROJECT / 'README').read_text()",
        "a part of it, changed": "(PROJECT / 'out' / 'x').write_text('x')",
        "notes": f"open('{zot.home}/notes/one').read()",
        "notes, changed": f"open('{zot.home}/notes/one', 'w')",
        "a directory with a name like it": f"os.listdir('{zot.home}/notes-2')",
        "git": "run('git', '--version')",
        "cat": "run('cat', OWN / 'extension.json')",
        "cat by its path": "run('/bin/cat', OWN / 'extension.json')",
        "cat by the loader": "run(next(map(str, pathlib.Path('/lib64').glob('ld-*'))), '/bin/cat', OWN / 'main.py')",
        "a model's key": "os.environ['ANTHROPIC_API_KEY']",
    }
    asked = {
        "fs": {"read": ["$PROJECT", "~/notes"], "write": ["$PROJECT/out"]},
        "net": True,
        "exec": ["git"],
        "env": ["OTHER_TOKEN", "ANTHROPIC_API_KEY"],
    }
    prober(own(zot), tries | more, permissions=asked)
    assert zot("ext", "doctor").code == 0
    granted = {"the network", "a secret"}
    denied = {"notes, changed", "a directory with a name like it", "cat", "cat by its path", "cat by the loader"}
    assert refused(zot) == sorted((OUTSIDE.keys() - granted) | denied | {"a model's key"})
    assert (zot.project / "out" / "x").read_text() == "x"


def test_a_project_extension_without_permissions_gets_the_least(zot: Zot, level: str, tries: dict[str, str]) -> None:
    more = {
        "the project": "(PROJECT / 'README').read_text()",
        "beside its program": "(OWN / 'state.txt').write_text('x')",
        "another program": "run('git', '--version')",
    }
    directory = prober(zot.project / ".zot" / "extensions" / "prober", tries | more)
    before = (directory / "main.py").read_bytes()
    assert "changes its data directory, its own directory" in zot("ext", "trust").err
    for _ in range(2):
        assert zot("ext", "doctor").code == 0
        # What it came with is read-only at full; at reduced the copy is made again before the next start.
        expected = OUTSIDE.keys() - ({"its own program"} if level == "reduced" else set())
        assert refused(zot) == sorted(expected)
    assert (directory / "main.py").read_bytes() == before
    assert not (directory / "state.txt").exists()


def test_files_written_beside_project_extension_are_removed(zot: Zot, level: str) -> None:
    leaving = {
        "code": "open(OWN / 'json.py', 'x').write('raise SystemExit(3)')",
        "bytecode": "((OWN / '__pycache__').mkdir(), (OWN / '__pycache__' / 'json.cpython-311.pyc').write_text('x'))",
        "a link": "(OWN / 'socket').symlink_to('/tmp')",
        "state": "(OWN / 'state.txt').write_text('x')",
    }
    prober(zot.project / ".zot" / "extensions" / "prober", leaving)
    zot("ext", "trust")
    assert zot("ext", "doctor").code == 0
    told(zot)
    (copy,) = (zot.home / "zot" / "trusted").glob("*/*/prober")
    assert {"json.py", "__pycache__", "socket", "state.txt"} <= set(os.listdir(copy))
    looking = zot("ext", "doctor")
    assert looking.code == 0, looking.out
    assert "refused" not in told(zot)["code"]  # it could only be written again because it was gone


def test_a_project_extension_may_be_granted_everything(zot: Zot, tries: dict[str, str]) -> None:
    prober(zot.project / ".zot" / "extensions" / "prober", tries)
    assert "unconfined: it runs with all your rights" in zot("ext", "trust", "--unconfined").err
    assert " unconfined " in zot("ext", "list").out
    assert zot("ext", "doctor").code == 0
    assert {"the project, changed", "a key", "the network"}.isdisjoint(refused(zot))
    zot("ext", "disable", "prober")
    zot("ext", "enable", "prober")
    assert " unconfined " in zot("ext", "list").out
    zot("ext", "trust")
    assert " confined " in zot("ext", "list").out


@pytest.mark.parametrize("where", ["own", "project"])
def test_extension_without_available_jail_fails_with_a_fix(zot: Zot, where: str) -> None:
    without_a_jail(zot)
    if where == "own":
        prober(own(zot), {}, permissions={"net": True})
    else:
        prober(zot.project / ".zot" / "extensions" / "prober", {})
        zot("ext", "trust")
    ran = zot("ext", "doctor")
    assert ran.code == 1 and "install bubblewrap" in ran.out
    assert not list((zot.home / "zot" / "data").glob("*/*/told.json"))
    if where == "project":
        assert "zot ext trust --unconfined" in ran.out
        zot("ext", "trust", "--unconfined")
        assert zot("ext", "doctor").code == 0


def test_more_than_was_granted_is_refused_and_less_is_not(zot: Zot, serve: Any) -> None:
    """An extension whose manifest asks for more, or for no jail, does not start until the user grants it."""
    serve([Say("ok")] * 6)
    directory = prober(own(zot), {}, permissions={"net": True, "fs": {"read": ["$PROJECT"]}})
    assert zot("-p", "go").err == ""
    for narrower in ({"net": True}, {}, {"fs": {"read": ["$PROJECT/src"]}}):
        rewrite(directory, permissions=narrower)
        assert "more than you granted" not in zot("ext", "doctor", model=False).out
    wider = [{"net": True, "fs": {"write": ["$PROJECT"]}}, {"exec": True}, {"env": ["OTHER_TOKEN"]}, None]
    for asked in wider:
        rewrite(directory, permissions=asked)
        ran = zot("-p", "go")
        assert "requests more than you granted" in ran.err and "grant it: `zot ext trust prober`" in ran.err
    assert "unconfined" in zot("ext", "trust", "prober", model=False).err
    assert zot("-p", "go").err == ""


def test_extension_without_intercept_permission_is_not_called(zot: Zot, serve: Any) -> None:
    serve([CallTools([("bash", {"command": "touch done"})]), Say("ok")] * 2)
    directory = prober(own(zot), {}, ("tool_call",), permissions={"intercept": ["turn_start"]})
    ran = zot("-p", "go")
    assert (zot.project / "done").exists()
    assert 'cannot intercept tool_call: not allowed by "intercept" of its permissions' in ran.err
    (zot.project / "done").unlink()
    rewrite(directory, permissions={"intercept": ["tool_call"]})
    zot("ext", "trust", "prober", model=False)
    assert zot("-p", "go").code == 0
    assert not (zot.project / "done").exists()


def test_a_guard_that_may_not_intercept_is_a_mistake_and_refuses(zot: Zot, serve: Any) -> None:
    serve([CallTools([("bash", {"command": "touch done"})]), Say("ok")])
    prober(own(zot), {}, guard=True, permissions={"net": True})
    ran = zot("-p", "go")
    assert '"permissions.intercept" is missing' in ran.err
    assert not (zot.project / "done").exists()


@pytest.mark.parametrize(
    ("permissions", "told"),
    [
        ([], '"permissions" must be an object'),
        ({"fs": []}, '"permissions.fs" must be an object'),
        ({"fs": {"read": "x"}}, '"permissions.fs.read" must be a list of strings'),
        ({"fs": {"write": ["../x"]}}, "\"permissions.fs.write\" '../x': must not contain .."),
        ({"fs.write": ["$HOME"]}, "\"permissions.fs.write\" '$HOME': only $PROJECT and $DATA"),
        ({"fs": {"write": ["$PROJECT/.git/hooks"]}}, "are never writable"),
        ({"fs": {"read": ["/"]}}, "cannot be the whole file system"),
        ({"net": "yes"}, '"permissions.net" must be true or false'),
        ({"exec": ["./x"]}, "\"permissions.exec\" './x': expected a name on PATH"),
        ({"env": ["A=B"]}, "\"permissions.env\" 'A=B': must be a variable name"),
        ({"intercept": ["everything"]}, "\"permissions.intercept\" 'everything': cannot be intercepted"),
    ],
)
def test_a_wrong_field_is_named(zot: Zot, permissions: Any, told: str) -> None:
    prober(own(zot), {}, permissions=permissions)
    ran = zot("ext", "doctor")
    assert ran.code == 1 and told in ran.out


@pytest.mark.parametrize("path", ["~", "$DATA/link", "link", "{home}/zot", "{home}/zot/sessions"])
def test_no_permission_leads_to_everything_or_through_a_link(zot: Zot, path: str) -> None:
    directory = prober(own(zot), {}, permissions={"fs": {"read": [path.format(home=zot.home)]}})
    (zot.home / "zot" / "sessions").mkdir()
    data = zot.home / "zot" / "data" / "global" / "prober"
    data.mkdir(parents=True)
    for place in (directory, data):
        (place / "link").symlink_to(zot.home)
    ran = zot("ext", "doctor")
    assert ran.code == 1 and "permissions.fs.read: " in ran.out
    assert not (data / "told.json").exists()


def test_a_link_in_the_project_does_not_widen_a_write(zot: Zot) -> None:
    (zot.home / ".ssh").mkdir()
    (zot.project / "out").symlink_to(zot.home / ".ssh")
    prober(own(zot), {}, permissions={"fs": {"write": ["$PROJECT/out"]}})
    assert "is a link to" in zot("ext", "doctor").out


def test_project_write_permission_excludes_files_others_execute(zot: Zot, level: str) -> None:
    trying = {
        "a file": "(PROJECT / 'x').write_text('x')",
        "zot's": "(PROJECT / '.zot' / 'extensions').mkdir(parents=True)",
        "an editor's": "(PROJECT / '.vscode').mkdir()",
    }
    prober(own(zot), trying, permissions={"fs": {"write": ["$PROJECT"]}})
    assert zot("ext", "doctor").code == 0
    assert refused(zot) == (["an editor's", "zot's"] if level == "full" else [])
    aside = [".vscode-from-the-jail", ".zot-from-the-jail"]  # moved when the extension ended
    assert sorted(os.listdir(zot.project)) == ([*aside, "x"] if level == "reduced" else ["x"])


def test_permissions_are_shown_at_install_and_trust(zot: Zot) -> None:
    source = prober(zot.project / "prober", {}, permissions={"net": True, "env": ["WEATHER_KEY"], "exec": ["git"]})
    ran = zot("ext", "install", str(source))
    words = ["connects to the network", "gets the variables WEATHER_KEY", "runs git"]
    assert all(word in ran.err for word in words)
    assert all(word in zot("ext", "doctor", "prober").out for word in words)
    assert " confined " in zot("ext", "list").out
    described = json.loads(zot("ext", "list", "--json").out)["extensions"][0]
    assert described["confined"] and set(words) <= set(described["permissions"])
