"""Every grammar zot creates is valid for llama.cpp and accepts exactly what the decoder reads."""

from __future__ import annotations

import pytest

from tests.unit.local_model.coaching.test_advice import request, step
from tests.unit.provider.dialects.grammar.gbnf_reader import BadGrammar, Gbnf
from tests.unit.provider.dialects.grammar.test_actions import BUILT_IN
from zot.local_model.coaching.advice import advise
from zot.local_model.coaching.prompts import for_answer, for_command, for_file, for_report
from zot.provider.dialects.grammar.action_grammar import action_grammar
from zot.provider.dialects.grammar.dialect import GrammarDialect
from zot.provider.dialects.grammar.turn_advice import FreshPrompt
from zot.provider.model_call import ToolSpec

DIALECT = GrammarDialect(advise)
NASTY = 'é"\\`[]^-{}\t\x01\x7f\u2028😀'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "root = x",
        'root ::= "a',
        "root ::= other",
        'root ::= ("a"',
        'root ::= "a")',
        'root ::= "\\q"',
        "root ::= *",
        'root ::= root "a"',
        'root ::= a\na ::= ("x"? root)',
        'root ::= "a"\nroot ::= "b"',
        'root ::= "a"{0,9999}',
    ],
)
def test_the_reader_is_strict(text: str) -> None:
    with pytest.raises(BadGrammar):
        Gbnf(text)


def test_reader_accepts_what_grammar_accepts() -> None:
    grammar = Gbnf('root ::= "a" ([b-d\\]] | x){1,2} "\\n"?\nx ::= [^a-z\\x00]')
    assert all(grammar.accepts(text) for text in ("ab", "a]", "ab7", "ad\n"))
    assert not any(grammar.accepts(text) for text in ("a", "ae", "abbb", "a\x00", "ab\n\n\n"))


def test_actions_of_all_tools_with_names_and_values_of_any_kind() -> None:
    odd = ToolSpec(
        NASTY, NASTY, {"type": "object", "properties": {NASTY: {"enum": [NASTY, 1, None]}}, "required": [NASTY]}
    )
    grammar = Gbnf(
        action_grammar(
            (*BUILT_IN.values(), odd),
            final=True,
            files={NASTY: f"x = 1\n{NASTY}\n"},
            choices={"read": {"path": [NASTY]}},
        )
    )
    assert grammar.accepts('{"tool": "final", "answer": "All is \\"well\\"."}')
    assert grammar.accepts('{"tool": "bash", "command": "ls"}')
    assert grammar.accepts('{"tool": "write", "path": "a"}\n```python\nx = 1\n\n```')
    assert not grammar.accepts('{"tool": "read", "path": "other"}')
    assert not grammar.accepts('{"tool": "final", "answer": "{"}') and not grammar.accepts("Hello")


BLOCK = "```python\nx = 2\n\ny = `a`\n```"


@pytest.mark.parametrize(
    ("ask", "good", "bad"),
    [
        (
            for_answer("Why?", {"a": "b"}),
            ["Because.", "Since: `a`\nand `b`"],
            ["```\nx\n```", '{"a"', " so", "x" * 700],
        ),
        (for_file("Set x.", "a.py", {"a.py": "x = 1\n"}), [BLOCK, "```python\n```"], [f"Sure!\n{BLOCK}", BLOCK[:-1]]),
        (
            for_file("Set x.", "a.py", {}, opening="The mistake is "),
            [f"The mistake is that x is 1.\n\n{BLOCK}"],
            [BLOCK],
        ),
        (for_file("Write it.", "a.md", {}), ["# A\n\n```sh\nls\n```\n\nB"], ["```markdown\n# A\n```"]),
        (
            for_command("List.", "a.py", {}),
            ["```bash\nls -l | wc\n```"],
            ["```bash\n# ls\n```", "```bash\nls\nls\n```"],
        ),
        (for_report("Set x.", "Done.", "I changed "), ["I changed x."], ["x was changed."]),
    ],
)
def test_fresh_prompts(ask: FreshPrompt, good: list[str], bad: list[str]) -> None:
    grammar = Gbnf(ask.grammar())
    assert [text for text in good if not grammar.accepts(text)] == []
    assert [text for text in bad if grammar.accepts(text)] == []


def test_grammar_output_equals_call_arguments() -> None:
    file, thought = for_file("t", "a.py", {}), for_file("t", "a.py", {}, opening="It is ")
    assert file.call_args(BLOCK) == {"path": "a.py", "content": "x = 2\n\ny = `a`\n"}
    assert thought.call_args(f"It is so.\n\n{BLOCK}") == file.call_args(BLOCK)
    assert file.call_args("```python\n```") == {"path": "a.py", "content": ""}
    assert file.call_args("```python\nx = 2\n") == {} == file.call_args("no block at all")
    assert for_file("t", "a.md", {}).call_args("# A\n```\nls\n```") == {
        "path": "a.md",
        "content": "# A\n```\nls\n```\n",
    }
    assert for_command("t", "", {}).call_args("```bash\nls -l\n```") == {"command": "ls -l"}


@pytest.mark.parametrize("task", ["Fix a.py.", "What is x?", "Where is the_word?", "How many files?", "Go on.", NASTY])
@pytest.mark.parametrize("files", ["", "\n\nFiles: a.py, test_a.py", f"\n\nFiles: {NASTY}"])
def test_every_turn_of_a_conversation(task: str, files: str) -> None:
    steps = [
        step("read", f"x = 1\n{NASTY}\n", path="a.py"),
        step("bash", "E\n[exit 1]", failed=True, command="python3 -m unittest"),
        step("write", "ok", path="a.py", content="x = 2\n"),
        step("grep", "a.py:1:x\n", pattern="the_word"),
        step("edit", "are the same", failed=True, path="a.py", edits=[]),
    ]
    for count in range(len(steps) + 1):
        Gbnf(DIALECT.body(request(*steps[:count], task=task, system=f"Be good.{files}"))["grammar"])
