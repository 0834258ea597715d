"""issue 34: prompts, tools, approvals, questions and plans on the page."""

from __future__ import annotations

from pathlib import Path

from tests.browser.conftest import DONE, Serve
from tests.browser.user import User

TOUCH = {"text": "I touch it.", "tool_calls": [{"name": "bash", "args": {"command": "touch touched; echo was here"}}]}
MARKDOWN = "# Title\n\nSome **bold** words.\n\n```python\ndef total(x):\n    return x\n```\n\n- one\n- two\n"


def test_turn_with_tools_shows_text_output_and_diff(user: User, serve: Serve, project: Path) -> None:
    (project / "app.py").write_text("total = 1\n")
    edit = {"path": "app.py", "edits": [{"oldText": "total = 1", "newText": "total = 2"}]}
    turns = [
        {"thinking": "First I look.", "text": "I look.", "tool_calls": [{"name": "read", "args": {"path": "app.py"}}]},
        {"text": "I change it.", "tool_calls": [{"name": "edit", "args": edit}]},
        {"text": MARKDOWN},
    ]
    user.start(serve(turns=turns))
    user.prompt("change the total")
    user.is_done()
    user.sees(".entry.user", "change the total")
    user.sees(".markdown h3", "Title")
    user.sees(".code .hl-keyword", "def")
    user.sees("tr.remove", "total = 1")
    user.sees("tr.add", "total = 2")
    user.click(".tool .fold-head", "app.py")
    user.sees(".tool .output", "total = 1")
    user.click(".thinking .fold-head")
    user.sees(".thinking .fold-body", "First I look.")
    assert (project / "app.py").read_text() == "total = 2\n"


def test_approval_shows_exact_call_and_allows_it(user: User, serve: Serve, project: Path) -> None:
    user.start(serve("--permission-mode", "ask", turns=[TOUCH, DONE]))
    user.prompt("go")
    user.sees(".request .exact", "touch touched; echo was here")
    user.until("document.title.startsWith('(1)')")
    assert not (project / "touched").exists()
    user.click(".request button", "Allow once")
    user.is_done()
    user.sees_no(".request")
    assert (project / "touched").exists()
    user.until("!document.title.startsWith('(')")


def test_denial_sends_its_reason_to_the_model(user: User, serve: Serve, project: Path) -> None:
    user.start(serve("--permission-mode", "ask", turns=[TOUCH, DONE]))
    user.prompt("go")
    user.click(".request button", "Deny")
    user.fill(".deny input", "not in this directory")
    user.press("Enter")
    user.is_done()
    user.click(".tool .fold-head")
    user.sees(".tool .output", "not in this directory")
    assert not (project / "touched").exists()


def test_question_is_answered_by_option_and_words(user: User, serve: Serve) -> None:
    questions = [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [{"label": "red", "description": "like fire"}, {"label": "blue", "description": "like the sea"}],
        },
        {"question": "Which name?", "header": "Name", "options": [{"label": "A"}, {"label": "B"}]},
    ]
    ask = {"text": "I ask.", "tool_calls": [{"name": "ask_user", "args": {"questions": questions}}]}
    user.start(serve("--tools", "read,ask_user", turns=[ask, DONE]))
    user.prompt("go")
    user.sees(".request legend", "Which colour?")
    user.click(".request .option", "blue")
    user.fill(".question + .question .own input", "Zora")
    user.click(".request button", "Answer")
    user.is_done()
    user.click(".tool .fold-head")
    user.sees(".tool .view", "blue")
    user.sees(".tool .view", "Zora")


def test_plan_is_refused_then_approved_with_a_mode(user: User, serve: Serve) -> None:
    def plan(text: str) -> dict[str, object]:
        return {"text": "A plan.", "tool_calls": [{"name": "present_plan", "args": {"plan": text}}]}

    flags = ("--permission-mode", "plan", "--permission-limit", "everything")
    user.start(serve(*flags, turns=[plan("# One"), plan("# Two"), DONE]))
    user.prompt("plan it")
    user.sees(".plan h3", "One")
    user.click(".request button", "Keep planning")
    user.fill(".deny input", "shorter")
    user.press("Enter")
    user.sees(".plan h3", "Two")
    user.choose(".plan-options select", "accept-edits")
    user.click(".request button", "Approve")
    user.is_done()
    user.until("document.querySelector('#mode').value === 'accept-edits'")


def test_live_output_and_stop(user: User, serve: Serve) -> None:
    loop = {"text": "", "tool_calls": [{"name": "bash", "args": {"command": "echo first; sleep 30; echo last"}}]}
    user.start(serve(turns=[loop, DONE]))
    user.prompt("go")
    user.sees(".tool .tail", "first")
    user.click("#stop")
    user.is_done()
    user.sees_no(".tool .tail")
    user.sees(".tool.failed")


def test_todo_list_is_shown(user: User, serve: Serve) -> None:
    items = [{"text": "read it", "status": "done"}, {"text": "change it", "status": "in_progress"}]
    turn = {"text": "Steps.", "tool_calls": [{"name": "todo", "args": {"items": items}}]}
    user.start(serve("--tools", "read,todo", turns=[turn, DONE]))
    user.prompt("go")
    user.sees(".todos", "Steps 1 of 2")
    user.sees(".todos .in_progress", "change it")
