"""Choosing a model: the picker, the shortcuts and the stored choice."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say, Silent
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import config, configure, rows, said, two_providers
from tests.terminal.test_dialogs_confirm import listening


def selected(terminal: FakeTerminal, text: str) -> bool:
    return terminal.cell(text).bg != "default" or terminal.cell(text).reverse


def test_the_picker_filters_with_punctuation_ignored(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-181: `opus46` in the picker finds `opus-4-6`."""
    two_providers(zot, serve([]).url)
    terminal = open_zot()
    terminal.submit("/model")
    terminal.wait_for("● anthropic/claude-sonnet-5-5")
    terminal.type("opus46")
    terminal.wait_for("filter: opus46")
    terminal.wait_gone("● anthropic/claude-sonnet-5-5")
    listed = [line.split()[0] for line in terminal.screen.splitlines() if line.startswith("    ") and "/" in line]
    assert {"anthropic/claude-opus-4-6", "alpha/alpha-opus-4-6", "beta/beta-opus-4-6"} <= set(listed)
    assert all("opus-4-6" in line for line in listed)
    terminal.press(*["backspace"] * 6)
    terminal.wait_for("● anthropic/claude-sonnet-5-5")


def test_clearing_the_filter_selects_the_model_in_use_again(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    two_providers(zot, serve([]).url)
    terminal = open_zot("--provider", "beta", "--model", "beta-one", model=False)
    terminal.submit("/model")
    terminal.wait_for("● beta/beta-one")
    assert selected(terminal, "● beta/beta-one")
    terminal.type("alpha")
    terminal.wait_for("filter: alpha")
    terminal.wait_gone("beta/beta-one  ")
    terminal.press(*["backspace"] * 5)
    terminal.wait_for("● beta/beta-one")  # some of the keys are enough for that
    terminal.wait_until(lambda: selected(terminal, "● beta/beta-one"))
    assert not selected(terminal, "alpha/alpha-one")


def test_the_picker_shows_window_price_and_where_to_log_in(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    two_providers(zot, serve([]).url)
    terminal = open_zot("--provider", "alpha", "--model", "alpha-one", model=False)
    terminal.submit("/model")
    terminal.wait_for("● alpha/alpha-one")
    terminal.wait_for("100k  $1/$2")
    terminal.wait_for("/login for: anthropic, openai, kimi")


def test_provider_switch_preserves_transcript_and_cost(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-182: changing the provider preserves transcript and cost, and is stored."""
    server = serve([Say("first", usage=(3000, 5)), Say("second", usage=(10, 5))])
    two_providers(zot, server.url)
    terminal = open_zot("--provider", "alpha", "--model", "alpha-one", model=False)
    terminal.submit("hello alpha")
    terminal.wait_for("first")
    terminal.wait_for("↑3.0k")
    terminal.submit("/model")
    terminal.wait_for("beta/beta-one")
    terminal.type("beta-one")
    terminal.wait_for("filter: beta-one")
    terminal.press("enter")
    terminal.wait_for("model: beta-one (beta)")
    assert "↑3.0k" in terminal.screen
    terminal.submit("hello beta")
    terminal.wait_for("second")
    assert server.requests[-1].json["model"] == "beta-one"
    assert ("user", "hello alpha") in said(server.requests[-1])
    assert (config(zot)["provider"], config(zot)["model"]) == ("beta", "beta-one")
    assert rows(zot.sessions[0], "meta")[-1]["meta"]["model"] == "beta-one"


def test_an_unknown_model_is_an_error_and_changes_nothing(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-288: an unknown model is an error that shows the case as typed and changes nothing."""
    two_providers(zot, serve([]).url)
    terminal = open_zot("--provider", "alpha", "--model", "alpha-one", model=False)
    terminal.submit("/model claude-opus-9")
    terminal.wait_for('alpha has no model "claude-opus-9"')
    terminal.submit("/model beta-one")
    terminal.wait_for("model: beta-one (beta)")


def test_alias_and_part_of_an_id_select_a_model(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """`/model` accepts aliases and parts of ids, and suggests the nearest ids for unknown names."""
    server = serve([Say("quick")])
    two_providers(zot, server.url)
    configure(zot, model_names={"fast": "beta/beta-one"})
    terminal = open_zot("--model", "claude-sonnet-5-5", "--api-key", "k", "--base-url", server.url, model=False)
    terminal.submit("/model opus41")
    terminal.wait_for("model: claude-opus-4-1 (anthropic)")
    terminal.submit("/model claude-sonet")
    terminal.wait_for("did you mean claude-sonnet-5,")
    terminal.submit("/model fast")
    terminal.wait_for("model: beta-one (beta)")
    terminal.submit("go")
    terminal.wait_for("quick")
    assert server.requests[-1].json["model"] == "beta-one"


def test_part_of_an_id_takes_the_newest_or_opens_the_list(open_zot: OpenZot) -> None:
    """issue 29.12: `/model sonnet` takes the newest; of several kinds the list opens, newest first, filtered."""
    terminal = open_zot(rows=40)
    terminal.submit("/model sonnet")
    terminal.wait_for("model: claude-sonnet-5-5 (anthropic)")
    terminal.submit("/model claude")
    terminal.wait_for("filter: claude")
    terminal.press(*["backspace"] * 6)
    terminal.wait_gone("filter:")
    listed = [word for line in terminal.screen.splitlines() for word in line.split() if word.startswith("anthropic/")]
    assert listed[0] == "anthropic/claude-sonnet-5-5"  # used last
    newest = ("haiku-5-5", "opus-5-5", "fable-5-2")
    assert listed[1:4] == [f"anthropic/claude-{name}" for name in newest]
    assert "[speculative]" not in terminal.screen


def test_the_picker_opens_beside_a_turn_and_choosing_ends_it(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([Silent(Say("never ends")), Say("from beta")])
    two_providers(zot, server.url)
    terminal = open_zot("--provider", "alpha", "--model", "alpha-one", model=False)
    terminal.submit("go")
    terminal.wait_until(lambda: any(r.method == "POST" for r in server.requests))
    terminal.submit("/model")
    terminal.wait_for("beta/beta-one")
    assert not server.wait_until_client_closes(0.2)
    terminal.type("beta-one")
    terminal.wait_for("filter: beta-one")
    terminal.press("enter")
    terminal.wait_for("model: beta-one (beta)")
    assert server.wait_until_client_closes()


def test_model_slot_switches_only_when_idle(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-292: a model slot switches when idle and does nothing during a turn."""
    server = serve([Silent(Say("never ends"))])
    two_providers(zot, server.url)
    configure(zot, quick_model_shortcuts={"3": "beta/beta-one", "4": "alpha/alpha-one"})
    terminal = open_zot("--provider", "alpha", "--model", "alpha-one", model=False)
    terminal.type("\x1b[51;5u")
    terminal.wait_for("model: beta-one (beta)")
    terminal.submit("go")
    terminal.wait_until(lambda: any(r.method == "POST" for r in server.requests))
    terminal.type("\x1b[52;5u after")
    terminal.wait_for("▌  after")  # the key before it was heard
    assert "(beta) beta-one" in terminal.screen


def test_a_stale_list_is_refreshed_when_the_picker_opens(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-308, iface-307: no request is sent before."""
    server = serve([], models=("brand-new-model",))
    home = zot.home / "zot"
    home.mkdir()
    (home / "auth.json").write_text('{"openrouter": {}, "additional_api_key_creds": {"openrouter": {"api_key": "k"}}}')
    (home / "models.json").write_text(json.dumps({"providers": {"openrouter": {"baseUrl": f"{server.url}/v1"}}}))
    terminal = open_zot("--provider", "openrouter", model=False)
    terminal.wait_idle()
    assert server.requests == []
    terminal.submit("/model")
    terminal.wait_for("openrouter/")
    terminal.type("brand new")
    terminal.wait_for("brand-new-model")
    assert server.requests[0].path == "/v1/models"  # and, of a server on this machine, what its window is


def test_reasoning_offers_model_levels_and_stores_choice(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([Say("thought")])
    terminal = open_zot()
    terminal.submit("/reasoning")
    terminal.wait_for("reasoning of claude-sonnet-5-5")
    terminal.wait_for("xhigh")
    assert "● off" not in terminal.screen and "  off" not in terminal.screen  # it always reasons
    terminal.press("enter")
    terminal.wait_for("reasoning: low")
    assert config(zot)["reasoning"] == "low"
    terminal.submit("think")
    terminal.wait_for("thought")
    assert server.requests[0].json["thinking"]["type"] == "adaptive"
    assert server.requests[0].json["output_config"]["effort"] == "low"


def test_a_model_without_reasoning_has_only_off(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    two_providers(zot, serve([]).url)
    terminal = open_zot("--provider", "alpha", "--model", "alpha-one", model=False)
    terminal.submit("/reasoning high")
    terminal.wait_for("alpha-one does not support level high; expected one of off")


def test_mistyped_local_model_is_reported_and_not_stored(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([], models=("tiny-llama",))
    home = zot.home / "zot"
    home.mkdir()
    (home / "models.json").write_text(json.dumps({"providers": {"ollama": {"baseUrl": f"{server.url}/v1"}}}))
    terminal = open_zot("--provider", "ollama", "--model", "tiny-llama", model=False)
    terminal.submit("/model tiny-lama")
    terminal.wait_for('ollama has no model "tiny-lama"; did you mean tiny-llama?')
    assert "model" not in config(zot)
    terminal.submit("/model tiny-llama")
    terminal.wait_for("model: tiny-llama (ollama)")
    assert config(zot)["model"] == "tiny-llama"


def test_unlisted_model_is_used_but_not_stored(open_zot: OpenZot, zot: Zot) -> None:
    """issue 29.12: an id that no list has is used after a question, for this run only."""
    terminal = open_zot("--provider", "openrouter", columns=140)
    terminal.submit("/model some-vendor/new-model")
    terminal.wait_for('no model list has "some-vendor/new-model"')
    terminal.press("esc")
    terminal.wait_gone("no model list")
    assert "new-model" not in terminal.screen
    terminal.submit("/model some-vendor/new-model")
    terminal.wait_for("use it with openrouter")
    terminal.press("down", "enter")
    terminal.wait_for("model: some-vendor/new-model (openrouter); not in any model list, so not saved for the next run")
    assert "model" not in config(zot)


def test_small_model_changes_mode_and_switching_back_restores(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """`/model` to one that is held by a grammar, and back: its tools, its mode, and a line about each."""
    look = Say('{"tool": "bash", "command": "touch looked"}')
    server = serve([look, Say('{"tool": "final", "answer": "Done."}'), Say("three")])
    home = zot.home / "zot"
    home.mkdir(parents=True, exist_ok=True)
    models = [{"id": "large"}, {"id": "tiny", "tool_calls": "grammar"}]
    mine = {"baseUrl": f"{server.url}/v1", "auth": "none", "models": models}
    (home / "models.json").write_text(json.dumps({"providers": {"mine": mine}}))
    terminal = open_zot("--provider", "mine", "--model", "large", model=False)
    terminal.submit("/model tiny")
    terminal.wait_for("tiny is a small model: commands now require approval")
    terminal.wait_for("accepts edits")
    terminal.submit("look")
    terminal.wait_for("touch looked")
    terminal.wait_for("yes, this once")
    listening(terminal)
    terminal.press("1")
    terminal.wait_for("Done.")
    terminal.submit("/model large")
    terminal.wait_for("commands no longer require approval: the small model was replaced")
    terminal.wait_gone("accepts edits")
    terminal.submit("again")
    terminal.wait_for("three")
    calls = [request for request in server.requests if request.method == "POST"]
    assert "glob" in calls[0].json["messages"][0]["content"] and "grammar" in calls[0].json
    assert "grammar" not in calls[2].json and calls[2].json["tools"]


def test_prompt_typed_with_model_command_uses_it(serve: Any, open_zot: OpenZot) -> None:
    """issue 29.12: a prompt waits for a `/model` typed before it, however fast both are typed."""
    server = serve([Say("first"), Say("second")])
    terminal = open_zot()
    terminal.submit("hello")
    terminal.wait_for("first")
    terminal.type("/model claude-haiku-4-5\rwhich one?\r")
    terminal.wait_for("second")
    assert server.requests[1].json["model"] == "claude-haiku-4-5"


def test_prompt_cancelled_at_once_returns_to_the_editor(serve: Any, open_zot: OpenZot) -> None:
    """A turn that is cancelled before its first step ends, and its prompt is not lost."""
    serve([Say("an answer")])
    terminal = open_zot()
    terminal.type("hello\r\x03")
    terminal.wait_idle()
    terminal.wait_gone("esc stops")
    if "an answer" not in terminal.everything:  # it never began
        terminal.wait_for("▌ hello")
        terminal.press("enter")
    terminal.wait_for("an answer")
