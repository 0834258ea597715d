"""Slow inputs from project files, tool and command output, and images."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tests.conformance.hostile.row import WIDTH, fresh, rows
from tests.conformance.hostile.screen import CONTROLS, SOME
from zot.agent.tools.bash_output import OutputCapture
from zot.agent.tools.edit_diff import EditSpan, diff_of
from zot.agent.tools.ignore import Rules, regex_of
from zot.features.hooks.claude_format import parse_hook_output
from zot.features.hooks.conditions import command_fits
from zot.features.hooks.config import Hook
from zot.features.hooks.hook_process import HookResult
from zot.features.hooks.host import parse_exports
from zot.features.skills import discovery
from zot.features.templates.discovery import Template
from zot.features.templates.expansion import fill_arguments
from zot.frontends.file_index import PathMatcher
from zot.frontends.terminal.dialogs.call_details import call_rows
from zot.frontends.terminal.dialogs.confirm import is_dangerous
from zot.frontends.terminal.screen import tool_output
from zot.frontends.terminal.screen.call_summary import read_bash
from zot.tui import diff, theme_file
from zot.tui.fuzzy import Pattern
from zot.tui.image import dimensions
from zot.tui.theme import built_in

# --- files of a project


def skill(text: str) -> None:
    discovery.parse(discovery.split(text)[0])


rows(
    "the head of a skill",
    skill,
    rules="---\n",
    keys=lambda n: "---\n" + "a: b\n" * (n // 5) + "---\n",
    one_list=lambda n: "---\nallowed-tools: [" + "a," * (n // 2) + "]\n---\n",
    open_quotes=lambda n: "---\nallowed-tools: [" + '"a,' * (n // 3) + "]\n---\n",
    escaped_quotes=lambda n: "---\nallowed-tools: [" + '"\\",' * (n // 4) + "]\n---\n",
    single_quotes=lambda n: "---\nallowed-tools: [" + "'" * n + "]\n---\n",
    description=lambda n: "---\ndescription: >\n" + "  a\n" * (n // 4) + "---\n",
    quoted_description=lambda n: '---\ndescription: "' + "\\n" * (n // 2) + '"\n---\n',
    permissions=lambda n: "---\npermissions:\n" + "  a: [b]\n" * (n // 9) + "---\n",
    deep_permissions=lambda n: (
        "---\npermissions:\n" + "\n".join(" " * (i % 200) + "a:" for i in range(n // 100)) + "\n---"
    ),
    blocks=lambda n: "---\nname: >" + "+" * n + "\n---\n",
    no_end=lambda n: "---\n" + "a: b\n" * (n // 5),
    spaces=lambda n: " " * n + "---\n",
)


def template(text: str) -> None:
    fill_arguments(Template("t", Path("t.md"), "project", body=text), "a 'b c' d")


rows(
    "a prompt template and its arguments",
    template,
    places=lambda n: "$1" * (n // 2),
    all_of_it=lambda n: "a" * (n - 20) + " $ARGUMENTS",
    dollars="$",
    commands="!`",
    open_commands=lambda n: "!`" + "a" * n,
)

rows(
    "the arguments of a prompt template",
    lambda text: fill_arguments(Template("t", Path("t.md"), "project", body="$1 and $ARGUMENTS"), text),
    quotes="'\" \\",
    words="a b ",
    places="$1 $ARGUMENTS ",
)

HOOK = Hook(event="PreToolUse", command="x")
rows(
    "what a hook printed",
    lambda text: parse_hook_output(HOOK, HookResult(0, text)),
    braces="{",
    half=lambda n: '{"reason": "' + "a" * n,
    deep=lambda n: '{"a":' * (n // 5),
    words="a b\n",
)
rows(
    "a command and the condition of a hook",
    lambda text: command_fits("git push *", text),
    words="a b ",
    commands="a; b | c && ",
    assignments="A=1 ",
    wrappers="nohup nice ",
    substitutions="$(a) `b` ",
    quotes="'a' \"b $c\" ",
    redirections="a >b 2>&1 ",
    half='echo "',
)
rows("what a hook exported", parse_exports, lines="export A=1\n", quotes="export A='", words="export A=1 B=2 ")


def themed(data: bytes) -> None:
    file = theme_file.ThemeFile(Path("/a.json"), msgspec.json.decode(data))
    theme, _ = theme_file.apply(file, "dark", "256")
    theme_file.faint_roles(theme)


rows(
    "a theme",
    themed,
    colours=lambda n: b'{"accent":"' + b"a" * n + b'"}',
    unknown_keys=lambda n: b"{" + b"".join(b'"accen%d":1,' % i for i in range(n // 12)) + b'"x":1}',
    unknown_syntax=lambda n: b'{"syntax":{' + b"".join(b'"keywor%d":1,' % i for i in range(n // 12)) + b'"x":1}}',
    long_keys=lambda n: b'{"' + b"accent" * (n // 6) + b'":1}',
    frames=lambda n: b'{"spinner_frames":[' + b'"a",' * (n // 4) + b'"a"]}',
    one_frame=lambda n: b'{"spinner_frames":["' + b"\\u0301" * (n // 6) + b'"]}',
    messages=lambda n: b'{"spinner_messages":[' + b'"a",' * (n // 4) + b'"a"]}',
    variables=lambda n: (
        b'{"accent":"$a0","vars":{' + b"".join(b'"a%d":"$a%d",' % (i, i + 1) for i in range(n // 16)) + b'"x":1}}'
    ),
    styles=lambda n: b'{"syntax":{"keyword":"' + b"bold " * (n // 5) + b'"}}',
    wrong_values=lambda n: b'{"accent":[' + b"1," * (n // 2) + b"1]}",
)

PATHS = ["a" * 200 + "/" + "a" * 200, "a/" * 200 + "b", "ab" * 200, "x"]
PATTERNS: dict[str, str | bytes | Callable[[int], Any]] = {
    "stars": "*",
    "stars_and_letters": lambda n: "*a" * (min(n, 990) // 2) + "b",
    "directories": lambda n: "**/" * (min(n, 990) // 3) + "b",
    "directories_and_letters": lambda n: "**/a/" * (min(n, 990) // 5) + "b",
    "questions": "?",
    "classes": lambda n: "[a-z]" * (min(n, 990) // 5),
    "open_classes": "[",
    "braces": "{a,b}",
    "open_braces": "{a,",
    "deep_braces": lambda n: "{" * (min(n, 990) // 2) + "}" * (min(n, 990) // 2),
    "empty_choices": lambda n: "{" + "," * min(n, 60) + "}" + "*a" * 100 + "b",
    "letters": "a",
    "backslashes": "\\",
}


def globbed(pattern: str) -> None:
    with suppress(re.error):
        compiled = re.compile(regex_of(pattern), re.DOTALL)
        for path in PATHS:
            compiled.fullmatch(path)


def ignored(text: str) -> None:
    rules = Rules("/p", text.split("\n"))
    for path in PATHS:
        rules.verdict(f"/p/{path}", False)


rows("a glob pattern", globbed, **PATTERNS)
rows(
    "an ignore file",
    ignored,
    **{name: text for name, text in PATTERNS.items()},
    lines="a\n",
    star_lines="*a*a*b\n",
    negations="!a\n",
    comments="#a\n",
    blanks="\n",
    classes_in_lines="[a-z]*\n",
)
rows(
    "a path that was typed",
    lambda given: [PathMatcher(given[0]).in_order(given[1]), PathMatcher(given[0]).loose_score(given[1])],
    letters=lambda n: ("a" * 50 + "b", "a" * n),
    slashes=lambda n: ("a/" * 25, "a/" * (n // 2)),
)
rows(
    "a filter of a list",
    lambda given: [Pattern(given[0]).rank(given[1], given[1]), Pattern(given[0]).places(given[1])],
    letters=lambda n: ("a" * 50 + "b", "a" * n),
    one_after_another=lambda n: ("ab" * 40 + "c", "ab" * (n // 2)),
    beginnings=lambda n: ("aab" * 20, "a " * (n // 2)),
    punctuation=lambda n: ("ab", "a" + "-" * n),
    backwards=lambda n: ("aaaab", "a" * n + "b"),
    digits=lambda n: ("1" * 40 + "2", "1-" * (n // 2)),
    words=lambda n: ("a b " * (n // 4), "a " * (n // 2)),
    a_long_word=lambda n: ("a" * n, "a" * n + "b"),
)

# --- what tools say

rows(
    "a diff",
    lambda text: (lines := diff.unified(text)) and diff.render(lines, built_in(), fresh().code, "python", WIDTH),
    lines=lambda n: "--- a\n+++ b\n@@ -1 +1 @@\n" + "+a\n" * (n // 3),
    hunks=lambda n: "--- a\n+++ b\n" + "@@ -1 +1 @@\n+a\n" * (n // 15),
    changed_words=lambda n: (
        "--- a\n+++ b\n@@ -1 +1 @@\n" + ("-" + "a b " * 50 + "\n+" + "b a " * 50 + "\n") * (n // 402)
    ),
    one_changed_line=lambda n: f"--- a\n+++ b\n@@ -1 +1 @@\n-{'a b ' * (n // 8)}\n+{'b a ' * (n // 8)}\n",
    half_hunks=lambda n: "--- a\n+++ b\n@@ -1 +1 @@\n" + "@@ -1" * (n // 5),
    digits=lambda n: "--- a\n+++ b\n@@ -" + "1" * n + " +1 @@\n a\n",
    tabs=lambda n: "--- a\n+++ b\n@@ -1 +1 @@\n+" + "\t" * n,
)


def changed(given: tuple[str, str]) -> None:
    old, new = given
    diff_of(old, [EditSpan(0, len(old), 1, new)])


rows(
    "the difference of an edit",
    changed,
    equal_lines=lambda n: ("a\n" * (n // 4), "a\n" * (n // 4 + 1)),
    alternating_lines=lambda n: ("a\nb\n" * (n // 8), "b\na\n" * (n // 8)),
    every_other_line=lambda n: ("a\n" * (n // 4), "a\nb\n" * (n // 8)),
    other_lines=lambda n: ("a\n" * (n // 4), "b\n" * (n // 4)),
    turned_round=lambda n: tuple("\n".join(map(str, numbers)) for numbers in (range(n // 8), range(n // 8, 0, -1))),
)
rows(
    "many edits",
    lambda given: diff_of(*given),
    on_one_line=lambda n: ("a" * n, [EditSpan(i, i + 1, i, "b") for i in range(0, n // 2, 8)]),
    on_many_lines=lambda n: ("a\n" * (n // 2), [EditSpan(i, i + 1, i, "b") for i in range(0, n // 2, 8)]),
    far_apart=lambda n: ("a\n" * (n // 2), [EditSpan(i, i + 1, i, "b") for i in range(0, n - 2, 64)]),
)
OUTPUT: dict[str, str | bytes | Callable[[int], Any]] = {
    **SOME,
    "numbered_lines": "  1\ta\n",
    "huge_numbers": lambda n: "9" * n + "\ta",
    "footers": lambda n: "a\n" + "... a]\n" * (n // 7),
    "exits": "[exit 0]\n",
    "columns": "a\t",
}
for reader, read in {
    "output of bash": lambda text: tool_output.bash_rows(text, "ls", built_in(), WIDTH),
    "live output": lambda text: tool_output.output_rows(text, built_in(), WIDTH),
    "what read gave": lambda text: tool_output.read_rows(text, {}, {}, "a.txt", fresh(), WIDTH),
    "code": lambda text: tool_output.code_rows(text, "a.py", 1, fresh(), WIDTH),
    "what edit changed": lambda text: tool_output.edit_diff_rows(text, {}, "a.py", fresh(), WIDTH),
}.items():
    rows(reader, read, **OUTPUT)


def captured(data: bytes) -> None:
    capture = OutputCapture()
    for at in range(0, len(data), 512):
        capture.feed(data[at : at + 512])
    if capture.spool is not None:
        capture.spool.close()  # without a name it leaves nothing behind
    capture.text()


rows(
    "a command's result",
    lambda text: read_bash(text, "ls"),
    lines=lambda n: "$ ls\n" + "a\n" * (n // 2) + "[exit 0]",
    notes=lambda n: "[timed out after 5s]\n" * (n // 21) + "[exit 0]  Took 1s",
    digits=lambda n: "[exit " + "1" * n + "]",
    paths=lambda n: "[exit 0] (full output: " + "(" * n + ")",
)
rows("captured output", captured, lines=b"a\n", one_line=b"a", bad_bytes=b"\xff", nul=b"\0")
for tool, name in (("bash", "command"), ("write", "content"), ("other", "a")):
    rows(
        f"a call of {tool} to decide on",
        lambda text, tool=tool, name=name: call_rows(tool, {"path": "a.py", name: text}, fresh(), WIDTH),
        **{key: CONTROLS[key] for key in ("letters", "words", "escapes", "combining_marks", "line_breaks", "tabs")},
        fields=lambda n: "a=b " * (n // 4),
    )
rows(
    "a dangerous command",
    lambda text: is_dangerous({"command": text}),
    **{
        name: lambda n, text=text: text * (min(n, 3_900) // len(text))
        for name, text in {
            "rm": "rm -a ",
            "rm_spaces": "rm    ",
            "git": "git push ",
            "curl": "curl ",
            "dd": "dd",
        }.items()
    },
)

# --- pictures


def jpeg(n: int) -> bytes:
    return b"\xff\xd8" + b"\xff\xe0\x00\x02" * (n // 4)


rows(
    "the size of a picture",
    dimensions,
    jpeg=jpeg,
    jpeg_without_lengths=lambda n: b"\xff\xd8" + b"\xff\xe0\x00\x00" * (n // 4),
    png=lambda n: b"\x89PNG\r\n\x1a\n" + b"a" * n,
    webp=lambda n: b"RIFFaaaaWEBPVP8X" + b"a" * n,
)
