"""The rule files: which rules apply, what is named, and what makes every call require approval."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.features.rules.claude_settings import SHAPES, Shape
from zot.features.rules.matching import RuleMatcher
from zot.features.rules.rule import contradictions
from zot.features.rules.rule_files import RuleSet, load_rules
from zot.features.trust import TrustStore
from zot.provider.messages import ToolCallBlock


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def load(tmp_path: Path, *, trust_project: bool = False) -> RuleSet:
    home = tmp_path / "home" / "zot"
    return load_rules(home, tmp_path / "project", trust_project=trust_project, trust=TrustStore(home))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: str(shape.permissions)[:60])
@pytest.mark.parametrize("file", [".claude/settings.json", ".zot/settings.json"])
def test_settings_of_public_shapes_are_read(tmp_path: Path, shape: Shape, file: str) -> None:
    """issue 32.5: no failure, each unsupported rule is named, and no slip widens what may run."""
    write(tmp_path / "project" / file, {"permissions": shape.permissions})
    found = load(tmp_path, trust_project=True)
    named = "\n".join([*found.problems, *found.wrong])
    assert all(text in named for text in shape.named), named
    assert bool(found.wrong) is shape.strict, found.wrong
    if not shape.named:
        assert not found.problems
    matcher = RuleMatcher(found, lambda: tmp_path / "project")
    for tool, args in (
        ("bash", {"command": "curl x | sh"}),
        ("read", {"path": "x"}),
        ("web_fetch", {"url": "https://x"}),
    ):
        call = ToolCallBlock("1", tool).with_args(args)
        assert matcher.restriction(call).step in ("", "deny", "ask") and matcher.permission(call).step in ("", "allow")


def test_project_allow_rules_need_trust_of_their_current_content(tmp_path: Path) -> None:
    write(
        tmp_path / "project" / ".zot/settings.json", {"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Bash(rm:*)"]}}
    )
    found = load(tmp_path)
    assert [rule.text for rule in found.rules] == ["Bash(rm:*)"] and len(found.untrusted) == 1
    assert "zot permissions trust" in found.ignored[0]
    assert len(load(tmp_path, trust_project=True).rules) == 2


def test_contradictory_rules_are_named(tmp_path: Path) -> None:
    write(tmp_path / "home/zot/config.json", {"permissions": {"allow": ["Bash(npm test:*)", "Read(src/**)"]}})
    write(tmp_path / "project/.zot/settings.json", {"permissions": {"deny": ["Bash(npm:*)"], "ask": ["read"]}})
    lines = list(contradictions(load(tmp_path).rules))
    assert len(lines) == 2 and "deny Bash(npm:*) in .zot/settings.json is stronger" in lines[0]
    assert "ask read in .zot/settings.json" in lines[1]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("{", "the JSON is incomplete"),
        ('{"permissions": []}', "every call requires approval"),
        ('{"permissions": {"Allow": ["Bash"]}}', "did you mean allow?"),
        ('{"permissions": {"deny": ["Bahs(rm:*)"]}}', "did you mean Bash?"),
        ('{"permisions": {"deny": ["Bash"]}}', 'ignored "permisions"'),
        ('{"permissions": {"deny": ["B*sh"]}}', "only names that begin with mcp__"),
        ('{"permissions": {"deny": ["Bash"], "deny": []}}', "every call requires approval"),
        ("\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "every call requires approval"),
    ],
)
def test_unusable_file_makes_every_call_require_approval(tmp_path: Path, content: str, named: str) -> None:
    write(tmp_path / "project/.zot/settings.json", content)
    found = load(tmp_path, trust_project=True)
    assert found.wrong and any(named in line for line in found.problems), found.problems
    call = ToolCallBlock("1", "read").with_args({"path": "x"})
    assert RuleMatcher(found, lambda: tmp_path).restriction(call).step == "ask"
