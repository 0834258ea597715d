"""Extensions loaded by a real run: the tools offered to the model and the notices about the others."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Ran, Zot
from tests.fakes.model_server import Say

MAIN = """\
import json, sys
print(json.dumps({"type": "hello", "name": "x"}))
print(json.dumps({"type": "register_tool", "name": sys.argv[1], "schema": {"type": "object"}}))
print(json.dumps({"type": "ready"}), flush=True)
for line in sys.stdin:
    if json.loads(line)["type"] == "shutdown":
        break
"""


def extension(directory: Path, tool: str, /, **fields: Any) -> Path:
    """An extension that offers one tool."""
    directory.mkdir(parents=True)
    (directory / "main.py").write_text(MAIN)
    manifest = {"name": directory.name, "exec": sys.executable, "args": ["main.py", tool], **fields}
    (directory / "extension.json").write_text(json.dumps({k: v for k, v in manifest.items() if v is not None}))
    return directory


def own(zot: Zot, name: str, tool: str, /, **fields: Any) -> Path:
    return extension(zot.home / "zot" / "extensions" / name, tool, **fields)


def offered(zot: Zot, serve, *flags: str) -> tuple[set[str], Ran]:
    """The tools of extensions in the model's request."""
    server = serve([Say("ok")])
    ran = zot("-p", *flags, "go")
    assert (ran.code, ran.out) == (0, "ok\n")
    names = {tool["name"] for tool in server.requests[0].json["tools"]}
    return names - {"read", "write", "edit", "bash", "skill", "glob", "grep", "more_tools"}, ran


def test_disabled_extension_is_reported_only_if_named_by_flag(zot: Zot, serve) -> None:
    """ext-014: a disabled extension is mentioned only when the command line named it."""
    extension(zot.project / "named", "a", enabled=False)
    own(zot, "installed", "b", enabled=False)
    tools, ran = offered(zot, serve, "--ext", "named")
    assert tools == set()
    assert len(ran.err.splitlines()) == 1
    assert "skipped extension named: disabled" in ran.err


def test_an_explicit_path_wins_over_an_installed_one_of_its_name(zot: Zot, serve) -> None:
    """ext-024: `--ext` wins over an installed extension of the same name."""
    extension(zot.project / "dev", "new_tool", name="x")
    own(zot, "x", "old_tool")
    tools, ran = offered(zot, serve, "--ext", "dev")
    assert tools == {"new_tool"}
    assert "skipped " in ran.err


def test_no_ext_flag_skips_installed_but_loads_named(zot: Zot, serve) -> None:
    """ext-025: `--no-ext` skips installed extensions and still loads those of `--ext`."""
    extension(zot.project / "named", "a")
    own(zot, "installed", "b")
    assert offered(zot, serve)[0] == {"b"}
    assert offered(zot, serve, "--no-ext")[0] == set()
    assert offered(zot, serve, "--no-ext", "--ext", "named")[0] == {"a"}


def test_relative_ext_path_is_resolved_before_cwd(zot: Zot, serve) -> None:
    """ext-026: `--ext .` means the process's directory, independent of `--cwd`."""
    there = zot.project / "there"
    there.mkdir()
    zot.project = extension(zot.project / "here", "a")
    assert offered(zot, serve, "--ext", ".", "--cwd", str(there))[0] == {"a"}


def test_bundles_without_a_process_load_in_silence(zot: Zot, serve) -> None:
    """ext-098: an extension without a process loads without a word."""
    theme = own(zot, "theme", "unused", exec=None, args=None)
    (theme / "theme.json").write_text('{"name": "t"}')
    tools, ran = offered(zot, serve)
    assert (tools, ran.err) == (set(), "")
    assert not (zot.home / "zot" / "logs" / "ext-theme.log").exists()


def test_broken_manifest_is_reported_and_others_load(zot: Zot, serve) -> None:
    """ext-012, ext-013: broken manifests are reported, and the others load."""
    own(zot, "nameless", "a", name="")
    own(zot, "nothing-to-run", "b", exec=None)
    own(zot, "fine", "c")
    tools, ran = offered(zot, serve)
    assert tools == {"c"}
    assert len(ran.err.splitlines()) == 2
    assert all("extension load: " in line for line in ran.err.splitlines())


def test_misspelt_manifest_key_is_reported(zot: Zot, serve) -> None:
    """`"guards": true` declares no guard, so it must be reported; keys of other programs are ignored."""
    own(zot, "keeper", "a", guards=True, homepage="https://example.com")
    tools, ran = offered(zot, serve)
    assert tools == {"a"}
    assert 'extension keeper: "guards" is not a key of extension.json; did you mean "guard"?' in ran.err
    assert "homepage" not in ran.err
