"""Agent files in Claude Code's format, and public sets of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from zot.features.agents.builtin import BUILTIN
from zot.features.agents.definitions import AgentDir, dirs_in, parse_agent, read_agents, zot_names

PUBLIC = Path(__file__).parents[4] / ".cache" / "fixtures" / "superclaude" / "agents"
COLLECTION = Path(__file__).parents[4] / ".cache" / "claude" / ".claude" / "agents"
KNOWN = ("read", "write", "edit", "bash", "grep", "glob", "skill", "web_fetch", "mcp__docs__find", "mcp__docs__get")


def parse(text: str, **place: str) -> tuple[object, list[str]]:
    problems: list[str] = []
    return parse_agent(text, Path("x/reviewer.md"), AgentDir(Path("x"), "project", **place), problems), problems


def test_public_set_of_agent_files_is_read() -> None:
    """issue 32.4: every file of a published collection gives an agent with a description and a prompt."""
    problems: list[str] = []
    agents = read_agents([AgentDir(PUBLIC, "public")], None, problems)
    assert len(agents) >= 20 and problems == []
    assert all(agent.description and agent.prompt for agent in agents.values())
    assert "security-engineer" in agents


def test_large_public_set_of_agent_files_is_read() -> None:
    """issue 32.4: about a hundred agents of a project that people use, in nested directories; all tools are known."""
    problems: list[str] = []
    agents = read_agents([AgentDir(COLLECTION, "public")], None, problems)
    assert len(agents) > 90 and all(" hides " in problem for problem in problems)
    notes: list[str] = []
    for agent in agents.values():
        assert agent.description and agent.prompt
        zot_names(agent.tools or (), KNOWN, notes)
    assert notes == []


@pytest.mark.parametrize(
    ("head", "tools", "model", "steps"),
    [
        ("tools: Read, Grep, Glob", ["read", "grep", "glob"], "", 0),
        ("tools: [Read, Bash]\nmodel: haiku", ["read", "bash"], "haiku", 0),
        ("tools:\n  - Read\n  - MultiEdit\nmaxTurns: 5", ["read", "edit"], "", 5),
        ('tools: "Read"\nmodel: inherit\ncolor: purple', ["read"], "inherit", 0),
        ("tools: Read, Task, NotebookEdit, WebFetch", ["read", "web_fetch"], "", 0),
        ("tools: mcp__docs__*", ["mcp__docs__find", "mcp__docs__get"], "", 0),
        ("tools: mcp__docs", ["mcp__docs__find", "mcp__docs__get"], "", 0),
        ("tools:", [], "", 0),
    ],
)
def test_heads_as_people_write_them(head: str, tools: list[str], model: str, steps: int) -> None:
    """issue 32.4: lists in every form; tools of Claude Code by their names in zot."""
    agent, problems = parse(f"---\nname: reviewer\ndescription: >\n  Reviews\n  code.\n{head}\n---\nBe strict.")
    assert agent is not None and problems == []
    notes: list[str] = []
    assert zot_names(agent.tools or (), KNOWN, notes) == tools and notes == []
    assert (agent.model, agent.max_steps, agent.description, agent.prompt) == (
        model,
        steps,
        "Reviews code.",
        "Be strict.",
    )


def test_wrong_values_are_noted_and_never_permit_more() -> None:
    """issue 32.4, bad input: an unknown mode only reads; an unusable limit is one step; the rest is named."""
    text = "---\nname: A B!\ndescription: x\ncolor: beige\npermissionMode: root\nmaxTurns: -3\nhooks: {}\n---\nGo."
    agent, problems = parse(text)
    assert agent is not None and problems == []
    assert (agent.name, agent.mode, agent.max_steps, agent.colour) == ("A-B", "plan", 1, "")
    noted = " ".join(agent.notes)
    assert all(word in noted for word in ("hooks", "permissionMode 'root'", "maxTurns '-3'", "color 'beige'", "A B!"))


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions", "auto"])
def test_modes_that_would_widen_have_no_effect(mode: str) -> None:
    agent, _ = parse(f"---\nname: a\ndescription: x\npermissionMode: {mode}\n---\nGo.")
    assert agent is not None and agent.mode == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Just text.", "does not begin"),
        ("---\nname: a\ndescription: b\n---\n  \n", "no prompt"),
        ("", "does not begin"),
    ],
)
def test_file_that_is_no_agent_is_skipped_with_a_reason(text: str, said: str) -> None:
    agent, problems = parse(text)
    assert agent is None and len(problems) == 1 and said in problems[0] and "reviewer.md" in problems[0]


def test_unknown_tools_and_patterns_are_noted() -> None:
    notes: list[str] = []
    assert zot_names(("Read", "Frobnicate", "Bash(git:*)"), KNOWN, notes) == ["read"]
    assert len(notes) == 2 and "Frobnicate" in notes[0] and "patterns" in notes[1]


def test_agents_of_the_user_win_and_a_hidden_one_is_named(
    tmp_path: Path, write_agent: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """issue 32.4: a cloned project cannot replace an agent of the user, nor a link lead out of the project."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    write_agent("same", "Mine.", folder="user/.claude/agents")
    write_agent("same", "Theirs.")
    write_agent("deep", "Deep.", folder="project/.zot/agents/team")
    (tmp_path / "secret.md").write_text("---\nname: s\ndescription: x\n---\nsecret")
    (tmp_path / "project/.claude/agents/link.md").symlink_to(tmp_path / "secret.md")
    problems: list[str] = []
    agents = read_agents(dirs_in(tmp_path / "project", tmp_path / "home"), None, problems, BUILTIN)
    assert agents["same"].prompt == "Mine." and "deep" in agents and "s" not in agents
    assert {"explore", "plan"} <= agents.keys()
    assert any("hides" in text for text in problems) and any("link.md" in text for text in problems)


def test_directory_of_files_is_limited(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    for number in range(230):
        (tmp_path / f"agents/a{number}.md").write_text(f"---\nname: a{number}\ndescription: x\n---\nGo.")
    problems: list[str] = []
    assert len(read_agents([AgentDir(tmp_path / "agents", "x")], None, problems)) == 200
    assert len(problems) == 1 and "more than 200" in problems[0]
