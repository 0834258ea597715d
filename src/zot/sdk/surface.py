"""What extensions show, as events of the stream: notes go to the prompt that runs, or wait for the next one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from zot.features.extensions.ui import SilentSurface
from zot.wire.rpc_frames import ExtClearNotes, ExtDisplay, ExtensionEvent, ExtNotify

_HELD = 256  # notes of an idle runtime; the oldest give way


class EventSurface(SilentSurface):
    """``deliver`` says whether somebody took the event."""

    def __init__(self, deliver: Callable[[ExtensionEvent], bool]) -> None:
        self._deliver = deliver
        self._held: deque[ExtensionEvent] = deque(maxlen=_HELD)

    def notify(self, extension: str, level: str, message: str) -> None:
        self._show(ExtNotify(extension=extension, level=level, message=message))

    def display(self, extension: str, text: str) -> None:
        self._show(ExtDisplay(extension=extension, text=text))

    def clear_notes(self, extension: str) -> None:
        self._show(ExtClearNotes(extension=extension))

    def release(self) -> None:
        """A prompt began: what waited is its first events."""
        while self._held:
            self._deliver(self._held.popleft())

    def _show(self, event: ExtensionEvent) -> None:
        if not self._deliver(event):
            self._held.append(event)
