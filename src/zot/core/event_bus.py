"""Event bus: subscribers receive events synchronously, in subscription order, filtered by type. The session is first,
so that nothing is shown before it is written."""

from __future__ import annotations

from collections.abc import Callable

from zot.core.events import AgentEvent

Reader = Callable[[AgentEvent], None]


class EventBus:
    """``on_failure`` receives the exception of a subscriber, which is skipped until ``hear_all``.
    Without it ``emit`` raises."""

    def __init__(self) -> None:
        self._readers: list[tuple[Reader, frozenset[type[AgentEvent]] | None]] = []
        self._by_kind: dict[type[AgentEvent], tuple[Reader, ...]] = {}
        self._left_out: set[Reader] = set()
        self.on_failure: Callable[[Exception], None] | None = None

    def subscribe(self, reader: Reader, *kinds: type[AgentEvent], first: bool = False) -> Callable[[], None]:
        """Subscribe to these kinds of events, or to all; call the result to unsubscribe."""
        entry = (reader, frozenset(kinds) or None)
        self._readers.insert(0 if first else len(self._readers), entry)
        self._by_kind.clear()

        def remove() -> None:
            if entry in self._readers:
                self._readers.remove(entry)
                self._by_kind.clear()

        return remove

    def emit(self, event: AgentEvent) -> None:
        kind = type(event)
        readers = self._by_kind.get(kind)
        if readers is None:
            readers = self._by_kind[kind] = self._of(kind)
        for reader in readers:
            try:
                reader(event)
            except Exception as error:
                if self.on_failure is None:
                    raise
                self._left_out.add(reader)
                self._by_kind.clear()
                self.on_failure(error)

    def has_subscriber(self, kind: type[AgentEvent]) -> bool:
        """True if there is a subscriber for this kind of event."""
        return bool(self._of(kind))

    def reset_failed(self) -> None:
        self._left_out.clear()
        self._by_kind.clear()

    def _of(self, kind: type[AgentEvent]) -> tuple[Reader, ...]:
        return tuple(
            reader
            for reader, kinds in self._readers
            if reader not in self._left_out and (kinds is None or kind in kinds)
        )
