"""A failed turn continues on another model with the same prompt, sent once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import FakeModelServer, Refuse, Say, StreamError
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import configure, rows, said, two_providers, user_texts

ASKED = "did not answer"


@pytest.fixture(autouse=True)
def little_patience(zot: Zot) -> None:
    configure(zot, retries=2, retry_wait_s=0.01)


def test_exhausted_retries_open_picker_without_failed_model(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-196: an overload that outlasts its retries offers other models, without the one that failed."""
    server = serve([Refuse(429, "slow down")], repeat=True)
    two_providers(zot, server.url)
    terminal = open_zot("--provider", "alpha", "--model", "alpha-one", model=False)
    terminal.submit("my prompt")
    terminal.wait_for(ASKED)
    assert "alpha/alpha-one did not answer" in terminal.screen
    assert "try alpha-one again" in terminal.screen
    assert "beta/beta-one" in terminal.screen
    assert "    alpha/alpha-one" not in terminal.screen


def test_a_bad_request_never_opens_it(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-196: nor do words in the body that look like another failure."""
    server = serve([Refuse(400, "field 413 eof http 429")], repeat=True)
    two_providers(zot, server.url)
    terminal = open_zot("--provider", "alpha", "--model", "alpha-one", model=False)
    terminal.submit("my prompt")
    terminal.wait_for("http 400")
    terminal.wait_idle()
    assert ASKED not in terminal.screen


def test_rescued_prompt_is_sent_once_without_flags(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-197: the same prompt goes to the chosen model once, without `--api-key` and `--base-url`."""
    with FakeModelServer([Say("from beta")]) as good:
        two_providers(zot, good.url)
        bad = serve([Refuse(503, "down")], repeat=True)
        terminal = open_zot("--provider", "alpha", "--model", "alpha-one")
        terminal.submit("my prompt")
        terminal.wait_for(ASKED)
        assert "another model continues without --api-key and --base-url" in terminal.screen
        terminal.press("down")
        terminal.type("beta-one")
        terminal.wait_for("filter: beta-one")
        terminal.press("enter")
        terminal.wait_for("from beta")
        sent = [request for request in good.requests if request.method == "POST"]
        assert said(sent[0])[-1] == ("user", "my prompt")
        assert [text for role, text in said(sent[0]) if role == "user"] == ["my prompt"]
        assert "test-key" not in str(sent[0].headers)
        assert "without --api-key and --base-url" in terminal.everything
        assert bad.requests


def test_the_same_model_can_be_tried_again(serve: Any, open_zot: OpenZot) -> None:
    """iface-197: the same model can be tried again."""
    server = serve([Refuse(403, "not for you")])
    terminal = open_zot()
    terminal.submit("my prompt")
    terminal.wait_for(ASKED)
    server.add(Say("now it works"))
    terminal.press("enter")
    terminal.wait_for("now it works")
    assert [text for role, text in said(server.requests[-1]) if role == "user"] == ["my prompt"]


def test_closing_it_puts_the_prompt_back(serve: Any, open_zot: OpenZot) -> None:
    serve([Refuse(401, "who are you")])
    terminal = open_zot()
    terminal.submit("my prompt")
    terminal.wait_for(ASKED)
    terminal.press("esc")
    terminal.wait_until(lambda: "▌ my prompt\n─" in terminal.screen)
    assert "✖ " in terminal.everything


def test_restored_prompt_sent_again_appears_once(serve: Any, open_zot: OpenZot) -> None:
    server = serve([Refuse(401, "who are you")])
    terminal = open_zot()
    terminal.submit("my prompt")
    terminal.wait_for(ASKED)
    terminal.press("esc")
    terminal.wait_until(lambda: "▌ my prompt\n─" in terminal.screen)
    server.add(Say("now it works"))
    terminal.press("enter")
    terminal.wait_for("now it works")
    assert "retrying" in terminal.everything
    assert [text for role, text in said(server.requests[-1]) if role == "user"] == ["my prompt"]


def test_edited_restored_prompt_replaces_failed_one_after_resume(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([Say("hello"), Refuse(401, "who are you")])
    terminal = open_zot()
    terminal.submit("first prompt")
    terminal.wait_for("hello")
    terminal.submit("my prmpt")
    terminal.wait_for(ASKED)
    terminal.press("esc")
    terminal.wait_until(lambda: "▌ my prmpt\n─" in terminal.screen)
    server.add(Say("now it works"), Say("resumed"))
    terminal.submit(", mended")
    terminal.wait_for("now it works")
    assert "instead of the failed prompt" in terminal.everything
    assert user_texts(server.requests[-1]) == ["first prompt", "my prmpt, mended"]
    terminal.submit("/exit")
    terminal.wait_exit()
    again = open_zot("-c")
    again.submit("and now")
    again.wait_for("resumed")
    assert user_texts(server.requests[-1]) == ["first prompt", "my prmpt, mended", "and now"]
    (path,) = (zot.home / "zot" / "sessions").glob("*/*.jsonl")
    assert "my prmpt" in [row["message"]["content"][0]["text"] for row in rows(path, "message")], "append-only"


def test_failing_replacement_prompt_is_replaced(serve: Any, open_zot: OpenZot) -> None:
    server = serve([Refuse(401, "who are you"), Refuse(401, "who are you")])
    terminal = open_zot()
    for text, whole in (("one", "one"), (" two", "one two")):
        terminal.submit(text)
        terminal.wait_for(ASKED)
        terminal.press("esc")
        terminal.wait_until(lambda whole=whole: f"▌ {whole}\n─" in terminal.screen)
    server.add(Say("now it works"))
    terminal.submit(" three")
    terminal.wait_for("now it works")
    assert user_texts(server.requests[-1]) == ["one two three"]


def test_error_is_shown_once_with_provider_message(serve: Any, open_zot: OpenZot) -> None:
    serve([Refuse(401, {"type": "error", "error": {"type": "authentication_error", "message": "no such key"}})])
    terminal = open_zot(columns=120)
    terminal.submit("my prompt")
    terminal.wait_for(ASKED)
    assert "✖ anthropic: http 401: no such key" in terminal.everything
    assert terminal.screen.count("no such key") == 1 and "{" not in terminal.everything


def test_html_error_page_is_shown_by_its_title(serve: Any, open_zot: OpenZot) -> None:
    page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center>nginx</center></body></html>"
    serve([Refuse(502, page, {"content-type": "text/html"})], repeat=True)
    terminal = open_zot(columns=120)
    terminal.submit("my prompt")
    terminal.wait_for(ASKED)
    assert "✖ anthropic: http 502: Bad Gateway" in terminal.screen
    assert terminal.screen.count("Bad Gateway") == 1 and "<" not in terminal.everything


def test_status_401_offers_login_first_and_prompt_continues(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([Refuse(401, "no such key")])
    terminal = open_zot()
    terminal.submit("my prompt")
    terminal.wait_for("log in to anthropic")
    rows_shown = terminal.screen.splitlines()
    assert next(row for row in rows_shown if "log in to" in row) < next(row for row in rows_shown if "again" in row)
    assert "claude" not in terminal.screen[terminal.screen.index("log in to") :].replace("claude-sonnet-5-5", "")
    terminal.press("enter")
    terminal.wait_for("Paste the key")
    server.add(Say("now it works"))
    terminal.paste("sk-another-0123456789")
    terminal.wait_for("•" * 21)
    terminal.press("enter")
    terminal.wait_for("now it works")
    assert user_texts(server.requests[-1]) == ["my prompt"]
    assert server.requests[-1].headers["x-api-key"] == "sk-another-0123456789"


def test_only_models_with_a_credential_are_offered(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """The key of the flags is dropped with another model, so that models that need it cannot be reached."""
    server = serve([Refuse(403, "not for you")])
    two_providers(zot, server.url)
    terminal = open_zot()
    terminal.submit("my prompt")
    terminal.wait_for("beta/beta-one")
    assert "alpha/alpha-one" in terminal.screen
    assert "    anthropic/" not in terminal.screen


def test_keys_typed_while_picker_is_open_reach_editor(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([Refuse(401, "who are you")])
    terminal = open_zot()
    terminal.submit("my prompt")
    terminal.wait_for(ASKED)
    terminal.type("and then 2 more")
    terminal.wait_for("▌ and then 2 more")
    assert "filter" not in terminal.screen
    server.add(Say("an answer to both"))
    terminal.press("enter")
    terminal.wait_for("an answer to both")
    assert ASKED not in terminal.screen
    assert user_texts(server.requests[-1]) == ["my prompt", "and then 2 more"]


def test_a_refused_request_gives_the_prompt_back(serve: Any, open_zot: OpenZot) -> None:
    server = serve([Refuse(400, "a bad field")])
    terminal = open_zot()
    terminal.submit("my prompt")
    terminal.wait_until(lambda: terminal.screen.count("my prompt") == 2)
    assert ASKED not in terminal.screen
    server.add(Say("now it works"))
    terminal.submit(", mended")
    terminal.wait_for("now it works")
    assert user_texts(server.requests[-1]) == ["my prompt, mended"]


def test_an_answer_that_broke_off_can_be_gone_on_with(serve: Any, open_zot: OpenZot) -> None:
    server = serve([StreamError(after=Say("The answer is"))])
    terminal = open_zot()
    terminal.submit("my prompt")
    terminal.wait_for("the answer was interrupted")
    terminal.wait_for("go on from here")
    assert len(server.requests) == 1, "nothing happens by itself where somebody can be asked"
    server.add(Say("forty-two"))
    terminal.press("enter")
    terminal.wait_for("forty-two")
    assert "continuing from where the answer was interrupted" in terminal.everything
    assert [role for role, _ in said(server.requests[-1])] == ["user", "assistant", "user"]
    assert "Go on exactly where it ends" in user_texts(server.requests[-1])[-1]
    assert "Go on exactly" not in terminal.everything


def test_esc_gives_up_in_a_wait_at_once(serve: Any, open_zot: OpenZot) -> None:
    """issue 29.14: the first esc cancels; the prompt is back in the editor, and another one replaces it."""
    server = serve([Refuse(529, "Overloaded", {"retry-after": "120"}), Say("answered")])
    terminal = open_zot()
    terminal.submit("my prompt")
    terminal.wait_for("overloaded, try 2 of 3 in 120 s")
    terminal.press("esc")
    terminal.wait_for("cancelled")
    terminal.wait_for("▌ my prompt")
    assert len(server.requests) == 1
    terminal.submit(", changed")
    terminal.wait_for("answered")
    assert user_texts(server.requests[1]) == ["my prompt, changed"]


@pytest.mark.parametrize("status", [401, 403, 500])
def test_other_failures_that_another_model_may_not_have(serve: Any, open_zot: OpenZot, status: int) -> None:
    """iface-196: other failures that another model may not have open the picker too."""
    serve([Refuse(status, "no")], repeat=True)
    terminal = open_zot()
    terminal.submit("my prompt")
    terminal.wait_for(ASKED)


def test_fallback_model_is_tried_before_picker_opens(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([Refuse(401, '{"error": {"message": "wrong key"}}'), Say("from the second"), Refuse(401, "no")])
    two_providers(zot, server.url)
    flags = ["--provider", "alpha", "--model", "alpha-one", "--fallback-model", "beta/beta-one"]
    terminal = open_zot(*flags, model=False, columns=120)
    terminal.submit("my prompt")
    terminal.wait_for("from the second")
    assert (
        "! model alpha/alpha-one failed: alpha: http 401: wrong key; continuing with beta/beta-one" in terminal.screen
    )
    assert ASKED not in terminal.everything
    terminal.wait_for("beta-one")  # the status bar
    terminal.submit("and another one")
    terminal.wait_for(ASKED)
    assert "beta/beta-one did not answer" in terminal.screen


def test_a_note_does_not_keep_esc_from_giving_up(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """One esc, whatever stands below the transcript."""
    configure(zot, auto_compact_threshold=1, retries=2, retry_wait_s=0.01)
    server = serve([Say("first", usage=(190_000, 5)), Refuse(529, "Overloaded", {"retry-after": "120"})], repeat=True)
    terminal = open_zot()
    terminal.submit("one")
    terminal.wait_for("first")
    terminal.submit("two")
    terminal.wait_for("compacting")
    terminal.wait_for("overloaded, try 2 of 3 in")
    terminal.press("esc")
    terminal.wait_for("cancelled")
    assert len(server.requests) == 2
