"""The Runtime for programs that are not asynchronous."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer, Say, Slow
from zot.errors import AgentBusy, RuntimeClosed, UsageError
from zot.sdk import Done, Options, SyncRuntime, TextDelta, text_of

Serve = Callable[..., FakeModelServer]
Make = Callable[..., Options]


def test_a_prompt_is_a_plain_loop(serve: Serve, options: Make) -> None:
    with SyncRuntime(**options(serve(Say("Hello there"), Say("summary")))) as zot:
        events = list(zot.prompt("hi"))
        assert "".join(event.delta for event in events if isinstance(event, TextDelta)) == "Hello there"
        assert isinstance(events[-1], Done) and zot.state().message_count == 2
        assert zot.compact() == "summary" and zot.cost().output > 0 and zot.list_models()
        zot.set_messages()
        assert zot.messages() == ()


def test_leaving_the_loop_cancels_and_the_next_prompt_works(serve: Serve, options: Make) -> None:
    with SyncRuntime(**options(serve(Slow(Say("word " * 2000), 0.005), Say("after")))) as zot:
        for event in zot.prompt("hi"):
            if isinstance(event, TextDelta):
                break
        assert zot.ask("again") == "after"
        assert text_of(zot.messages()[-1]) == "after"


def test_other_thread_may_cancel_but_not_prompt(serve: Serve, options: Make) -> None:
    with SyncRuntime(**options(serve(Slow(Say("word " * 2000), 0.005)))) as zot:
        threads: list[threading.Thread] = []
        events: list[Any] = []
        for event in zot.prompt("hi"):
            events.append(event)
            if isinstance(event, TextDelta) and not threads:
                with pytest.raises(AgentBusy):
                    zot.prompt("again")
                threads.append(threading.Thread(target=zot.cancel))
                threads[0].start()
        threads[0].join()
        assert events[-2].stop == "aborted" and events[-1] == Done()


def test_sync_runtime_reports_closed_or_failed_open(serve: Serve, options: Make) -> None:
    with SyncRuntime(**options(serve(Say("x")))) as zot:
        zot.close()
        with pytest.raises(RuntimeClosed, match="runtime is closed"):
            zot.ask("hi")
        with pytest.raises(RuntimeClosed, match="runtime is closed"):
            zot.prompt("hi")
    before = threading.active_count()
    with pytest.raises(UsageError, match="unknown provider"), SyncRuntime(provider="nobody"):
        pass
    assert threading.active_count() == before


def test_unread_prompt_is_cancelled_from_any_thread(serve: Serve, options: Make) -> None:
    server = serve(Slow(Say("word " * 2000), 0.005), Say("after"))
    with SyncRuntime(**options(server)) as zot:
        unread = zot.prompt("hi")
        while not server.requests:
            zot.state()
        del unread
        assert zot.ask("again") == "after"
