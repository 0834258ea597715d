"""Reads recorded exchanges: VCR files in two layouts (some packed, some bodies packed) and plain SSE files."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec
import yaml

FIXTURES = Path(__file__).resolve().parents[3] / ".cache" / "fixtures"

# libyaml's loader is ten times faster, where it was built in
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Kind = Literal["messages", "chat", "responses", "gemini", "bedrock"]


class Exchange(NamedTuple):
    """One streamed answer; ``id`` is package, file and number within the file."""

    id: str
    kind: Kind
    status: int
    content_type: str
    body: bytes


def streamed_exchanges() -> list[Exchange]:
    """All of them, in a stable order; empty when nothing was fetched."""
    return [exchange for read in (_cassettes, _plain_files) for exchange in read() if exchange.body]


def _cassettes() -> Iterator[Exchange]:
    for package in ("langchain_anthropic", "langchain_openai", "magentic", "langchain_aws", "pydantic_ai"):
        for path in sorted((FIXTURES / package).glob("**/*.yaml*")):
            yield from _cassette(package, path)


def _cassette(package: str, path: Path) -> Iterator[Exchange]:
    raw = path.read_bytes()
    content = yaml.load(gzip.decompress(raw) if path.suffix == ".gz" else raw, Loader=_LOADER)
    name = path.name.removesuffix(".gz").removesuffix(".yaml")
    for number, response in enumerate(_responses(content)):
        body = _body(response)
        if kind := _kind(body):
            content_type = _content_type(response)
            yield Exchange(f"{package}-{name}-{number}", kind, response["status"]["code"], content_type, body)


def _responses(content: dict[str, Any]) -> list[dict[str, Any]]:
    if "interactions" in content:
        return [interaction["response"] for interaction in content["interactions"]]
    return cast("list[dict[str, Any]]", content["responses"])


def _body(response: dict[str, Any]) -> bytes:
    body = (response.get("body") or {}).get("string") or b""  # one that was read as JSON stands elsewhere
    raw = body.encode() if isinstance(body, str) else cast("bytes", body)
    return gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw


def _content_type(response: dict[str, Any]) -> str:
    """The recorded type; redacted and missing ones were event streams."""
    headers: dict[str, Any] = response.get("headers") or {}
    values = next((value for name, value in headers.items() if name.lower() == "content-type"), None)
    return cast("list[str]", values)[0] if isinstance(values, list) and values else "text/event-stream"


def _kind(body: bytes) -> Kind | None:
    """Which dialect a body is in; None when it was not streamed."""
    if b":event-type" in body[:64]:
        return "bedrock"
    if not body.startswith((b"data:", b"event:", b":")):
        return None
    first = next(line for line in body.splitlines() if line.startswith(b"data:"))
    event = msgspec.json.decode(first[5:])
    if "candidates" in event:
        return "gemini"
    type = event.get("type", "")
    if type.startswith("response"):
        return "responses"
    return "messages" if type else "chat"


def _plain_files() -> Iterator[Exchange]:
    root = FIXTURES / "anthropic"
    for path in sorted([*root.glob("**/*.txt"), *root.glob("**/*.sse")]):
        yield Exchange(f"anthropic-{path.stem}", "messages", 200, "text/event-stream", path.read_bytes())
