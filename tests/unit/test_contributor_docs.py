"""AGENTS.md, the READMEs of packages and the architecture page name only what exists.

A path is written from the root, from ``src/zot``, from the package of a README, or as a neighbour of the path before it
in the same line; ``<placeholders>`` stand for anything. A name must occur in a file of its line.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "zot"
ARCHITECTURE = ROOT / "docs/concepts/architecture.md"
PATH = re.compile(r"(?![/-])[\w.<>/-]*(/|\.(py|md|json|toml))")
NAME = re.compile(r"[A-Za-z_]\w*")
NOT_IN_ZOT = {  # files of users, and names that are no code of the line's files
    "config.json", "auth.json", "hooks.json", "plugin.json", "supervisor.json", "commands/name.md",
    ".claude/settings.json",
    "cli", "devkit", "sdk", "swarm", "local_model", "features", "agent", "wire", "core", "provider", "system", "tui",
    "client", "ext", "frontends", "http", "dialects", "skill", "conversation.py", "build.py", "race",
    "dev", "new", "trace",
}  # fmt: skip
WITH_README = (
    *("agent", "cli", "client", "core", "devkit", "ext", "features", "frontends", "local_model", "provider", "sdk"),
    *("swarm", "system", "system/jail", "tui", "wire", "provider/auth", "provider/dialects", "provider/http"),
    *("swarm/engines", "swarm/fanout", "swarm/git", "swarm/supervisor"),
    *("frontends/acp", "frontends/headless", "frontends/mcp_server", "frontends/rpc", "frontends/serve"),
    "frontends/terminal",
    *(f"features/{path.parent.name}" for path in sorted(SOURCE.glob("features/*/__init__.py"))),
)


def packages() -> set[str]:
    return {str(path.parent.relative_to(SOURCE)) for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE}


def find(path: str, places: list[Path]) -> list[Path]:
    pattern = re.sub(r"<[^>]+>", "*", path).rstrip("/")
    return [hit for place in places for hit in place.glob(pattern)]


def faults(line: str, base: Path = SOURCE, *, names: bool = False) -> list[str]:
    """Paths of this line that do not exist, and with ``names`` the names that are in none of its files."""
    spans = [span for span in re.findall(r"`([^`]+)`", line) if span not in NOT_IN_ZOT]
    hits: list[Path] = []
    wrong: list[str] = []
    for span in filter(PATH.fullmatch, spans):
        beside = [hits[-1] if hits[-1].is_dir() else hits[-1].parent] if hits else []
        found = find(span, [*beside, base, ROOT, SOURCE])
        hits += found[:1]
        wrong += [] if found else [f"{span} does not exist: {line}"]
    if names:
        text = "\n".join(hit.read_text("utf-8") for hit in hits if hit.is_file())
        called = [span for span in spans if NAME.fullmatch(span)]
        wrong += [f"{name} is in none of its files: {line}" for name in called if hits and name not in text]
    return wrong


def test_agents_map_names_existing_paths() -> None:
    text = (ROOT / "AGENTS.md").read_text("utf-8")
    rows = re.findall(r"^\|[^|\n]+\|([^|\n]+)\|$", text, re.MULTILINE)
    rest = [line for line in text.splitlines() if not line.startswith("|")]
    assert len(rows) >= 16
    assert [fault for row in rows for fault in faults(row, names=True)] == []
    assert [fault for line in rest for fault in faults(line)] == []


def test_agents_map_fits_two_screens() -> None:
    assert len((ROOT / "AGENTS.md").read_text("utf-8").splitlines()) <= 120


def test_agents_tree_lists_exactly_the_packages() -> None:
    """A line is a package; names that end with a slash in its text are packages below it."""
    tree = (ROOT / "AGENTS.md").read_text("utf-8").split("src/zot/\n")[1].split("```")[0]
    listed: list[str] = []
    top = ""
    for line in tree.splitlines():
        indent, name, text = re.fullmatch(r"( +)(\w+)/ +(.+)", line).groups()  # type: ignore[union-attr]
        package = f"{top}/{name}" if len(indent) == 4 else name
        top = top if len(indent) == 4 else name
        listed += [package, *(f"{package}/{below}" for below in re.findall(r"((?:\w+/)*\w+)/(?!\w)", text))]
    assert sorted(listed) == sorted(packages())


def test_agents_map_makes_only_targets_that_exist() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = re.findall(r"`make ([a-z-]+)`", (ROOT / "AGENTS.md").read_text("utf-8"))
    assert len(named) > 5 and set(named) <= set(targets)


@pytest.mark.parametrize("package", WITH_README)
def test_package_readme_is_short_and_true(package: str) -> None:
    lines = (SOURCE / package / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 15 and lines[0] == f"# zot.{package.replace('/', '.')}"
    assert [fault for line in lines for fault in faults(line, SOURCE / package)] == []


def test_no_readme_without_a_package_that_needs_one() -> None:
    written = {str(path.parent.relative_to(SOURCE)) for path in SOURCE.rglob("README.md")}
    assert {path for path in written if not path.startswith("devkit/starters/")} == set(WITH_README)


def test_architecture_names_existing_paths() -> None:
    text = ARCHITECTURE.read_text("utf-8")
    assert [fault for line in text.splitlines() for fault in faults(line)] == []
    drawn = re.findall(r"[\w]+(?:/\w+)+\.py", text.split("```")[1])
    assert drawn and [path for path in drawn if not (SOURCE / path).is_file()] == []


def test_architecture_tables_are_numbered_and_short() -> None:
    rows = re.findall(r"^\| (\d+) \| `([\w/.]+)` \|", ARCHITECTURE.read_text("utf-8"), re.MULTILINE)
    starts = [place for place, (number, _) in enumerate(rows) if number == "1"]
    tables = [rows[begin:end] for begin, end in zip(starts, [*starts[1:], len(rows)], strict=True)]
    assert len(tables) == 4
    for table in tables:
        assert [int(number) for number, _ in table] == list(range(1, len(table) + 1)) and len(table) <= 15
        assert [file for _, file in table if not (SOURCE / file).is_file()] == []


def test_missing_path_and_name_are_reported() -> None:
    line = "`errors.py`, `ZotError`, `nowhere.py`, `NoSuchError`"
    assert faults(line, names=True) == [
        f"nowhere.py does not exist: {line}",
        f"NoSuchError is in none of its files: {line}",
    ]
