"""The lock of `zot ext install`: a changed file prevents the start, data written later does not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.extension_places import extension


def own(zot: Zot) -> Path:
    return zot.home / "zot" / "extensions" / "tool"


@pytest.fixture
def source(zot: Zot, tmp_path: Path) -> Path:
    directory = extension(tmp_path / "tool", version="1")
    (directory / "lib").mkdir()
    (directory / "lib" / "words.py").write_text("WORDS = 1\n")
    (directory / "link.py").symlink_to("lib/words.py")
    assert zot("ext", "install", str(directory)).code == 0
    return directory


def flip(path: Path, *, in_secret: bool = False) -> None:
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)
    if in_secret:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("in_secret", [False, True], ids=["", "with its old time"])
@pytest.mark.parametrize("name", ["main.py", "lib/words.py"])
def test_changed_byte_prevents_start_and_names_file_and_fix(zot: Zot, source: Path, name: str, in_secret: bool) -> None:
    assert zot("ext", "doctor").code == 0
    (own(zot) / "started").unlink()
    flip(own(zot) / name, in_secret=in_secret)
    ran = zot("ext", "doctor")
    assert ran.code == 1
    assert f"{own(zot) / name} changed since it was installed; restore it: `zot ext update --force tool`" in ran.out
    assert not (own(zot) / "started").exists()
    assert zot("ext", "update", "--force", "tool").code == 0
    assert zot("ext", "doctor").code == 0


@pytest.mark.parametrize("trick", ["gone", "a link", "another link", "without its record", "a record of its own"])
def test_no_trick_makes_it_start(zot: Zot, source: Path, trick: str) -> None:
    program = own(zot) / "main.py"
    record = own(zot) / ".zot-install.json"
    match trick:
        case "gone":
            (own(zot) / "lib" / "words.py").unlink()
        case "a link":
            (own(zot) / "aside").write_bytes(program.read_bytes() + b"#")
            program.unlink()
            program.symlink_to("aside")
        case "another link":
            (own(zot) / "link.py").unlink()
            (own(zot) / "link.py").symlink_to("/etc/passwd")
        case "without its record":
            record.unlink()
            flip(program)
        case _:
            flip(program)
            record.write_text(json.dumps({**json.loads(record.read_text()), "files": {}}))
    ran = zot("ext", "doctor")
    assert ran.code == 1 and "since it was installed" in ran.out
    assert not (own(zot) / "started").exists()


def test_a_source_cannot_bring_its_own_record(zot: Zot, tmp_path: Path) -> None:
    directory = extension(tmp_path / "tool")
    (directory / ".zot-install.json").write_text('{"source": {"kind": "path", "place": "/"}, "files": {}}')
    assert zot("ext", "install", str(directory)).code == 0
    flip(own(zot) / "main.py")
    assert zot("ext", "doctor").code == 1


def test_a_lock_file_that_cannot_be_read_refuses(zot: Zot, source: Path) -> None:
    (zot.home / "zot" / "ext-lock.json").write_text("{")
    ran = zot("ext", "doctor")
    assert ran.code == 1 and "ext-lock.json" in ran.out
    assert not (own(zot) / "started").exists()


def test_later_data_and_new_mtime_do_not_break_the_lock(zot: Zot, source: Path) -> None:
    (own(zot) / "notes.txt").write_text("mine")
    os.utime(own(zot) / "main.py")
    assert zot("ext", "doctor").code == 0


def test_deliberate_change_can_be_accepted(zot: Zot, source: Path) -> None:
    with (own(zot) / "main.py").open("a") as file:
        file.write("# mine\n")
    assert zot("ext", "doctor").code == 1
    assert "accepted tool in its current state" in zot("ext", "trust", "tool").err
    assert zot("ext", "doctor").code == 0
    flip(own(zot) / "lib" / "words.py")
    assert zot("ext", "doctor").code == 1


def test_disable_enable_and_update_preserve_pins_data_and_choice(zot: Zot, source: Path) -> None:
    assert zot("ext", "doctor").code == 0
    data = zot.home / "zot" / "data" / "global" / "tool"
    (data / "state").write_text("kept")
    (own(zot) / "notes.txt").write_text("beside")
    assert zot("ext", "disable", "tool").code == 0
    with (source / "main.py").open("a") as file:
        file.write("# version 2\n")
    assert zot("ext", "update", "tool").code == 0
    assert json.loads((own(zot) / "extension.json").read_text())["enabled"] is False
    assert zot("ext", "enable", "tool").code == 0
    assert zot("ext", "doctor").code == 0
    assert (data / "state").read_text() == "kept" and (own(zot) / "notes.txt").read_text() == "beside"
    flip(own(zot) / "main.py")
    assert zot("ext", "disable", "tool").code == 0
    assert zot("ext", "enable", "tool").code == 0
    assert zot("ext", "doctor").code == 1  # switching does not bless what was changed


def test_an_update_that_asks_for_more_is_not_taken_unasked(zot: Zot, tmp_path: Path) -> None:
    directory = extension(tmp_path / "tool", version="1", permissions={"exec": True})
    zot("ext", "install", str(directory))

    def asks_for(permissions: object) -> None:
        path = directory / "extension.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "permissions": permissions}))

    asks_for({"exec": True, "net": True})
    ran = zot("ext", "update", "tool")
    assert ran.code == 1 and "connects to the network" in ran.err
    assert "net" not in (own(zot) / "extension.json").read_text()
    assert "it needs an additional permission" in zot("ext", "update", "tool", "--dry-run").err
    asks_for(None)
    assert "permission: unconfined: it runs with all your rights" in zot("ext", "update", "tool").err
    asks_for({})
    assert zot("ext", "update", "tool").code == 0
    asks_for({"net": True})
    assert zot("ext", "update", "tool", "--force").code == 0
    assert " confined " in zot("ext", "list").out


def test_removed_extension_is_removed_from_the_lock(zot: Zot, source: Path) -> None:
    assert zot("ext", "remove", "tool", "--yes").code == 0
    extension(own(zot))
    assert zot("ext", "doctor").code == 0
