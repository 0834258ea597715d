"""Text for a user's decision is shown only through ``decision_text``. The test reads the source: modules that ask must
be listed here, and may neither import modules that drop characters nor print directly.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import zot

SOURCE = Path(zot.__file__).parent
DROPPING = ("zot.tui.sanitize", "zot.frontends.terminal.screen.tool_output")
DECIDING = {
    "cli/verbs/ext/remove.py",
    "cli/verbs/ext/trust.py",
    "cli/verbs/ext/update.py",
    "features/extensions/install/installed.py",
    "cli/verbs/plugin.py",
    "cli/verbs/sessions_rewind.py",
    "cli/verbs/sessions.py",
    "frontends/terminal/commands/sessions.py",
    "frontends/terminal/commands/swarm.py",
    "frontends/terminal/dialogs/call_details.py",
    "frontends/terminal/dialogs/confirm.py",
    "frontends/terminal/dialogs/text_dialogs.py",
    "frontends/terminal/question_host.py",
    "frontends/terminal/trust_dialogs.py",
    "core/permission_gate.py",
}
NOT_A_DECISION = {
    "cli/output.py": "the door itself",
    "cli/verbs/ext/settings.py": "reads a secret that the user sets",
    "cli/verbs/auth_login.py": "reads the method of a login: our own words",
    "devkit/cli/replay.py": "reads enter, for the next step",
    "devkit/cli/ext_dev.py": "reads frames that are typed",
    "devkit/trace_reader.py": "reads frames that are typed",
    "frontends/terminal/commands/login.py": "our own words, and a name of the user's own models.json",
    "frontends/terminal/commands/model.py": "our own words, and a model the user typed",
    "frontends/terminal/dialogs/picker.py": "where YesNo is made",
    "frontends/terminal/startup_questions.py": "our own words and a size",
    "frontends/terminal/dumb_terminal.py": "reads prompts",
}
ASKING = {"YesNo", "ConfirmDialog", "TrustDialog", "Evidence", "ask", "input"}
# Fixed words, a table that was spelled cell by cell, bytes of a file of ours: module and function.
PRINTING = {
    ("cli/verbs/completions.py", "_answer"): "words without anything hidden, remarks spelled out",
    ("cli/verbs/doctor.py", "run"): "JSON in ASCII",
    ("cli/main.py", "_helped"): "our own words",
    ("cli/verbs/ext/dispatch.py", "run"): "our own words",
    ("cli/verbs/docs.py", "_show"): "pages of this package",
    ("cli/help.py", "write_help"): "our own words",
    ("devkit/cli/ext_check.py", "_print"): "JSON, and lines made safe one by one",
    ("features/extensions/install/copy_tree.py", "_Progress"): "numbers",
    ("devkit/cli/ext_dev.py", "_print_line"): "lines made safe one by one",
    ("cli/verbs/ext/list.py", "run"): "JSON in ASCII",
    ("cli/verbs/ext/logs.py", "_write"): "a log, cleaned as a stream on a terminal",
    ("devkit/cli/ext_replay.py", "run"): "lines made safe one by one",
    ("devkit/cli/ext_trace.py", "_write"): "JSON, and lines made safe one by one",
    ("devkit/cli/replay.py", "_verify"): "lines made safe one by one",
    ("cli/verbs/models.py", "print_table"): "a table made safe line by line, and what the user typed, quoted",
    ("cli/verbs/models_catalog.py", "_write"): "JSON in ASCII",
    ("cli/list_models.py", "run"): "a table made safe cell by cell",
}


@cache
def sources() -> dict[str, str]:
    tops = ("agent", "cli", "core", "devkit", "features", "frontends", "local_model", "swarm")
    paths = sorted(path for top in tops for path in (SOURCE / top).rglob("*.py"))
    return {str(path.relative_to(SOURCE)): path.read_text("utf-8") for path in paths if "starters" not in path.parts}


def modules(*words: str) -> Iterator[tuple[str, ast.Module]]:
    """Modules that contain one of the words, because parsing all takes seconds."""
    held = re.compile(rf"\b(?:{'|'.join(words)})\b")
    return ((name, parsed(name)) for name, text in sources().items() if held.search(text))


@cache
def parsed(name: str) -> ast.Module:
    return ast.parse(sources()[name])


def called(node: ast.Call) -> str:
    return dotted(node.func)


def dotted(node: ast.expr) -> str:
    """``a.b.c`` as written; other expressions are empty, ``f(x).c`` is ``.c``."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def test_callers_of_approval_are_known() -> None:
    asking: set[str] = set()
    for name, tree in modules(*ASKING, "readline"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (called(node) in ASKING or called(node).endswith("stdin.readline")):
                asking.add(name)
    assert asking - set(NOT_A_DECISION) <= DECIDING, (
        "show it through zot.tui.decision_text or zot.cli.output; list it here"
    )


def test_approval_callers_print_only_through_console() -> None:
    for name in DECIDING:
        for node in ast.walk(parsed(name)):
            if isinstance(node, ast.ImportFrom):
                assert node.module not in DROPPING, f"{name} imports {node.module}"
            if isinstance(node, ast.Call):
                assert not _prints(node), f"{name}:{node.lineno} prints around the door"


def test_verbs_print_outside_names_only_escaped() -> None:
    around = [
        f"{name}:{node.lineno}"
        for name, tree in modules("print", "write", "writelines")
        if (name.startswith("cli/") or "/cli/" in name) and name != "cli/output.py"
        for holder, node in _calls(tree)
        if _prints(node) and (name, holder) not in PRINTING
    ]
    assert around == [], "use zot.cli.output"


def _prints(node: ast.Call) -> bool:
    """Whether it writes something to stdout or stderr that is not a fixed text."""
    target = called(node)
    if target != "print" and not target.startswith(("sys.stdout.write", "sys.stderr.write", "sys.stdout.buffer.write")):
        return False
    return not all(_fixed(argument) for argument in node.args)


def _fixed(node: ast.expr) -> bool:
    """A literal, a constant of the module, the version, or a combination of these."""
    if isinstance(node, ast.JoinedStr):
        return all(_fixed(value) for value in node.values)
    if isinstance(node, ast.FormattedValue):
        return _fixed(node.value)
    if isinstance(node, ast.Subscript):
        return _fixed(node.value)
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.Name) and (node.id.isupper() or node.id == "__version__")
    )


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Every call with the function or class of the module it stands in."""
    for top in tree.body:
        holder = getattr(top, "name", "")
        for node in ast.walk(top):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and isinstance(top, ast.ClassDef):
                holder = top.name if (top.name.startswith("_")) else node.name
            if isinstance(node, ast.Call):
                yield holder, node
