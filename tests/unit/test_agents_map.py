"""AGENTS.md tells where things are, and it is true: every path in its tables exists, every name is in one of its files.

A path is written from the root, from ``src/zot``, or as a neighbour of the path before it in the same cell;
``<placeholders>`` and ``*`` stand for anything. A name is to be found in a file of its cell.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATH = re.compile(r"(?!/)[\w.<>*-]*(/|\.(py|md|json|ts|toml))[\w.<>*/-]*")
NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)?")


def rows() -> list[tuple[str, list[str]]]:
    """Of each row of each table: what one wants, and the code spans of where to look."""
    lines = re.findall(r"^\|([^|\n]+)\|([^|\n]+)\|$", (ROOT / "AGENTS.md").read_text("utf-8"), re.MULTILINE)
    return [(wanted.strip(), re.findall(r"`([^`]+)`", where)) for wanted, where in lines]


def found(path: str, beside: Path | None) -> list[Path]:
    places = [*([beside if beside.is_dir() else beside.parent] if beside else []), ROOT, ROOT / "src" / "zot"]
    pattern = re.sub(r"<[^>]+>", "*", path).rstrip("/")
    return [hit for place in places for hit in place.glob(pattern)]


def faults(wanted: str, spans: list[str]) -> list[str]:
    hits: list[Path] = []
    wrong: list[str] = []
    for span in filter(PATH.fullmatch, spans):
        here = found(span, hits[-1] if hits else None)
        hits += here[:1]
        wrong += [] if here else [f"{wanted}: {span} does not exist"]
    text = "\n".join(hit.read_text("utf-8") for hit in hits if hit.is_file())
    names = [span for span in spans if NAME.fullmatch(span) and not PATH.fullmatch(span)]
    return wrong + [f"{wanted}: {name} is in none of its files" for name in names if name.split(".")[-1] not in text]


def test_the_map_names_only_what_exists() -> None:
    assert len(rows()) > 30
    assert [fault for wanted, spans in rows() for fault in faults(wanted, spans)] == []


def test_a_path_or_a_name_that_is_gone_is_found() -> None:
    assert faults("x", ["ZotError", "src/zot/errors.py", "nowhere.py", "NoSuchError"]) == [
        "x: nowhere.py does not exist",
        "x: NoSuchError is in none of its files",
    ]


def test_the_straight_lines_of_a_prompt_and_an_intercepted_call_are_short_and_true() -> None:
    """``docs/concepts/how-a-prompt-travels.md`` numbers the files of each, one table after the other."""
    page = (ROOT / "docs/concepts/how-a-prompt-travels.md").read_text("utf-8")
    lines = [(int(number), file) for number, file in re.findall(r"^\| (\d+) \| `([\w/.]+)` \|", page, re.MULTILINE)]
    prompt, call = lines[: (second := lines.index((1, "core/tool_batch.py")))], lines[second:]
    for line, most in ((prompt, 15), (call, 12)):
        assert [number for number, _ in line] == list(range(1, len(line) + 1)) and len(line) <= most
        assert [file for _, file in line if not (ROOT / "src/zot" / file).is_file()] == []


def test_every_file_the_page_about_a_prompt_names_exists() -> None:
    page = (ROOT / "docs/concepts/how-a-prompt-travels.md").read_text("utf-8")
    named = set(re.findall(r"(?<![\w/])((?:[\w]+/)*\w+\.py)\b", page))
    assert len(named) > 25
    everywhere = {str(path.relative_to(ROOT / "src/zot")) for path in (ROOT / "src/zot").rglob("*.py")}
    assert {file for file in named if not any(f"/{path}".endswith(f"/{file}") for path in everywhere)} == set()
