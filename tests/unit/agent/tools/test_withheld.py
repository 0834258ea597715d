"""The line about a variable that a command did not get: there when it explains something, and only then."""

from __future__ import annotations

import pytest

from zot.agent.tools.bash import missing_variable_note


@pytest.mark.parametrize(
    ("command", "output", "failed"),
    [
        ("curl -H $GH_TOKEN x", "", False),
        ('curl "${GH_TOKEN}"', "", False),
        ("gh pr list", "populate the GH_TOKEN environment variable", True),
        ("gh pr list", "HTTP 401: bad credentials", True),
    ],
)
def test_removed_tool_is_named_where_it_is_mentioned(command: str, output: str, failed: bool) -> None:
    note = missing_variable_note(command, output, failed=failed, names=["GH_TOKEN"])
    assert note.startswith("[not passed to commands: GH_TOKEN; ") and "env_passthrough" in note


@pytest.mark.parametrize(
    ("command", "output", "failed"),
    [
        ("make test", "2 failed", True),
        ("cat README", "set GH_TOKEN", False),
        ("echo $OTHER_GH_TOKEN $GH_TOKENS", "", True),
        ("gh pr list", "could not resolve host", True),
        ("sigh pr", "401", True),
    ],
)
def test_work_that_has_nothing_to_do_with_it_stays_quiet(command: str, output: str, failed: bool) -> None:
    assert missing_variable_note(command, output, failed=failed, names=["GH_TOKEN"]) == ""


def test_many_are_counted() -> None:
    names = [f"AWS_{letter}_TOKEN" for letter in "ABCDEF"]
    assert "AWS_D_TOKEN and 2 more;" in missing_variable_note(" ".join(names), "", failed=False, names=names)
