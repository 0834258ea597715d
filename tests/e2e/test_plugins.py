"""Plugins in the real program: installed after consent to their commands, and used in every run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.mcp_server import command
from tests.fakes.model_server import CallTools, Say
from tests.terminal.scripts import user_texts

BASH = CallTools([("bash", {"command": "echo ran > made"})])
GUARD = "#!/bin/sh\necho guarded by $CLAUDE_PLUGIN_ROOT >&2\nexit 2\n"


def write(root: Path, **files: Any) -> Path:
    for name, content in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return root


def claude_plugin(root: Path) -> Path:
    hook = {"type": "command", "command": "sh ${CLAUDE_PLUGIN_ROOT}/guard.sh"}
    write(root / ".claude-plugin", **{"plugin.json": {"name": "tidy", "version": "1.2", "description": "Tidies up"}})
    return write(
        root,
        **{
            "skills__sweep__SKILL.md": "---\nname: sweep\ndescription: Sweep the floor\n---\nUse a broom.",
            "commands__dust.md": "Dust $1 with ${CLAUDE_PLUGIN_ROOT}/cloth.",
            "hooks__hooks.json": {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}},
            "guard.sh": GUARD,
            ".mcp.json": {"mcpServers": {"fake": command()}},
            "agents__helper.md": "---\nname: helper\ndescription: Helps\n---\nYou help.",
        },
    )


def open_plugin(root: Path, **fields: Any) -> Path:
    manifest = {"$schema": "https://example.org/plugin/1.0", "name": "open.one", "version": "1.0", **fields}
    server = {"type": "stdio", **command(), "env": {"PLACE": "${PLUGIN_ROOT}/x", "HOME_OF": "${HOME}"}}
    return write(
        root,
        **{
            "plugin.json": manifest,
            "mcp.json": {"mcpServers": {"fake": server}},
            "skills__count__SKILL.md": "---\ndescription: Count things\n---\nOne, two.",
        },
    )


def install(zot: Zot, place: Path | str, *more: str) -> str:
    ran = zot("plugin", "install", str(place), "--yes", *more, model=False)
    assert ran.code == 0, ran.err
    return ran.err


def test_a_claude_plugin_brings_all_its_parts(zot: Zot, serve: Any, tmp_path: Path) -> None:
    told = install(zot, claude_plugin(tmp_path / "tidy"))
    for line in ("skill tidy:sweep", "plugin_tidy_fake", "guard.sh", "/tidy:", "agents tidy:"):
        assert line in told
    server = serve([BASH, Say("done")])
    ran = zot("-p", "/tidy:dust shelf")
    assert ran.code == 0 and ran.err == "", ran.err
    first = server.requests[0].json
    assert user_texts(server.requests[0]) == [f"Dust shelf with {zot.home}/zot/plugins/tidy/cloth."]  # issue 29.7
    assert "tidy:sweep" in json.dumps(first["system"]) and "Sweep the floor" in json.dumps(first["system"])
    assert "mcp_search" in [tool["name"] for tool in first["tools"]]
    assert f"guarded by {zot.home}/zot/plugins/tidy" in json.dumps(server.requests[1].json["messages"][-1])
    assert not (zot.project / "made").exists()


def test_plugin_server_is_called(zot: Zot, serve: Any, tmp_path: Path) -> None:
    install(zot, open_plugin(tmp_path / "p"))
    call = CallTools([("mcp__plugin_open_one_fake__echo", {"text": "from the plugin"})])
    server = serve([CallTools([("mcp_search", {"query": "echo"})]), call, Say("done")])
    assert zot("-p", "hi").code == 0
    names = [tool["name"] for tool in server.requests[1].json["tools"]]
    assert [name for name in names if name.startswith("mcp__plugin_open")], names
    assert "from the plugin" in json.dumps(server.requests[2].json["messages"][-1])


def test_switching_and_removing(zot: Zot, serve: Any, tmp_path: Path) -> None:
    install(zot, claude_plugin(tmp_path / "tidy"))
    assert "tidy 1.2: on" in zot("plugin", "list", model=False).out
    again = zot("plugin", "install", str(tmp_path / "tidy"), "--yes", model=False)
    assert again.code == 1 and "--force" in again.err
    zot("plugin", "disable", "tidy", model=False)
    server = serve([Say("done")])
    zot("-p", "/tidy:dust shelf")
    assert user_texts(server.requests[0]) == ["/tidy:dust shelf"]
    install(zot, tmp_path / "tidy", "--force")
    [row] = json.loads(zot("plugin", "list", "--json", model=False).out)["plugins"]
    assert row["state"] == "off" and row["missing"] == []
    zot("plugin", "enable", "tidy", model=False)
    assert "tidy 1.2: on" in zot("plugin", "list", model=False).out
    assert zot("plugin", "remove", "tidy", model=False).code == 0
    assert not (zot.home / "zot" / "plugins" / "tidy").exists()
    missing = zot("plugin", "remove", "tidy", model=False)
    assert missing.code != 0 and 'no plugin "tidy"' in missing.err


def test_install_without_yes_installs_nothing(zot: Zot, tmp_path: Path) -> None:
    ran = zot("plugin", "install", str(claude_plugin(tmp_path / "tidy")), model=False)
    assert ran.code == 1 and "--yes" in ran.err and "guard.sh" in ran.err
    assert os.listdir(zot.home / "zot" / "plugins") == []


def test_changed_plugin_is_not_used(zot: Zot, serve: Any, tmp_path: Path) -> None:
    install(zot, claude_plugin(tmp_path / "tidy"))
    (zot.home / "zot" / "plugins" / "tidy" / "guard.sh").write_text("exit 0\n")
    doctor = zot("plugin", "doctor", model=False)
    assert doctor.code == 1 and "changed since you accepted it" in doctor.out
    serve([Say("done"), Say("done"), Say("done")])
    for args in (("-p", "hi"), ("-p", "--no-skill", "hi"), ("--json", "--no-mcp", "--no-skill", "hi")):
        assert zot(*args).err.count("changed since you accepted it") == 1


def test_install_from_git_tag_and_marketplace(zot: Zot, tmp_path: Path) -> None:
    repository = tmp_path / "market"
    claude_plugin(repository / "plugins" / "tidy")
    listed = {"name": "m", "plugins": [{"name": "tidy", "source": "./plugins/tidy"}]}
    write(repository / ".claude-plugin", **{"marketplace.json": listed})
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "x"], ["tag", "v1"]):
        subprocess.run(["git", "-C", str(repository), *words], check=True)
    url = f"file://{repository}"
    whole = zot("plugin", "install", url, "--yes", model=False)
    assert whole.code == 1 and "name one after it: tidy" in whole.err
    install(zot, url, "--subdir", "plugins/tidy", "--ref", "v1")
    assert "tidy 1.2: on" in zot("plugin", "list", model=False).out
    assert not (zot.home / "zot" / "plugins" / "tidy" / ".git").exists()


def skill_files(*names: str) -> dict[str, str]:
    return {f"skills__{name}__SKILL.md": f"---\nname: {name}\ndescription: About {name}\n---\nDo." for name in names}


def test_marketplace_entries_are_manifests_of_skills(zot: Zot, serve: Any) -> None:
    """Shaped like anthropics/skills: every source is the repository, and the entries list the skills."""
    root = write(zot.project / "skills-market", **skill_files("xlsx", "docx", "art"))
    write(root, **{".mcp.json": {"mcpServers": {"own": command()}}})
    entry = {"source": "./", "strict": False, "description": "Documents"}
    rows = [
        {**entry, "name": "document-skills", "skills": ["./skills/xlsx", "./skills/docx"]},
        {**entry, "name": "example-skills", "skills": ["./skills/art"]},
    ]
    write(root / ".claude-plugin", **{"marketplace.json": {"name": "agent-skills", "plugins": rows}})
    wrong = zot("plugin", "install", str(root), "document-skill", model=False)
    assert wrong.code == 2 and "did you mean document-skills?" in wrong.err
    told = install(zot, root, "document-skills")
    assert "skill document-skills:xlsx" in told and "skill document-skills:docx" in told
    assert ":art" not in told and "MCP" not in told
    install(zot, root, "example-skills")
    listed = zot("plugin", "list", model=False).out
    assert "document-skills: on" in listed and "skill example-skills:art" in listed
    server = serve([Say("done")])
    assert zot("-p", "hi").err == ""
    assert "document-skills:xlsx" in json.dumps(server.requests[0].json["system"])


def test_marketplace_plugins_install_by_name(zot: Zot, tmp_path: Path) -> None:
    """Shaped like claude-code's own marketplace, and with plugins in repositories of their own."""
    root = zot.project / "market"
    claude_plugin(root / "plugins" / "tidy")
    bare = write(root / "plugins" / "bare", **{"commands__commit.md": "Commit"})
    other = claude_plugin(tmp_path / "other" / "deep" / "part")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(tmp_path / "other"), *words], check=True)
    (other / ".claude-plugin" / "plugin.json").write_text('{"name": "far"}')
    subprocess.run(["git", "-C", str(tmp_path / "other"), *identity, "commit", "-qam", "y"], check=True)
    away = {"source": "git-subdir", "url": f"file://{tmp_path}/other", "path": "deep/part"}
    rows = [
        {"name": "tidy", "source": "./plugins/tidy", "category": "x", "mcpServers": {"second": command()}},
        {"name": "Explanatory Output Style", "source": bare.name, "version": "1.0.0"},
        {"name": "away", "source": away},
        {"name": "package", "source": {"source": "npm", "package": "x"}},
        {"name": "outside", "source": "../other"},
        {"name": "foreign", "source": {"source": "url", "url": "ext::sh -c touch% /tmp/x"}},
    ]
    fields = {"name": "m", "metadata": {"pluginRoot": "./plugins"}, "plugins": rows}
    write(root / ".claude-plugin", **{"marketplace.json": fields})
    assert "plugin_tidy_second" in install(zot, root, "tidy")
    assert "templates /explanatory-output-style:" in install(zot, root, "explanatory-output-style")
    assert "installed far" in install(zot, root, "away")
    for name, why in (("package", "not supported"), ("outside", "no directory"), ("foreign", "unsupported address")):
        ran = zot("plugin", "install", str(root), name, "--yes", model=False)
        assert ran.code == 1 and why in ran.err, ran.err
    assert [row["name"] for row in json.loads(zot("plugin", "list", "--json", model=False).out)["plugins"]] == [
        *("explanatory-output-style", "far", "tidy")
    ]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"$schema": None}, "$schema"),
        ({"name": "Bad Name"}, "name"),
        ({"name": "../up"}, "name"),
        ({"version": 1}, "version"),
        ({"keywords": "a"}, "keywords"),
    ],
)
def test_open_format_rules_are_checked(zot: Zot, tmp_path: Path, fields: dict[str, Any], told: str) -> None:
    ran = zot("plugin", "install", str(open_plugin(tmp_path / "p", **fields)), "--yes", model=False)
    assert ran.code == 1 and told in ran.err


def test_unknown_plugin_field_is_reported_and_ignored(zot: Zot, tmp_path: Path) -> None:
    told = install(zot, open_plugin(tmp_path / "p", colour="red"))
    assert 'ignored unknown field "colour"' in told
    told = install(zot, write(open_plugin(tmp_path / "p"), **{"hooks__hooks.json": {}}), "--force")
    assert "hooks (no part of Agent Plugins 1.0)" in told


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_path_without_plugin_is_an_error(zot: Zot, tmp_path: Path, content: str | None) -> None:
    (tmp_path / "p").mkdir()
    if content is not None:
        (tmp_path / "p" / "plugin.json").write_text(content)
    ran = zot("plugin", "install", str(tmp_path / "p"), "--yes", model=False)
    assert ran.code == 1 and "plugin.json" in ran.err and "Traceback" not in ran.err
