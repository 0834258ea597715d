"""Advice for small models depends only on the transcript and never changes afterwards."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec

from tests.unit.provider.dialects.grammar.test_actions import BUILT_IN
from tests.unit.provider.samples import MODEL, assistant, result, results, user
from zot.local_model.coaching.advice import MOST_STEPS, advise
from zot.provider.dialects.grammar.dialect import GrammarDialect
from zot.provider.dialects.grammar.turn_advice import Advice
from zot.provider.messages import Message, ToolCallBlock
from zot.provider.model_call import Request

DIALECT = GrammarDialect(advise)
PASSES = "OK\n[exit 0]"
FAILS = "FAILED (failures=1)\n[exit 1]"


def step(name: str, said: str = "", *, failed: bool = False, **args: Any) -> tuple[Message, Message]:
    call = ToolCallBlock("c", name, msgspec.json.encode(args).decode())
    return assistant(call), results(result("c", said, is_error=failed))


def request(*steps: tuple[Message, Message], task: str = "Make the tests pass.", system: str = "Be good.") -> Request:
    messages = (user(task), *(message for pair in steps for message in pair))
    return Request(model=MODEL, system=system, messages=messages, tools=tuple(BUILT_IN.values()))


def advice(*steps: tuple[Message, Message], task: str = "Make the tests pass.", system: str = "Be good.") -> Advice:
    return advise(request(*steps, task=task, system=system))


RUN = step("bash", FAILS, failed=True, command="make test")
READ = step("read", "x = 1\ny = 2\n", path="a.py")
EDIT = step("edit", "diff", path="a.py", edits=[{"oldText": "x = 1", "newText": "x = 3"}])


def test_repeated_action_is_reported_and_its_tool_withheld() -> None:
    once, twice = advice(READ), advice(READ, READ)
    assert not once.withheld and once.temperature == 0
    assert twice.withheld == {"read"} and twice.temperature > 0 and "before" in twice.notes[-1]


def test_model_that_keeps_repeating_must_end() -> None:
    assert advice(READ, READ, READ, READ).must_end
    assert "a-read" not in DIALECT.body(request(READ, READ, READ, READ))["grammar"]


def test_read_after_a_change_is_not_a_repetition() -> None:
    assert not advice(READ, EDIT, READ).withheld


def test_failed_command_must_be_fixed_before_end_for_some_turns() -> None:
    other = [step("read", str(i), path=f"{i}.py") for i in range(9)]
    assert not advice(RUN).final and not advice(RUN, *other[:3]).final
    assert advice(RUN, *other).final


def test_failed_command_leads_to_read_change_and_rerun() -> None:
    task = "Look after make test."
    listed = "Files: a.py, test_a.py"
    assert advice(RUN, task=task, system=listed).choices == {"read": {"path": ("a.py",)}}
    assert advice(RUN, READ, task=task, system=listed).only == ("edit", "write")
    changed = advice(RUN, READ, EDIT, task=task, system=listed)
    assert changed.only == ("bash",) and changed.choices == {"bash": {"command": ("make test",)}}
    mended = advice(RUN, READ, EDIT, step("bash", PASSES, command="make test"), task=task, system=listed)
    assert mended.must_end and mended.opening


def test_tests_are_not_changed_unless_the_task_names_them() -> None:
    test = step("read", "assert x == 3\n", path="test_a.py")
    assert list(advice(RUN, READ, test).files) == ["a.py"]
    assert list(advice(RUN, READ, test, task="Look after test_a.py.").files) == ["a.py", "test_a.py"]


def test_a_file_the_task_names_is_read_first() -> None:
    listed = "Be good.\n\nFiles: a.py, data.py, b/c.ini"
    assert advice(task="Change a.py.", system=listed).choices == {"read": {"path": ("a.py",)}}
    assert advice(task="Set x in c.ini to 3.", system=listed).choices == {"read": {"path": ("b/c.ini",)}}
    assert advice(task="Change nothing.", system=listed).only is None


def test_change_task_does_not_end_without_change_for_some_turns() -> None:
    looks = [step("read", str(i), path=f"{i}.py") for i in range(9)]
    assert not advice(task="Set x to 3.").final and not advice(*looks[:2], task="Set x to 3.").final
    assert advice(*looks, task="Set x to 3.").final
    assert advice(task="What is x?").final and advice(looks[0], task="Look at a.").final


def test_change_is_checked_if_the_task_mentions_it() -> None:
    assert not advice(READ, EDIT).final
    assert advice(READ, EDIT, task="Set x to 3.").final
    assert advice(READ, EDIT, step("bash", PASSES, command="make test")).final


def test_turns_are_capped() -> None:
    assert advice(*[step("read", str(i), path=f"{i}.py") for i in range(MOST_STEPS)]).must_end


def test_files_are_known_after_edits() -> None:
    assert advice(READ, EDIT).files == {"a.py": "x = 3\ny = 2\n"}
    written = step("write", "ok", path="b", content="b\n")
    assert list(advice(written, READ).files) == ["b", "a.py"]
    failed = step("edit", "edit: a.py was not changed.", failed=True, path="a.py", edits=[])
    assert advice(READ, failed).files == {}
    cut = step("read", "x\n... [truncated at 2000 lines]\n... [the file has 3000 lines; …]\n", path="c")
    assert advice(cut).files == {}


def test_the_prompt_only_grows() -> None:
    steps = [RUN, READ, READ, EDIT, RUN, step("bash", PASSES, command="make test")]
    prompts = [DIALECT.body(request(*steps[:count]))["messages"] for count in range(len(steps) + 1)]
    for shorter, longer in pairwise(prompts):
        assert longer[: len(shorter)] == shorter


def test_results_are_cut_to_the_window_with_head_and_tail() -> None:
    lines = "".join(f"line {i}\n" for i in range(20_000))
    small = msgspec.structs.replace(request(step("read", lines, path="a")), model=MODEL)
    text = DIALECT.body(small)["messages"][-1]["content"]
    assert len(text) < 8192 and "line 0\n" in text and "line 19999" in text and "left out" in text


def test_a_long_conversation_keeps_the_task_and_the_last_results() -> None:
    steps = [step("read", f"{i} " + "x" * 3000, path=f"{i}.py") for i in range(20)]
    messages = DIALECT.body(request(*steps))["messages"]
    assert messages[1]["content"] == "Make the tests pass."
    assert "left out]" in messages[3]["content"] and messages[-1]["content"].startswith("19 ")
    assert sum(len(message["content"]) for message in messages) < 8192 * 3


def test_advice_without_tools_is_a_plain_conversation() -> None:
    plain = DIALECT.body(Request(model=MODEL, system="S", messages=(user("hi"), assistant("ho"), user("well?"))))
    assert "grammar" not in plain
    assert [message["content"] for message in plain["messages"]] == ["S", "hi", "ho", "well?"]


def test_the_example_shows_only_tools_there_are() -> None:
    whole = request()
    only_bash = msgspec.structs.replace(whole, tools=(BUILT_IN["bash"],))
    with_all, with_one = (DIALECT.body(one)["messages"][0]["content"] for one in (whole, only_bash))
    assert with_all.endswith('you: {"tool": "read", "path": "list.txt"}\n…')
    assert '"read"' not in with_one and '"glob"' not in with_one and "Example" not in with_one


def test_requested_change_is_not_repeated() -> None:
    assert advice(READ, EDIT, task="Set x to 3.").must_end
    listed = "Files: a.py, b.py"
    left = advice(READ, EDIT, task="Set x to 3 in a.py and b.py.", system=listed)
    assert left.choices == {"read": {"path": ("b.py",)}} and not left.final
    several = advice(READ, EDIT, task="Set x to 3 everywhere.")
    assert several.only == ("edit",) and several.final and several.fixed == {"x = 3"}
    assert '"x = 3\\n"' not in DIALECT.body(request(READ, EDIT, task="Set x to 3 everywhere."))["grammar"]


def test_a_command_that_ran_no_tests_has_not_passed() -> None:
    nothing = step("bash", "Ran 0 tests in 0.000s\n\nOK\n[exit 0]", command="make test")
    assert not advice(RUN, READ, EDIT, nothing).must_end and "no tests" in advice(nothing).notes[-1]


def test_a_command_that_does_not_exist_is_not_a_failed_one() -> None:
    unknown = step("bash", "python: command not found\n[exit 127]", failed=True, command="python a.py")
    assert "python3" in advice(unknown).notes[-1] and advice(unknown).only is None
