"""Spans and metrics, and their form in OTLP/JSON."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from zot.features.telemetry.config import TraceContext

Kind = Literal[1, 3]
INTERNAL: Kind = 1
CLIENT: Kind = 3
Value = str | int | float | bool | tuple[str, ...]
_LONGEST = 16_384  # characters of one attribute


class Span(msgspec.Struct):
    """One operation; ``end`` 0 means that it still runs. Times are nanoseconds since the epoch."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: Kind
    start: int
    end: int = 0
    error: str = ""
    attributes: dict[str, Value] = {}

    @property
    def context(self) -> TraceContext:
        return TraceContext(self.trace_id, self.span_id)

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9


def start_span(name: str, parent: TraceContext | None, attributes: Mapping[str, Value], kind: Kind = INTERNAL) -> Span:
    trace_id = parent.trace_id if parent is not None else os.urandom(16).hex()
    span_id, parent_id = os.urandom(8).hex(), parent.span_id if parent is not None else ""
    return Span(name, trace_id, span_id, parent_id, kind, time.time_ns(), attributes=dict(attributes))


# --- metrics

_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_METRICS: dict[str, tuple[str, tuple[float, ...]]] = {
    "gen_ai.client.token.usage": ("{token}", _TOKENS),
    "gen_ai.client.operation.duration": ("s", _SECONDS),
    "gen_ai.client.operation.time_to_first_chunk": ("s", _SECONDS),
}


class Histogram:
    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.least = self.most = 0.0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def record(self, value: float) -> None:
        self.least = min(self.least, value) if self.count else value
        self.most = max(self.most, value)
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Metrics:
    """Histograms since the last collection, by name and attributes."""

    def __init__(self) -> None:
        self._since = time.time_ns()
        self._found: dict[tuple[str, tuple[tuple[str, Value], ...]], Histogram] = {}

    def record(self, name: str, value: float, attributes: Mapping[str, Value]) -> None:
        key = name, tuple(sorted(attributes.items()))
        if key not in self._found:
            self._found[key] = Histogram(_METRICS[name][1])
        self._found[key].record(value)

    def collect(self) -> list[dict[str, Any]]:
        """All in OTLP; the next collection starts empty."""
        since, now, found = self._since, time.time_ns(), self._found
        self._since, self._found = now, {}
        by_name: dict[str, list[dict[str, Any]]] = {}
        for (name, attributes), histogram in found.items():
            by_name.setdefault(name, []).append(
                {
                    "attributes": _attributes(dict(attributes)),
                    "startTimeUnixNano": str(since),
                    "timeUnixNano": str(now),
                    "count": histogram.count,
                    "sum": histogram.total,
                    "min": histogram.least,
                    "max": histogram.most,
                    "explicitBounds": list(histogram.bounds),
                    "bucketCounts": histogram.counts,
                }
            )
        return [
            {"name": name, "unit": _METRICS[name][0], "histogram": {"aggregationTemporality": 1, "dataPoints": points}}
            for name, points in by_name.items()
        ]


# --- OTLP/JSON


def encode_traces(spans: Iterable[Span], resource: Mapping[str, Value], version: str) -> bytes:
    scoped = [{"scope": {"name": "zot", "version": version}, "spans": [_span(span) for span in spans]}]
    return msgspec.json.encode({"resourceSpans": [{"resource": _resource(resource), "scopeSpans": scoped}]})


def encode_metrics(metrics: list[dict[str, Any]], resource: Mapping[str, Value], version: str) -> bytes:
    scoped = [{"scope": {"name": "zot", "version": version}, "metrics": metrics}]
    return msgspec.json.encode({"resourceMetrics": [{"resource": _resource(resource), "scopeMetrics": scoped}]})


def _resource(attributes: Mapping[str, Value]) -> dict[str, Any]:
    return {"attributes": _attributes(attributes)}


def _span(span: Span) -> dict[str, Any]:
    row: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "attributes": _attributes(span.attributes),
    }
    if span.parent_id:
        row["parentSpanId"] = span.parent_id
    if span.error:
        row["status"] = {"code": 2, "message": span.error[:_LONGEST]}
    return row


def _attributes(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": _clean(value)}
        case _:
            return {"arrayValue": {"values": [{"stringValue": _clean(each)} for each in value]}}


def _clean(text: str) -> str:
    """Shortened; a lone surrogate cannot be encoded."""
    return text[:_LONGEST].encode("utf-8", "replace").decode()
