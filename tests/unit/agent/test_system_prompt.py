"""The system prompt: its parts, their order, and that it stays the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from zot.agent.context_files import ContextFile
from zot.agent.system_prompt import SystemPrompt, load_custom, tool_summary
from zot.frontends import docs_index
from zot.local_model.short_prompt import SmallModelPrompt
from zot.provider.model_call import ToolSpec

CWD = Path("/srv/project")
READ = ToolSpec("read", "Read a file. Also images.", {"type": "object"})
BASH = ToolSpec("bash", "Run a command.", {"type": "object"})
SKILL = ToolSpec("skill", "Load a skill.", {"type": "object"})
TOOLS = (BASH, READ, SKILL)


def prompt(**changes: object) -> SystemPrompt:
    settings: dict[str, object] = {"cwd": CWD, "docs_index": docs_index.index_path(), "date": "2026-02-03"}
    return SystemPrompt(**(settings | changes))  # pyright: ignore[reportArgumentType]  # a keyword table


def full(custom: str | None = None) -> str:
    return prompt(
        custom=custom,
        appends=["FIRST APPEND", "", "  ", "SECOND APPEND"],
        context=[ContextFile(Path("/a/AGENTS.md"), "CONTEXT A"), ContextFile(Path("/b/AGENTS.md"), "CONTEXT B")],
        skills="MANIFEST",
    )(TOOLS)


def in_order(text: str, *words: str) -> bool:
    places = [text.find(word) for word in words]
    return -1 not in places and places == sorted(places)


def test_prompt_parts_are_in_order_with_one_blank_line() -> None:
    """engine-238, iface-010: identity, tools, appended texts, context files, skills and footer follow in this order, a
    blank line apart.
    """
    text = full()
    assert in_order(
        text,
        "expert coding assistant",
        "- bash: Run a command.",
        "FIRST APPEND",
        "SECOND APPEND",
        "# /a/AGENTS.md\n\nCONTEXT A",
        "# /b/AGENTS.md\n\nCONTEXT B",
        "MANIFEST",
        "Current date: ",
    )
    assert "\n\n\n" not in text


def test_the_footer_is_date_and_directory_with_a_final_newline() -> None:
    """engine-240: the prompt ends with the date, the working directory and a newline."""
    assert full().endswith("\n\nCurrent date: 2026-02-03\nCurrent working directory: /srv/project\n")


def test_the_date_is_todays_when_the_session_starts() -> None:
    """engine-240: the date is that of the day the session starts."""
    assert re.search(r"Current date: \d{4}-\d\d-\d\d\n", prompt(date="")(TOOLS))


def test_an_unknown_directory_is_a_dot() -> None:
    assert prompt(cwd=None)(()).endswith("Current working directory: .\n")


@pytest.mark.parametrize("custom", ["You are a poet.", ""])
def test_custom_text_replaces_the_identity_and_nothing_else(custom: str) -> None:
    """engine-250, iface-285: a custom prompt, even an empty one, replaces only the identity."""
    text = full(custom)
    assert text.startswith(custom or "Tools you can call:")
    assert "expert coding assistant" not in text
    assert in_order(text, "- bash: ", "FIRST APPEND", "CONTEXT A", "MANIFEST", "Current date: ")


def test_prompt_without_context_files_omits_their_section() -> None:
    """engine-241, iface-286: what -nc makes of it"""
    assert "AGENTS.md" not in prompt()(TOOLS)


def test_the_summary_has_one_short_line_per_tool_in_name_order() -> None:
    """engine-249: the summary has one short, cleaned line per tool, sorted by name."""
    long = ToolSpec("zz", "word " * 200, {})
    odd = ToolSpec("ext", "Two\nlines\x07 of text", {})
    lines = tool_summary((long, READ, odd, BASH)).splitlines()[1:]
    assert lines[:3] == ["- bash: Run a command.", "- ext: Two lines of text", "- read: Read a file."]
    assert lines[3].endswith("…") and len(lines[3]) < 130


def test_prompt_without_tools_has_no_summary() -> None:
    assert tool_summary(()) == ""
    assert "Tools you can call" not in prompt()(())


def test_prompt_without_skill_tool_has_no_manifest() -> None:
    assert "MANIFEST" not in prompt(skills="MANIFEST")((READ,))


def test_prompt_is_same_object_while_tools_are_equal() -> None:
    """engine-249: while the tools are equal, the prompt is the very same object."""
    build = prompt()
    first = build(TOOLS)
    assert build((BASH, READ, ToolSpec("skill", "Load a skill.", {"type": "object"}))) is first


def test_the_summary_follows_a_tool_that_comes_and_goes() -> None:
    """engine-249: the summary gains and loses a line as a tool comes and goes."""
    build = prompt()
    first = build(TOOLS)
    with_weather = build((*TOOLS, ToolSpec("weather", "Current weather.", {})))
    assert "- weather: Current weather." in with_weather
    assert build(TOOLS) == first


def test_the_identity_names_zot_and_the_docs_index_that_exists() -> None:
    """engine-256: the prompt names an absolute path to the docs index, and that file can be read."""
    text = prompt()(())
    path = re.search(r"read (\S+index\.md)", text)
    assert path is not None and Path(path[1]).is_absolute() and Path(path[1]).read_text("utf-8")
    assert "zero-overhead-tool" in text
    assert "`edit`" in text and "`write`" in text and "markdown" in text


def test_the_flag_beats_the_file_and_the_file_beats_the_default(tmp_path: Path) -> None:
    """engine-239, iface-011: `--system-prompt` wins over SYSTEM.md, and SYSTEM.md over the built-in text."""
    assert load_custom(None, tmp_path).text is None
    (tmp_path / "SYSTEM.md").write_text("\n  from the file \n")
    assert load_custom(None, tmp_path).text == "from the file"
    assert load_custom("from the flag", tmp_path).text == "from the flag"
    assert load_custom("", tmp_path).text == ""


def test_an_empty_or_unreadable_system_md_leaves_the_default(tmp_path: Path) -> None:
    (tmp_path / "SYSTEM.md").write_text(" \n")
    assert load_custom(None, tmp_path).text is None
    (tmp_path / "SYSTEM.md").unlink()
    (tmp_path / "SYSTEM.md").mkdir()
    custom = load_custom(None, tmp_path)
    assert custom.text is None and str(tmp_path / "SYSTEM.md") in custom.problems[0]


def test_small_model_gets_short_prompt_while_active(tmp_path: Path) -> None:
    for name in ("b.py", "a.txt", ".hidden", "__pycache__/x.pyc", "src/c.py", "empty/"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.mkdir() if name.endswith("/") else path.write_text("")
    small = [True]
    context = [ContextFile(Path("/a/AGENTS.md"), "FAR"), ContextFile(Path("/b/AGENTS.md"), "NEAR\n" + "long\n" * 900)]
    made = prompt(cwd=tmp_path, context=context, skills="MANIFEST")
    made.short = SmallModelPrompt(made, lambda: small[0])
    text = made(TOOLS)
    assert text == made(TOOLS) and len(text) < 2000
    assert "Files: a.txt, b.py, src/c.py, empty/" in text or "Files: a.txt, b.py, empty/, src/c.py" in text
    assert "NEAR" in text and "FAR" not in text and "MANIFEST" not in text and "Run a command" not in text
    small[0] = False
    assert "expert coding assistant" in made(TOOLS) and "MANIFEST" in made(TOOLS)
