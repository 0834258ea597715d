"""Context usage: each part by name, scaled to the provider's count."""

from __future__ import annotations

import pytest

from zot.agent.context_usage import ContextUsage, window_use
from zot.provider.messages import (
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    user_message,
)
from zot.provider.model import Model
from zot.provider.model_call import Request, ToolSpec

SECTIONS = [("prompt", "", "p" * 400), ("tools", "", "t" * 40), ("file", "/x/AGENTS.md", "f" * 800), ("skills", "", "")]
SYSTEM = "\n\n".join(text for _, _, text in SECTIONS if text)
TOOLS = (ToolSpec("bash", "runs", {"type": "object"}), ToolSpec("mine", "m" * 400, {}))
MESSAGES = (
    user_message("u" * 400),
    Message("assistant", (ReasoningBlock(summary="r" * 80), TextBlock("a" * 40), ToolCallBlock("1", "bash", "{}"))),
    Message("tool", (ToolResultBlock("1", (TextBlock("o" * 4000), ImageBlock("image/png", b"x"))),)),
    Message("user", (TextBlock("s" * 200),), "", {"shell": "true"}),
    Message("user", (TextBlock("c" * 200),), "", {"compaction": "true"}),
    Message("assistant", (TextBlock("b" * 40),)),
)


def use(system: str = SYSTEM, counted: int = 0, messages: tuple[Message, ...] = MESSAGES) -> ContextUsage:
    model = Model(id="m", provider="p", context_window=100_000)
    request = Request(model=model, system=system, messages=messages, tools=TOOLS)
    return window_use(request, SECTIONS, lambda tool: "ext" if tool == "mine" else "", counted, 85)


def sizes(found: ContextUsage) -> dict[str, int]:
    return {part.name: part.tokens for part in found.parts}


def test_every_part_is_named_with_its_size() -> None:
    found = sizes(use())
    assert found["system prompt"] == 100
    assert found["list in the system prompt"] == 10
    assert found["/x/AGENTS.md"] == 200
    assert found["results of bash"] == 1004
    assert found["your prompts"] == 104
    assert found["commands you ran with !"] == 54
    assert found["summary of compacted messages"] == 54
    assert found["answers"] == 28
    assert found["retained thinking"] == 20
    assert found["images"] == 1500
    assert {"built-in tools", "tools of ext", "tool calls"} <= found.keys()
    assert "list of skills" not in found
    assert "added by extensions" not in found


def test_parts_and_free_space_sum_to_the_window() -> None:
    found = use()
    assert found.used + found.free == found.window == 100_000
    assert {part.group for part in found.parts} == {"system", "tools", "files", "messages"}


def test_extension_prompt_text_is_a_separate_part() -> None:
    assert sizes(use(SYSTEM + "x" * 4000))["added by extensions"] == pytest.approx(1000, abs=5)


def test_sum_is_scaled_to_provider_count_of_last_prompt() -> None:
    plain = use()
    sent = plain.used - 14  # without the last answer
    found = use(counted=sent * 2)
    assert found.used == pytest.approx(plain.used * 2, rel=0.01)
    assert use(counted=5).used > 100  # a figure that cannot be right is not followed into nothing


def test_an_empty_conversation_has_no_messages() -> None:
    assert use(messages=()).of("messages") == ()
