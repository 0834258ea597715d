"""``zot completions``: candidates from the tables and from this machine."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Zot
from zot.cli.flags import FLAGS
from zot.cli.verb_table import VERBS, subcommands


def offered(zot: Zot, line: str) -> tuple[str, list[str]]:
    ran = zot("completions", "--line", line)
    assert (ran.code, ran.err) == (0, "")
    kind, *rows = (row.split("\t")[0] for row in ran.out.splitlines())
    return kind, rows


def test_every_verb_and_every_flag_is_offered(zot: Zot) -> None:
    assert offered(zot, "zot ") == ("words", [verb.path for verb in subcommands("")])
    assert offered(zot, "zot -") == ("words", [name for flag in FLAGS for name in flag.names])
    assert offered(zot, "zot rpc --mod") == ("words", ["--model"])
    for group in ("sessions", "ext"):
        assert offered(zot, f"zot {group} ") == ("words", [verb.path.split()[1] for verb in subcommands(group)])


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb.switches], ids=lambda verb: verb.path)
def test_every_switch_of_a_verb_is_offered(zot: Zot, verb) -> None:
    names = [name for switch in verb.switches for name in switch.names]
    assert offered(zot, f"zot {verb.path} -") == ("words", [*names, "--help"])


@pytest.mark.parametrize(
    ("line", "kind", "rows"),
    [
        ("zot --system-prompt --mod", "words", []),  # a flag's value, whatever it looks like
        ("zot --system-prompt --model --reasoning off", "words", ["off"]),
        ("zot --reasoning=x", "words", ["--reasoning=xhigh"]),
        ("zot --cwd ", "dirs", []),
        ("zot --script=", "files", []),
        ("zot ext install ", "dirs", []),
        ("zot sessions export 1 ", "files", []),
        ("zot ext new name ", "words", []),
        ("zot ext rm --", "words", ["--yes", "--keep-data", "--delete-data", "--help"]),
        ("zot --jail-level ", "words", ["full", "reduced"]),  # a former name: understood, but not offered
        ("zot jail --l", "words", []),
        ("zot mcp import ", "words", ["claude", "codex", "vscode", "cursor"]),
        ("zot explain ", "files", []),  # a prompt may name files
        ('zot "a prompt with spaces', "files", []),
        ("zot completions ", "words", ["bash", "zsh", "fish"]),
        (
            "zot --tools read,edit,",
            "words",
            [f"read,edit,{name}" for name in ("write", "bash", "skill", "glob", "grep")],
        ),
    ],
)
def test_completion_offers_next_words(zot: Zot, line: str, kind: str, rows: list[str]) -> None:
    assert offered(zot, line) == (kind, rows)


def test_model_completion_uses_named_provider(zot: Zot) -> None:
    _, every = offered(zot, "zot --model ")
    _, some = offered(zot, "zot --provider anthropic --model ")
    assert 0 < len(some) < len(every) and all("claude" in name for name in some)


def test_names_a_shell_would_read_differently_are_not_offered(zot: Zot) -> None:
    themes = zot.home / "zot/themes"
    themes.mkdir(parents=True)
    for name in ("harbour", "a b", "$(touch owned)", "x;y", "`z`"):
        (themes / f"{name}.json").write_text('{"name": "t"}')
    _, rows = offered(zot, "zot --theme ")
    assert "harbour" in rows and not set(" $;`") & set("".join(rows))


def test_a_broken_home_is_silence(zot: Zot) -> None:
    (zot.home / "zot").write_text("not a directory")
    for line in ("zot --session ", "zot --model ", "zot ext logs ", "zot --theme "):
        ran = zot("completions", "--line", line)
        assert (ran.code, ran.err) == (0, "")


def test_unknown_shell_lists_supported_shells(zot: Zot) -> None:
    for words in (("completions",), ("completions", "tcsh")):
        ran = zot(*words)
        assert (ran.code, ran.out) == (1, "") and "bash, zsh, fish" in ran.err


def test_asking_writes_nothing(zot: Zot) -> None:
    for line in ("zot --session ", "zot --model ", "zot ext logs "):
        offered(zot, line)
    assert not (zot.home / "zot").exists()
