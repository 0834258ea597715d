"""The next step of a coached task, from the first turn to the last."""

from __future__ import annotations

import pytest

from tests.unit.local_model.coaching.test_advice import request, step
from tests.unit.provider.dialects.grammar.test_actions import BUILT_IN
from tests.unit.provider.samples import assistant, user
from zot.local_model.coaching.advice import advise
from zot.local_model.coaching.next_step import MOST_TRIES
from zot.provider.dialects.grammar.dialect import GrammarDialect
from zot.provider.dialects.grammar.turn_advice import Advice, FreshPrompt
from zot.provider.messages import Message
from zot.provider.model_call import Request, ToolSpec

DIALECT = GrammarDialect(advise)
TEST = "import unittest\nfrom a import x\n"
FAILS = "FAIL: test_x\nAssertionError: 1 != 3\n\n[exit 1]  Took 0.1s"
PASSES = "OK\n\n[exit 0]  Took 0.1s"
CODE = step("read", "x = 1\n", path="a.py")
TESTS = step("read", TEST, path="test_a.py")
RUN = step("bash", FAILS, failed=True, command="python3 -m unittest")
Steps = tuple[Message, Message]


def turn(task: str, *steps: Steps, files: str = "a.py, test_a.py") -> Advice:
    return advise(request(*steps, task=task, system=f"Be good.\n\nFiles: {files}"))


def fresh(task: str, *steps: Steps, files: str = "a.py, test_a.py") -> FreshPrompt:
    advice = turn(task, *steps, files=files)
    assert advice.prompt is not None and advice.only is None, advice
    return advice.prompt


def settled(task: str, *steps: Steps, files: str = "a.py, test_a.py") -> dict[str, dict[str, tuple[str, ...]]]:
    advice = turn(task, *steps, files=files)
    assert advice.only is not None and not advice.final
    return advice.choices


def write(content: str, path: str = "a.py") -> Steps:
    return step("write", "overwrote it", path=path, content=content)


# --- questions


def test_question_about_a_file_reads_only_that_file() -> None:
    task = "What is x in a.py?"
    assert settled(task) == {"read": {"path": ("a.py",)}}
    ask = fresh(task, CODE)
    assert not ask.tool and ask.said == "a.py:\n```\nx = 1\n```\n\nWhat is x in a.py?"


def test_words_found_in_files_are_searched() -> None:
    task = "Where is send_mail defined?"
    assert settled(task) == {"grep": {"pattern": ("send_mail",)}}
    found = step("grep", "a.py:3:def send_mail():\n", pattern="send_mail")
    assert "a.py:3:def send_mail():" in fresh(task, found).said
    quoted = 'Users see "no room (left)". Which file is it from?'
    assert settled(quoted) == {"grep": {"pattern": (r"no room \(left\)",)}}
    assert settled("Why does send_mail fail?", found) == {"read": {"path": ("a.py",)}}


def test_small_project_is_read_likely_files_first() -> None:
    files = "main.py, SECURITY.md"
    task = "Who do I tell about a security problem?"
    assert settled(task, files=files) == {"read": {"path": ("SECURITY.md",)}}
    both = (step("read", "Tell Ada.\n", path="SECURITY.md"), step("read", "x\n", path="main.py"))
    assert "Tell Ada." in fresh(task, *both, files=files).said
    assert turn(task, files="src/, main.py").prompt is None  # nobody knows what else there is


def test_the_lines_a_question_is_about_are_shown_again() -> None:
    table = "order,customer\n" + "".join(f"{number},Customer {number}\n" for number in range(100, 140))
    said = fresh("Who placed order 123?", step("read", table, path="orders.csv"), files="orders.csv").said
    _, _, quoted = said.partition("The lines that matter most:")
    assert "123,Customer 123" in quoted and "110" not in quoted


# --- commands


def test_requested_command_is_run_and_reported() -> None:
    assert settled("Run a.py and tell me what it prints.") == {"bash": {"command": ("python3 a.py",)}}
    assert settled("Run the tests (python3 -m unittest), please. Do they pass?") == {
        "bash": {"command": ("python3 -m unittest",)}
    }
    ran = step("bash", "$ python3 a.py\n\n42\n\n[exit 3]  Took 0.1s", failed=True, command="python3 a.py")
    said = fresh("Run a.py and tell me what it prints.", ran).said
    assert "42\n(exit code 3)" in said and "Took" not in said


@pytest.mark.parametrize(
    ("task", "command"),
    [
        ("Run them with python3 -m unittest, find the mistake and tell me.", "python3 -m unittest"),
        ("Run `make check -j 2`, and say what it prints.", "make check -j 2"),
        ("What does python3 a.py --low print?", "python3 a.py --low"),
        ("Do the tests pass when you run npm test.", "npm test"),
    ],
)
def test_command_ends_before_rest_of_sentence(task: str, command: str) -> None:
    assert settled(task) == {"bash": {"command": (command,)}}


def test_counting_question_uses_a_model_command() -> None:
    ask = fresh("How many lines do the Python files have?")
    assert (ask.tool, ask.into) == ("bash", "command") and "Files: a.py, test_a.py" in ask.said
    nothing = step("bash", "$ true\n\n[exit 0]  Took 0.0s", command="true")
    again = fresh("How many lines do the Python files have?", nothing)
    assert again.tool == "bash" and again.temperature > 0
    counted = step("bash", "$ wc\n\n12\n\n[exit 0]  Took 0.0s", command="cat *.py | wc -l")
    assert "12" in fresh("How many lines do the Python files have?", counted).said
    assert settled("How many seconds does a.py wait?") == {"read": {"path": ("a.py",)}}


def test_files_are_moved_by_a_command() -> None:
    assert fresh("Move all .log files into old.", files="a.log").tool == "bash"
    assert fresh("Save what `python3 a.py` prints into b.txt.").tool == "bash"
    assert settled("Rename the function calc in a.py to total.") == {"read": {"path": ("a.py",)}}


# --- changes


def test_a_file_the_task_names_is_read_and_written_whole() -> None:
    ask = fresh("Set x in a.py to 3.", CODE)
    assert (ask.tool, ask.args, ask.into) == ("write", {"path": "a.py"}, "content")
    assert ask.said.startswith("a.py:\n```\nx = 1\n```\n\nSet x in a.py to 3.")
    done = fresh("Set x in a.py to 3.", CODE, write("x = 3\n"))
    assert not done.tool and done.opening == "I changed " and "+x = 3" in done.said


def test_unchanged_copy_is_retried_warmer_with_thinking() -> None:
    again = fresh("Set x in a.py to 3.", CODE, write("x = 1\n\n"))
    assert again.tool == "write" and again.temperature > 0 and again.opening
    given_up = fresh("Set x in a.py to 3.", CODE, *[write("x = 1\n")] * 4)
    assert not given_up.tool and given_up.opening.startswith("It is not done")


def test_invalid_program_or_missing_name_is_written_again() -> None:
    assert fresh("Set x in a.py to 3.", CODE, write("x = = 3\n")).tool == "write"
    assert fresh('Set x in a.py to "three".', CODE, write("x = 3\n")).tool == "write"
    assert not fresh('Set x in a.py to "three".', CODE, write('x = "three"\n')).tool


def test_each_file_the_task_names_is_changed() -> None:
    task = "Raise the limit to 25 in a.py and docs/b.md."
    read = (CODE, step("read", "10\n", path="docs/b.md"))
    first = fresh(task, *read, files="a.py, docs/b.md")
    second = fresh(task, *read, write("x = 25\n"), files="a.py, docs/b.md")
    assert (first.args, second.args) == ({"path": "a.py"}, {"path": "docs/b.md"})


def test_fix_is_tested_first_and_after_each_change() -> None:
    task = "The tests fail. Fix the code."
    check = {"bash": {"command": ("python3 -m unittest",)}}
    assert settled(task) == {"read": {"path": ("test_a.py",)}}
    assert settled(task, TESTS) == check
    assert settled(task, TESTS, RUN) == {"read": {"path": ("a.py",)}}
    by_line = turn(task, TESTS, RUN, CODE)
    assert by_line.only == ("edit",) and by_line.prompt is None and by_line.files == {"a.py": "x = 1\n"}
    edit = step("edit", "diff", path="a.py", edits=[{"oldText": "x = 1", "newText": "x = 2"}])
    assert settled(task, TESTS, RUN, CODE, edit) == check
    ask = fresh(task, TESTS, RUN, CODE, edit, RUN)
    assert ask.args == {"path": "a.py"} and "AssertionError: 1 != 3" in ask.said and TEST in ask.said
    assert "x = 1\n" in ask.said and "x = 2\n" not in ask.said  # from what it was at first
    assert settled(task, TESTS, RUN, CODE, edit, RUN, write("x = 4\n")) == check
    passes = step("bash", PASSES, command="python3 -m unittest")
    done = fresh(task, TESTS, RUN, CODE, edit, RUN, write("x = 3\n"), passes)
    assert done.opening == "I changed " and "succeeds now" in done.said


def test_model_that_cannot_fix_it_reports_failure() -> None:
    tries = [one for number in range(MOST_TRIES) for one in (write(f"x = {number + 10}\n"), RUN)]
    end = fresh("The tests fail. Fix the code.", CODE, TESTS, RUN, *tries)
    assert not end.tool and end.opening.startswith("It is not done") and "still fails" in end.said


def test_tests_are_never_changed_as_a_fix() -> None:
    first = turn("test_a.py fails. Please fix a.py.", TESTS, RUN, CODE)
    assert list(first.files) == ["a.py"]
    assert fresh("test_a.py fails. Please fix a.py.", TESTS, RUN, CODE, write("x = 2\n"), RUN).args == {"path": "a.py"}


def absent(path: str) -> Steps:
    return step("read", f"read: {path}: no such file", failed=True, path=path)


def test_a_new_file_is_written_and_run_where_it_prints_something() -> None:
    task = "Write b.py, a script that prints the sum of sales.csv."
    read = (step("read", "day,amount\n", path="sales.csv"), absent("b.py"))
    assert settled(task, files="sales.csv") == {"read": {"path": ("sales.csv",)}}
    assert fresh(task, *read, files="sales.csv").args == {"path": "b.py"}
    assert settled(task, *read, write("print(1)\n", "b.py"), files="sales.csv") == {
        "bash": {"command": ("python3 b.py",)}
    }


def test_unread_files_are_not_written() -> None:
    """Hidden files, and most of a large project, are not in the list."""
    task = "Create a .gitignore for __pycache__."
    assert settled(task) == {"read": {"path": (".gitignore",)}}
    assert fresh(task, absent(".gitignore")).args == {"path": ".gitignore"}
    kept = fresh(task, step("read", "*.log\n", path=".gitignore"))
    assert kept.args == {"path": ".gitignore"} and "*.log" in kept.said
    cut = step("read", "x\n... [truncated at 2000 lines]\n... [the file has 3000 lines; …]\n", path=".gitignore")
    assert turn(task, cut).prompt is None
    empty = step("read", "[the file is empty]\n", path=".gitignore")
    assert fresh(task, empty).tool == "write"


def test_large_file_is_left_to_model_edits() -> None:
    large = step("read", "x = 1\n" * 500, path="a.py")
    advice = turn("Set x in a.py to 3.", large)
    assert advice.prompt is None and "edit" in DIALECT.body(request(large, task="Set x in a.py to 3."))["grammar"]


# --- what holds for all of them


def test_other_tools_are_not_skipped() -> None:
    weather = ToolSpec("weather", "The weather", {"type": "object", "properties": {}})
    asked = Request(
        model=request().model,
        system="Files: a.py",
        messages=(user("What is the weather?"),),
        tools=(*BUILT_IN.values(), weather),
    )
    assert advise(asked).prompt is None and "a-weather" in DIALECT.body(asked)["grammar"]


def test_fresh_prompt_has_instructions_and_earlier_messages() -> None:
    prompt = request(CODE, task="And what is x in a.py?", system="Be good.\n\nAnswer in rhymes.\n\nFiles: a.py")
    earlier = (user("What is y?"), assistant("It is 2."))
    followed = Request(
        model=prompt.model, system=prompt.system, messages=(*earlier, *prompt.messages), tools=prompt.tools
    )
    system, *before, asked = DIALECT.body(followed)["messages"]
    assert "Answer in rhymes." in system["content"] and "Files:" not in system["content"]
    assert [said["content"] for said in before] == ["What is y?", "It is 2."] and "x = 1" in asked["content"]


def test_user_denial_is_not_asked_forever() -> None:
    refused = step("write", "the user refused", failed=True, path="a.py", content="x = 3\n")
    assert turn("Set x in a.py to 3.", CODE, refused, refused).prompt is None


@pytest.mark.parametrize("task", ["", "hello", "Grüß mich", "x" * 5000, "`" * 200, "?" * 3000, "a/" * 2000])
def test_vague_prompt_is_left_to_the_model(task: str) -> None:
    assert turn(task, files="src/, …").prompt is None
