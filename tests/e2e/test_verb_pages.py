"""Every verb has a page of its own, and the table it is made from is the one the verbs obey."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.e2e.conftest import Zot
from zot.cli import main
from zot.cli.verb_table import VERBS, Verb, verb_of
from zot.cli.verbs import auth, hooks, mcp, plugin, sessions
from zot.cli.verbs.ext import dispatch
from zot.local_model.cli import main as local
from zot.swarm.cli import main as swarm


def test_every_verb_that_runs_has_a_row_and_every_row_runs() -> None:
    running = {*main.VERBS, "rpc"}
    running |= {f"ext {word}" for word in dispatch.VERBS} | {f"sessions {word}" for word in sessions._VERBS}
    running |= {f"auth {word}" for word in auth._VERBS} | {f"local {word}" for word in local._VERBS}
    running |= {f"mcp {word}" for word in mcp._VERBS}
    running |= {f"hooks {word}" for word in hooks._VERBS}
    running |= {f"plugin {word}" for word in plugin._VERBS}
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


def test_help_may_stand_anywhere_and_may_be_a_word(zot: Zot) -> None:
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
def test_a_switch_that_is_no_row_of_the_table_is_refused(zot: Zot, verb: Verb) -> None:
    ran = zot(*verb.path.split(), "--no-such-switch")
    assert ran.code == 1 and 'unknown flag "--no-such-switch"' in ran.err


def test_an_alias_has_the_row_of_its_verb() -> None:
    assert verb_of("ext rm") is verb_of("ext remove") is not None


def test_help_as_the_first_word_is_a_page_unless_it_begins_a_prompt(zot: Zot) -> None:
    assert zot("help").out == zot("--help").out != ""
    assert zot("help", "sessions", "fork").out == zot("sessions", "fork", "--help").out != ""
    ran = zot("help", "me", "-p", "--provider", "script")
    assert ran.code == 0 and "what is in this directory" in ran.out
