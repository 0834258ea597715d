"""What extensions say into the conversation: limits, and messages that wait for the next step or prompt."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from zot.core.events import OF_EXTENSION, TYPED, AgentEvent, PromptAccepted, TurnStart
from zot.features.extensions.requests import RequestError
from zot.wire import limits

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.feature import PromptDraft
    from zot.features.extensions.child import ExtensionChild
    from zot.provider.messages import Message

_FOLLOWED = frozenset({"idle", "prompt_end"})


class ConversationInput:
    """``for_step`` are messages to add before the next model call, ``for_prompt`` those for the user's next prompt."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._for_step: list[Message] = []
        self._for_prompt: list[Message] = []
        self._in_a_row = 0
        self._follow_ups = 0
        self._times: dict[str, deque[float]] = {}
        conversation.subscribe(self._step_starts, TurnStart)

    # --- limits

    def count_message(self, child: ExtensionChild) -> None:
        """RequestError above the limit of messages in a minute."""
        times, now = self._times.setdefault(child.name, deque()), time.monotonic()
        while times and now - times[0] > 60:
            times.popleft()
        if len(times) >= limits.CHAT_PER_MINUTE:
            raise RequestError("busy", f"chat.send: at most {limits.CHAT_PER_MINUTE} messages a minute")
        times.append(now)

    def count_prompt(self, child: ExtensionChild) -> None:
        """RequestError after so many prompts without one of the user."""
        if self._in_a_row >= limits.CHAT_IN_A_ROW:
            text = f"chat.send: {limits.CHAT_IN_A_ROW} prompts of extensions in a row; the user must send the next one"
            child.fault("prompts in a row", text)
            raise RequestError("refused", text)
        self._in_a_row += 1

    def may_follow_up(self, child: ExtensionChild) -> bool:
        """Whether an extension may start another prompt after one that ended."""
        most = limits.FOLLOW_UPS_IN_A_ROW
        if self._follow_ups >= most:
            child.fault(
                "prompts in a row", f"prompt_end: continue: {most} prompts in a row; the user must send the next"
            )
            return False
        self._follow_ups += 1
        return True

    # --- waiting messages

    def add_before_step(self, message: Message) -> None:
        self._for_step.append(message)

    def add_to_next_prompt(self, message: Message) -> None:
        self._for_prompt.append(message)

    def prompted(self, draft: PromptDraft) -> None:
        """A prompt starts: its messages go before it."""
        if OF_EXTENSION in draft.meta and TYPED not in draft.meta:
            return
        self._in_a_row = self._follow_ups = 0
        waiting, self._for_step, self._for_prompt = [*self._for_step, *self._for_prompt], [], []
        for message in waiting:
            self._conversation.add_message(message)

    def _step_starts(self, event: AgentEvent) -> None:
        """No tool call is open here: messages may be added."""
        waiting, self._for_step = self._for_step, []
        for message in waiting:
            self._conversation.add_message(message)


async def wait_for_followers(conversation: Conversation, children: Iterable[ExtensionChild]) -> None:
    """A headless run is about to end: wait shortly for prompts of extensions that follow it."""
    if conversation.queued or not any(
        child.alive and "chat" in child.granted and child.events & _FOLLOWED for child in children
    ):
        return
    accepted = asyncio.Event()
    leave = conversation.subscribe(lambda event: accepted.set(), PromptAccepted)
    try:
        async with asyncio.timeout(limits.CHAT_LAST_WAIT):
            await accepted.wait()
    except TimeoutError:
        pass
    finally:
        leave()
