"""Configuration of telemetry: the standard OTEL variables, then the setting ``telemetry``. Off unless one names an
endpoint. Content (prompts, answers, arguments) is off unless it is switched on by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from zot.errors import UsageError

if TYPE_CHECKING:
    from zot.agent.settings import TelemetrySettings

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PROTOCOLS = ("http/json", "http/protobuf")
_TRUE = ("true", "1", "yes", "on", "span_only", "span_and_event")
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


class TraceContext(msgspec.Struct, frozen=True):
    """A span of another program, or of zot, that spans hang under."""

    trace_id: str
    span_id: str
    sampled: bool = True
    state: str = ""

    @property
    def header(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


class TelemetryConfig(msgspec.Struct, frozen=True, kw_only=True):
    """``traces`` and ``metrics`` are addresses; an empty one switches that signal off."""

    traces: str = ""
    metrics: str = ""
    headers: dict[str, str] = {}
    resource: dict[str, str] = {}
    content: bool = False
    parent: TraceContext | None = None


def parse_trace_parent(header: str, state: str = "") -> TraceContext | None:
    """None for a missing or malformed header, which counts as none."""
    found = _TRACE_PARENT.fullmatch(header.strip().lower())
    if found is None or header.startswith("ff") or not (int(found[1], 16) and int(found[2], 16)):
        return None
    return TraceContext(found[1], found[2], bool(int(found[3], 16) & 1), state)


def read_config(environ: Mapping[str, str], settings: TelemetrySettings) -> TelemetryConfig:
    """UsageError names the wrong variable or setting."""
    protocol = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or ""
    if protocol and protocol not in _PROTOCOLS:
        raise UsageError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}: zot sends OTLP over HTTP; set it to http/json and "
            f"{ENDPOINT} to the HTTP port of the collector (usually 4318)"
        )
    base = settings.endpoint or environ.get(ENDPOINT, "")
    content = settings.content or environ.get(_CONTENT, "").strip().lower() in _TRUE
    headers = _pairs(environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""), "OTEL_EXPORTER_OTLP_HEADERS")
    resource = _pairs(environ.get("OTEL_RESOURCE_ATTRIBUTES", ""), "OTEL_RESOURCE_ATTRIBUTES")
    return TelemetryConfig(
        traces=_address("traces", base, environ),
        metrics=_address("metrics", base, environ),
        headers=headers,
        resource={**resource, "service.name": environ.get("OTEL_SERVICE_NAME") or resource.get("service.name", "zot")},
        content=content,
        parent=parse_trace_parent(environ.get("TRACEPARENT", ""), environ.get("TRACESTATE", "")),
    )


def _address(signal: str, base: str, environ: Mapping[str, str]) -> str:
    if environ.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp") == "none":
        return ""
    if signal == "traces" and environ.get("OTEL_TRACES_SAMPLER", "").endswith("always_off"):
        return ""
    name = f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"
    address = environ.get(name) or (f"{base.rstrip('/')}/v1/{signal}" if base else "")
    if address and not address.startswith(("http://", "https://")):
        source = name if environ.get(name) else ENDPOINT if base == environ.get(ENDPOINT) else "telemetry.endpoint"
        raise UsageError(f"{source}: {environ.get(name) or base}: expected an http or https address")
    return address


def _pairs(text: str, variable: str) -> dict[str, str]:
    """``key=value,key=value`` with percent-encoding."""
    found: dict[str, str] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{variable}: expected key=value pairs separated by commas")
        found[key.strip()] = unquote(value.strip())
    return found
