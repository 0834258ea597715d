"""What the user adds while the agent works. Nothing given here is ever lost.

Steering joins the running prompt before its next model call; what no call picked up goes to the front of the
queue. Queued prompts wait, in order, until the mode runs them one by one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from zot.provider.messages import ImageBlock, ToolCallBlock


class PendingPrompt(msgspec.Struct, frozen=True):
    """Something the user said, not yet part of the transcript."""

    text: str
    images: tuple[ImageBlock, ...] = ()


class FirstCall(msgspec.Struct, frozen=True):
    """A tool call an extension wants made and recorded before the model answers."""

    call: ToolCallBlock
    origin: str


class Inputs:
    def __init__(self) -> None:
        self._steering: deque[PendingPrompt] = deque()
        self._queue: deque[PendingPrompt] = deque()

    def steer(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        self._steering.append(PendingPrompt(text, tuple(images)))

    def enqueue(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        self._queue.append(PendingPrompt(text, tuple(images)))

    @property
    def steered(self) -> bool:
        return bool(self._steering)

    @property
    def steering(self) -> tuple[PendingPrompt, ...]:
        return tuple(self._steering)

    @property
    def queued(self) -> tuple[PendingPrompt, ...]:
        return tuple(self._queue)

    def take_steering(self) -> tuple[PendingPrompt, ...]:
        taken = tuple(self._steering)
        self._steering.clear()
        return taken

    def withdraw(self, prompt: PendingPrompt) -> None:
        """Forget this very prompt, if it is still among what was steered."""
        self._steering = deque(each for each in self._steering if each is not prompt)

    def take_queued(self) -> PendingPrompt | None:
        """The oldest queued prompt, to be run next."""
        return self._queue.popleft() if self._queue else None

    def take_back(self) -> PendingPrompt | None:
        """The newest queued prompt, for the user to edit again."""
        return self._queue.pop() if self._queue else None

    def take_all(self) -> tuple[PendingPrompt, ...]:
        """Everything queued, oldest first; the queue is empty afterwards."""
        taken = tuple(self._queue)
        self._queue.clear()
        return taken

    def requeue_steering(self) -> None:
        """The run is over: what it did not pick up comes first in the queue."""
        self._queue.extendleft(reversed(self.take_steering()))
