"""A Python extension is compiled when it arrives: its starts read bytecode, and nothing appears in its directory."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say


def loaded(zot: Zot, serve, *flags: str, name: str = "words") -> set[str]:
    """SDK modules loaded from bytecode at the next start, from Python's verbose stderr in the log."""
    log = zot.home / "zot" / "logs" / f"ext-{name}.log"
    log.unlink(missing_ok=True)
    zot.environment["PYTHONVERBOSE"] = "1"
    serve([Say("ok")])
    assert zot("-p", "go", *flags).code == 0
    del zot.environment["PYTHONVERBOSE"]
    found = [line for line in log.read_text().splitlines() if " matches " in line and "/zot_ext/" in line]
    return {Path(line.rsplit(" matches ", 1)[1]).stem for line in found}


def starter(zot: Zot, *flags: str) -> Path:
    made = zot("ext", "new", "words", "--lang", "python", *flags, model=False)
    assert made.code == 0, made.err
    directory = Path(flags[1]) if flags else zot.project / "words"
    manifest = json.loads((directory / "extension.json").read_text())
    (directory / "extension.json").write_text(json.dumps({**manifest, "exec": sys.executable}))
    return directory


def test_installed_extension_is_compiled_once_outside_its_files(zot: Zot, serve) -> None:
    starter(zot)
    assert zot("ext", "install", "words").code == 0
    directory = zot.home / "zot" / "extensions" / "words"
    assert {"server", "extension", "frames"} <= loaded(zot, serve)
    assert not list(directory.rglob("__pycache__"))
    kept = Path(f"{zot.home}/zot/pycache{directory}")
    assert sorted(path.name for path in kept.iterdir() if path.is_dir()) == ["zot_ext"]
    assert zot("ext", "remove", "words", "--yes", model=False).code == 0
    assert not kept.exists()


def test_edited_extension_does_not_use_stale_bytecode(zot: Zot, serve) -> None:
    directory = starter(zot)
    assert {"server", "results"} <= loaded(zot, serve, "--ext", "words")
    with (directory / "zot_ext" / "results.py").open("a") as file:
        file.write("# changed\n")
    again = loaded(zot, serve, "--ext", "words")
    assert "server" in again and "results" not in again


def test_trusted_project_extension_is_compiled_beside_its_copy(zot: Zot, serve) -> None:
    directory = starter(zot, "--dir", str(zot.project / ".zot" / "extensions" / "words"))
    manifest = json.loads((directory / "extension.json").read_text())
    granted = {"permissions": {"env": ["PYTHONVERBOSE"]}}
    (directory / "extension.json").write_text(json.dumps({**manifest, **granted}))
    assert zot("ext", "trust", model=False).code == 0
    assert {"server", "extension"} <= loaded(zot, serve)
    assert zot("ext", "untrust", model=False).code == 0
    assert not list((zot.home / "zot" / "pycache").rglob("trusted/*/*"))


def test_compile_error_is_logged_and_extension_runs(zot: Zot) -> None:
    (starter(zot) / "broken.py").write_text("def (:\n")
    ran = zot("ext", "install", "words")
    assert ran.code == 0 and "broken" not in ran.err
    assert "broken.py" in (zot.home / "zot" / "logs" / "ext-words.log").read_text()


@pytest.mark.parametrize("exec_", ["./python3", "./run"])
def test_install_does_not_run_bundled_programs(zot: Zot, exec_: str) -> None:
    """Installing runs no file of the extension, even one named python."""
    directory = starter(zot)
    manifest = json.loads((directory / "extension.json").read_text())
    (directory / "extension.json").write_text(json.dumps({**manifest, "exec": exec_}))
    for name in ("python3", "run"):
        (directory / name).write_text(f"#!{zot.home}/zot/extensions/words/evil\n")
        (directory / name).chmod(0o755)
    (directory / "evil").write_text(f"#!/bin/sh\ntouch {zot.project}/ran\n")
    (directory / "evil").chmod(0o755)
    assert zot("ext", "install", "words").code == 0
    assert not (zot.project / "ran").exists()


def test_script_is_compiled_by_its_shebang_interpreter(zot: Zot, serve) -> None:
    directory = starter(zot)
    manifest = json.loads((directory / "extension.json").read_text())
    (directory / "extension.json").write_text(json.dumps({**manifest, "exec": "./main.py", "args": []}))
    script = (directory / "main.py").read_text()
    (directory / "main.py").write_text(f"#!{sys.executable}\n{script}")
    (directory / "main.py").chmod(0o755)
    assert zot("ext", "install", "words", model=False).code == 0
    assert {"server", "extension"} <= loaded(zot, serve)
