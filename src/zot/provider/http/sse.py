"""Parser of server-sent events.
Common shapes are split with ``bytes.split``; only others are read line by line, so that an event costs about 1 µs."""

from __future__ import annotations

import msgspec

from zot.errors import TransportFailed

MAX_EVENT_BYTES = 64 * 1024 * 1024
MAX_STREAM_BYTES = 256 * 1024 * 1024
MAX_EVENT_LINES = 100_000  # empty lines have no bytes, but their number is unlimited
_LONGEST_NAME = 100  # bytes of an event name; longer ones are not cached
_BOM = b"\xef\xbb\xbf"


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One server-sent event. ``data`` stays bytes: the JSON decoder reads it without a copy."""

    event: str
    data: bytes


class SseParser:
    """Feed bytes, get completed events; ``close`` returns the last ones.
    Events over ``limit``, with too many lines, or without an end raise TransportFailed."""

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._limit = limit
        self.last_id = ""  # where an interrupted stream may be resumed, if the server supports it,
        self.retry = ""  # and after how many milliseconds
        self._line = bytearray()  # the unfinished line
        self._data: list[bytes] = []  # data lines of the unfinished event
        self._event = b""
        self._held = 0  # bytes in _data
        self._names: dict[bytes, str] = {}
        self._after_cr = False
        self._at_start = True
        self._total = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        self._total += len(chunk)
        if self._total > MAX_STREAM_BYTES:
            text = f"protocol error: the stream is larger than {MAX_STREAM_BYTES // 2**20} MiB"
            raise TransportFailed(text, retryable=False)
        chunk = self._normalised(chunk)
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._begin_line(chunk)
            return []
        lines = chunk[:end]
        if self._line:
            lines = bytes(self._line) + lines
            self._line.clear()
        events: list[SseEvent] = []
        *blocks, rest = lines.split(b"\n\n")
        for block in blocks:
            event = None if self._data or self._event else self._common(block)
            if event is not None:
                events.append(event)
                continue
            for line in block.split(b"\n"):
                self._read_line(line, events)
            self._emit(events)
        if rest:
            for line in rest[:-1].split(b"\n"):
                self._read_line(line, events)
        if end < len(chunk):
            self._begin_line(chunk[end:])
        return events

    def close(self) -> list[SseEvent]:
        """End of input: also deliver an event without its blank line."""
        events: list[SseEvent] = []
        self._read_line(bytes(self._line), events)
        self._line.clear()
        self._emit(events)
        return events

    def _normalised(self, chunk: bytes) -> bytes:
        """The chunk with LF line ends, without the byte order mark of the first one."""
        if self._at_start:
            chunk = self._without_bom(chunk)
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")  # the CR was already a line end
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _without_bom(self, chunk: bytes) -> bytes:
        head = bytes(self._line) + chunk
        self._line.clear()
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._begin_line(head)
            return b""
        self._at_start = False
        return head.removeprefix(_BOM)

    def _common(self, block: bytes) -> SseEvent | None:
        """The event of ``data: …`` alone or of ``event: …`` and one ``data: …``; None: read it by lines."""
        name = ""
        if block[:7] == b"event: ":
            field, _, block = block[7:].partition(b"\n")
            name = self._names.get(field) or self._named(field)
        if block[:6] != b"data: " or len(block) == 6 or b"\n" in block:
            return None
        return SseEvent(name, block[6:])

    def _read_line(self, line: bytes, events: list[SseEvent]) -> None:
        if not line:
            self._emit(events)
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._held += len(value)
            self._check(self._held)
        elif field == b"event":
            self._event = value
        elif field == b"id" and b"\0" not in value:
            self.last_id = value.decode("latin-1")
        elif field == b"retry":
            self.retry = value.decode("latin-1")

    def _emit(self, events: list[SseEvent]) -> None:
        data = b"\n".join(self._data)
        if data or self._event:
            events.append(SseEvent(self._named(self._event), data))
        self._data, self._event, self._held = [], b"", 0

    def _begin_line(self, piece: bytes) -> None:
        self._line += piece
        self._check(self._held + len(self._line))

    def _check(self, size: int) -> None:
        if len(self._data) > MAX_EVENT_LINES:
            text = f"protocol error: a stream event has more than {MAX_EVENT_LINES:,} lines"
            raise TransportFailed(text, retryable=False)
        if size > self._limit:
            raise TransportFailed(f"protocol error: a stream event is larger than {self._limit} bytes", retryable=False)

    def _named(self, field: bytes) -> str:
        """Event names repeat, so each is decoded once."""
        name = self._names.get(field)
        if name is None:
            name = field.decode("utf-8", "replace")
            if len(self._names) < 256 and len(field) <= _LONGEST_NAME:
                self._names[field] = name
        return name
