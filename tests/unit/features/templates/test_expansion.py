"""Template expansion: arguments, and which file a name selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.features.templates.discovery import Template, TemplateDir, all_templates, find, name_and_arguments
from zot.features.templates.expansion import fill_arguments


def template(body: str, **fields: object) -> Template:
    return Template("t", Path("t.md"), "project", body=body, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "arguments", "said"),
    [
        ("fix $ARGUMENTS now", "a b", "fix a b now"),
        ("fix $1 in $2", "one 'two three'", "fix one in two three"),
        ("fix $1 in $2.", "one", "fix one in ."),
        ("costs $10, not $1", "x", "costs $10, not x"),
        ("$ARGUMENTSX stays", "x", "$ARGUMENTSX stays\n\nx"),
        ("no place", "for this", "no place\n\nfor this"),
        ("no place", "", "no place"),
        ("say $1", "$2 $ARGUMENTS", "say $2"),
        ("it's $1", "don't stop", "it's don't"),
        ("$1", "a\\b", "a\\b"),
    ],
)
def test_arguments_are_put_where_they_belong(body: str, arguments: str, said: str) -> None:
    assert fill_arguments(template(body), arguments) == said


def test_embedded_command_is_reported_and_not_run() -> None:
    said = fill_arguments(template("state: !`git status`"), "")
    assert said.startswith("state: !`git status`\n\n(The commands after !") and "were not run" in said


def test_a_template_does_not_grow_without_end() -> None:
    said = fill_arguments(template("$ARGUMENTS" * 10_000), "x" * 1_000)
    assert len(said) < 1_300_000 and said.endswith("$ARGUMENTS")


def test_named_tools_are_reported() -> None:
    assert (
        fill_arguments(template("x", allowed_tools=("Bash(git:*)", "Read")), "")
        == "x\n\nAllowed tools: Bash(git:*), Read"
    )


@pytest.mark.parametrize(
    "text", ["/usr/bin/env x", "/", "/ x", "/../x", "/a:../b", "/.hidden", "/a//b", "//x", "/a:", "x"]
)
def test_invalid_template_names(text: str) -> None:
    assert name_and_arguments(text) is None


def test_names_are_files_below_the_places_the_nearest_first(tmp_path: Path) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    for file, text in {
        near / "a.md": "---\ndescription: nearer\nargument-hint: [file] [line]\n---\nA",
        far / "a.md": "far A",
        far / "git" / "tidy.md": "# Tidy up\nand so on",
        far / "not a name.md": "x",
        far / "notes.txt": "x",
    }.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    places, problems = [TemplateDir(near, "n"), TemplateDir(far, "f"), TemplateDir(tmp_path / "gone", "g")], list[str]()
    found = all_templates(places, None, problems)
    assert [(t.name, t.description, t.hint, t.body) for t in found] == [
        ("a", "nearer", "[file] [line]", ""),
        ("git:tidy", "Tidy up", "", ""),
    ]
    assert len(problems) == 2 and "hides" in problems[0] and "invalid command name" in problems[1]
    tidy = find("git:tidy", places, None)
    assert tidy is not None and tidy.body == "# Tidy up\nand so on"
    assert find("tidy", places, None) is None and find("git", places, None) is None


def test_a_link_out_of_the_project_is_refused(tmp_path: Path) -> None:
    secret, project = tmp_path / "secret", tmp_path / "project"
    (project / "commands").mkdir(parents=True)
    secret.write_text("private")
    (project / "commands" / "x.md").symlink_to(secret)
    place = TemplateDir(project / "commands", "project", project)
    with pytest.raises(OSError):
        find("x", [place], None)
    problems: list[str] = []
    assert all_templates([place], None, problems) == [] and len(problems) == 1
