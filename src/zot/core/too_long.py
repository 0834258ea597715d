"""A prompt that does not fit the model's window is taken out of the transcript again.

Left where it is, it would make every later prompt too long as well. One line stands in its place, which the next prompt
may replace.
"""

from __future__ import annotations

import msgspec

from zot.core.compaction import CHARS_PER_TOKEN, tokens_of
from zot.core.events import REPLACES
from zot.core.pending_input import Prompt
from zot.core.state import AgentState
from zot.errors import ContextTooLong
from zot.provider.messages import ImageBlock, user_message


def take_back(state: AgentState, refusal: ContextTooLong) -> tuple[ContextTooLong, Prompt]:
    """What to tell the user, and the prompt itself. The transcript must end with an unanswered one."""
    message = state.unanswered
    assert message is not None
    images = tuple(block for block in message.content if isinstance(block, ImageBlock))
    size = f"about {tokens_of(message):,} tokens" + (f" and {len(images)} images" if images else "")
    instead = user_message(f"[a prompt of {size} was taken out here: it did not fit the model's window]")
    state.replace_last(msgspec.structs.replace(instead, meta={REPLACES: "true"}))
    text = f"{_told(state, size)}; it was taken out of the conversation again"
    told = ContextTooLong(text, provider=refusal.provider, status=refusal.status, code=refusal.code, body=refusal.body)
    told.__cause__ = refusal
    return told, Prompt(message.text(), images)


def _told(state: AgentState, size: str) -> str:
    window = state.model.context_window
    room = f"the window of {state.model.id}" + (f", which is {window:,} tokens" if window else "")
    around = (len(state.system_text()) + len(msgspec.json.encode(state.specs))) // CHARS_PER_TOKEN
    before = sum(map(tokens_of, state.messages[:-1]))
    said = f", what was said before {before:,}" if before else ""
    return (
        f"{state.client.name}: the prompt does not fit {room}: it has {size}{said}, instructions and tools {around:,}"
    )
