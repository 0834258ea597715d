"""Every verb has a help page, made from the table that its parser uses."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec

import pytest

from tests.e2e.conftest import Zot
from zot.cli import flags, main
from zot.cli.arguments import parse
from zot.cli.help import page
from zot.cli.verb_table import VERBS, Verb, options, subcommands, verb_of
from zot.cli.verbs import auth, hooks, mcp, mcp_serve, models, permissions, plugin, serve, sessions
from zot.cli.verbs.ext import dispatch
from zot.frontends.docs_index import pages
from zot.local_model.cli import main as local
from zot.swarm.cli import main as swarm

RETIRED = re.compile(  # words that help pages do not use
    r"\b(nobody|somebody|whoever|anybody|those who|held|holds?|kept|keeps|tells?|told|says?|said|anew|once more|"
    r"of (its|your|their|our) own|so (often|long|many|much)|a while|a moment|left out|takes? along|by itself)\b|, too\b"
)
EXAMPLES = [(verb, line) for verb in VERBS for line, _ in verb.examples]


def typed_words(line: str) -> list[str]:
    """The words after ``zot`` in a shell line, up to the next operator."""
    lexer = shlex.shlex(line.removeprefix('eval "$(').removesuffix(')"'), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words = list(lexer)
    words = words[words.index("zot") + 1 :]
    end = next((at for at, word in enumerate(words) if set(word) <= set("|<>&;")), len(words))
    return words[:end]


def test_every_verb_that_runs_has_a_row_and_every_row_runs() -> None:
    running = {*main.VERBS, "rpc"}
    running |= {f"ext {word}" for word in dispatch.VERBS} | {f"sessions {word}" for word in sessions._VERBS}
    running |= {f"auth {word}" for word in auth._VERBS} | {f"local {word}" for word in local._VERBS}
    running |= {f"mcp {word}" for word in (*mcp._VERBS, *mcp._ELSEWHERE)}
    running |= {f"models {word}" for word in models._OTHERS}
    running |= {f"hooks {word}" for word in hooks._VERBS}
    running |= {f"permissions {word}" for word in permissions._VERBS}
    running |= {f"plugin {word}" for word in plugin._VERBS}
    running |= {f"serve {word}" for word in serve._COMMANDS}
    running |= {f"swarm {word}" for word in swarm._VERBS}
    running |= {f"swarm {word}" for word, module in swarm._ELSEWHERE.items() if find_spec(module) is not None}
    rows = {verb.path for verb in VERBS}
    aliases = {f"{verb.path.split()[0]} {alias}" for verb in VERBS for alias in verb.aliases}
    assert running == rows | aliases


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.path)
def test_help_shows_the_page_of_the_verb(zot: Zot, verb: Verb) -> None:
    ran = zot(*verb.path.split(), "--help")
    assert ran.code == 0
    page = ran.err if verb.path == "ext" else ran.out
    assert page.startswith(f"Usage: {verb.usage}\n")
    assert all(switch.label in page for switch in verb.switches)
    assert ran.out == "" or ran.err == ""
    assert not (zot.home / "zot").exists()


def test_help_may_be_anywhere_and_may_be_text(zot: Zot) -> None:
    page = zot("sessions", "fork", "--help").out
    assert zot("sessions", "help", "fork").out == page
    assert zot("sessions", "fork", "3", "--at", "2", "-h").out == page
    assert zot("ext", "help", "rm").out == zot("ext", "remove", "--help").out != ""
    assert zot("sessions", "help").out == zot("sessions", "--help").out != ""


def test_after_two_dashes_help_is_a_word(zot: Zot) -> None:
    ran = zot("sessions", "path", "--", "--help")
    assert (ran.code, ran.out) == (1, "") and 'no session "--help"' in ran.err


def test_a_wrong_flag_points_to_the_page_of_the_verb(zot: Zot) -> None:
    for words in (("sessions", "fork"), ("ext", "new")):
        ran = zot(*words, "--frob")
        assert ran.code == 1 and "--frob" in ran.err and f"`zot {' '.join(words)} --help`" in ran.err


@pytest.mark.parametrize("verb", [verb for verb in VERBS if " " in verb.path], ids=lambda verb: verb.path)
def test_unknown_switch_is_rejected(zot: Zot, verb: Verb) -> None:
    ran = zot(*verb.path.split(), "--no-such-switch")
    assert ran.code == 1 and 'unknown flag "--no-such-switch"' in ran.err


def test_an_alias_has_the_row_of_its_verb() -> None:
    assert verb_of("ext rm") is verb_of("ext remove") is not None


def test_help_as_first_word_is_a_page_unless_a_prompt_follows(zot: Zot) -> None:
    assert zot("help").out == zot("--help").out != ""
    assert zot("help", "sessions", "fork").out == zot("sessions", "fork", "--help").out != ""
    ran = zot("help", "me", "-p", "--provider", "script")
    assert ran.code == 0 and "what is in this directory" in ran.out


@pytest.mark.parametrize(("verb", "line"), EXAMPLES, ids=lambda value: value if isinstance(value, str) else "")
def test_example_parses_with_the_tables(verb: Verb, line: str) -> None:
    words = typed_words(line)
    of_run = words[:1] == ["acp"] and words[1] not in ("--setup", "--login")  # it takes the flags of a run
    if not words or words[0] not in main.VERBS or of_run:
        flags.parse(words[1:] if words[:1] in (["rpc"], ["acp"]) else words)
        return
    row = verb_of(" ".join(words[:2])) or verb_of(words[0])
    assert row is not None and row.path.startswith(verb.path)
    if row.words == "[FLAGS]" and row.path != "acp":
        own = {name for switch in row.switches for name in switch.names if row.path == "serve"}
        given = [word for word in words[len(row.path.split()) :] if word not in own]
        flags.parse(given, mcp_serve.own_switches())
        return
    needed = re.sub(r"\[.*?\]|-- ", "", row.words.replace("|-- COMMAND", "")).split()
    least = 0 if subcommands(row.path) or "--check" in words else len(needed)
    typed = parse(words[len(row.path.split()) :], options(row.path), least=least)
    assert not subcommands(row.path) or not typed.words or row.words == "[WORDS]", "no such command"
    assert all(typed.has(*switch.names) for switch in row.switches if switch.required)


@pytest.mark.parametrize("verb", subcommands(""), ids=lambda verb: verb.path)
def test_verb_page_opens_with_usage_sentence_and_three_examples(verb: Verb) -> None:
    usage, blank, sentence, *rest = page(verb.path).splitlines()
    assert usage == f"Usage: {verb.usage}" and not blank and verb.intro.startswith(sentence)
    assert verb.intro.endswith(".") and len(verb.examples) == 3
    assert rest.index("Examples:") <= 2


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.path)
def test_verb_page_fits_a_screen_and_is_plain(verb: Verb) -> None:
    lines = page(verb.path).splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100
    texts = [verb.about, *(switch.about for switch in verb.switches)]
    assert [text for text in texts if len(text) > 70 or text.endswith(".")] == []
    every = [*texts, verb.intro, verb.more, *(comment for _, comment in verb.examples)]
    assert [text for text in every if RETIRED.search(text)] == []


def test_verb_pages_name_topics_that_exist() -> None:
    named = {topic for verb in VERBS for topic in re.findall(r"`zot docs ([a-z-]+)`", verb.more)}
    assert named and named <= {found.topic for found in pages()}


def test_older_names_work_and_are_not_shown(zot: Zot) -> None:
    assert (
        flags.parse(["--jail-level", "full"]).jail_level == flags.parse(["--require-jail", "full"]).jail_level == "full"
    )
    assert flags.parse(["--approve", "outside"]).approve == flags.parse(["--ask-outside"]).approve == "outside"
    assert {flags.parse(["--permission-mode", mode]).permission_mode for mode in ("bypass", "yolo")} == {"everything"}
    for name in ("--require", "--require-jail", "--level", "--jail-level"):
        assert '--require "half": expected full or reduced' in zot("jail", name, "half", "--", "true").err
    shown = zot("--help-all").out + zot("jail", "--help").out
    assert not re.search(r"--(jail-level|level|approve)\b", shown)
