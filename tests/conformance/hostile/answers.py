"""Slow inputs from providers and servers: HTTP, event streams and the answers of every dialect."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

from tests.conformance.hostile.row import quietly, rows
from tests.fakes.event_frames import event_frame, frame
from zot.errors import ZotError
from zot.features.mcp.config import without_comments
from zot.features.mcp.oauth import challenge_words
from zot.features.mcp.protocol import fields, read_message
from zot.features.mcp.tool_results import to_content_blocks
from zot.features.mcp.tools import fault, to_provider_schema
from zot.local_model.coaching.advice import advise
from zot.local_model.coaching.prompts import for_file, relevant_lines
from zot.local_model.coaching.task import read_task
from zot.provider.auth.oauth.loopback_server import read_pasted, read_query
from zot.provider.auth.oauth.token_endpoint import account_name, claims_of
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.bedrock import BedrockDialect
from zot.provider.dialects.dialect import Dialect, Endpoint
from zot.provider.dialects.gemini import GeminiDialect
from zot.provider.dialects.gemini_schema import accepted
from zot.provider.dialects.grammar.action_grammar import action_grammar, editable
from zot.provider.dialects.grammar.decoder import read_blocks
from zot.provider.dialects.grammar.dialect import GrammarDialect
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.dialects.openai_responses import OpenAIResponsesDialect
from zot.provider.error_mapping import error_from_response, retry_after
from zot.provider.http.aws_eventstream import EventStreamParser
from zot.provider.http.message import ChunkedBody, body_of, split_head
from zot.provider.http.route import parse_url
from zot.provider.http.sse import SseEvent, SseParser
from zot.provider.messages import user_message
from zot.provider.model import Model
from zot.provider.model_call import Request, ToolSpec
from zot.provider.secret_redaction import redact_text

# --- HTTP and its streams


def every_word(text: str) -> object:
    task = read_task(text)
    return task.commands, task.file_names, task.search_words, task.literal_words, task.is_about("a.py")


def events(data: bytes) -> None:
    parser = SseParser()
    for at in range(0, len(data), 1024):
        parser.feed(data[at : at + 1024])
    parser.close()


def events_byte_by_byte(data: bytes) -> None:
    parser = SseParser()
    for at in range(len(data)):
        parser.feed(data[at : at + 1])
    parser.close()


SSE: dict[str, str | bytes | Callable[[int], Any]] = {
    "events": b"data: a\n\n",
    "lines": b"data: a\n",
    "empty_lines": b"data:\n",
    "returns": b"\r",
    "comments": b": a\n",
    "names": lambda n: b"".join(b"event: %d\ndata: a\n\n" % i for i in range(n // 20 + 1)),
    "one_long_line": lambda n: b"data: " + b"a" * n,
    "marks": b"\xef\xbb\xbf",
    "fields": b"a: b\n",
}
rows("events", quietly(events, ZotError), **SSE)
rows("events byte by byte", quietly(events_byte_by_byte, ZotError), **SSE)


def head(data: bytes) -> None:
    if (split := split_head(data)) is not None:
        body_of(split[0])


STATUS = b"HTTP/1.1 200 OK\r\n"
rows(
    "a response head",
    quietly(head, ZotError),
    headers=lambda n: STATUS + b"a: b\r\n" * (n // 6) + b"\r\n",
    one_header=lambda n: STATUS + b"a: " + b"b" * n + b"\r\n\r\n",
    lengths=lambda n: STATUS + b"content-length: " + b"1," * (n // 2) + b"1\r\n\r\n",
    digits=lambda n: STATUS + b"content-length: " + b"1" * n + b"\r\n\r\n",
    no_end=lambda n: STATUS + b"a: b\r\n" * (n // 6),
    reason=lambda n: b"HTTP/1.1 200 " + b"a" * n + b"\r\n\r\n",
)


def chunks(data: bytes) -> None:
    body = ChunkedBody()
    for at in range(0, len(data), 512):
        if not body.done:
            body.feed(data[at : at + 512])


rows(
    "chunks",
    quietly(chunks, ZotError),
    small=b"1\r\na\r\n",
    extensions=b"1;a=b\r\na\r\n",
    one=lambda n: b"%x\r\n" % n + b"a" * n + b"\r\n",
    digits=lambda n: b"0" * n,
    trailers=lambda n: b"0\r\n" + b"a: b\r\n" * (n // 6),
)
rows(
    "an address",
    quietly(parse_url, ZotError),
    host=lambda n: f"http://{'a' * n}/",
    parts=lambda n: f"http://{'a.' * (n // 2)}/",
    port=lambda n: f"http://a:{'9' * n}/",
    path=lambda n: f"http://a/{'ä' * (n // 2)}",
    names=lambda n: f"http://{'a@' * (n // 2)}b/",
    unicode=lambda n: f"http://{'ä' * (n // 2)}/",
)
for returned, takes in (("a callback", read_query), ("what is pasted of a login", read_pasted)):
    rows(
        returned,
        quietly(lambda text, takes=takes: takes(text, "state"), ValueError),
        fields="a=b&",
        codes="code=",
        code=lambda n: f"code={'c' * n}&state=state",
        percents=lambda n: f"code={'%41' * (n // 3)}",
        error=lambda n: f"error={'e' * n}&state=state",
        signs="&",
        states="#state",
        marks="?code=a",
    )
rows(
    "an id token",
    lambda text: (claims_of(text), account_name(text)),
    dots=".",
    letters=lambda n: f"a.{'A' * n}.c",
    signs=lambda n: f"a.{'=+/' * (n // 3)}.c",
    braces=lambda n: f"a.{'e3t7' * (n // 4)}.c",
)
MESSAGES: dict[str, str | bytes | Callable[[int], Any]] = {
    "braces": b'{"result":',
    "lists": lambda n: b'{"result":' + b"[" * n,
    "keys": lambda n: b'{"id":1,"result":{' + b'"a":1,' * (n // 6) + b'"b":1}}',
    "content": lambda n: b'{"id":1,"result":{"content":[' + b'{"type":"text","text":"a"},' * (n // 27) + b"{}]}}",
    "a_text": lambda n: b'{"id":1,"result":{"content":[{"type":"text","text":"' + b"a" * n + b'"}]}}',
    "properties": lambda n: b'{"id":1,"result":{"properties":{' + b'"a":{"$ref":"#"},' * (n // 17) + b'"b":{}}}}',
    "nothing": b" ",
}


def heard_of_a_server(data: bytes) -> None:
    message = read_message(data)
    if message is not None:
        to_content_blocks("s", "t", message.result)
        to_provider_schema(fields(message.result))
        fault(fields(message.result))


rows("a message of an MCP server", heard_of_a_server, **MESSAGES)
rows(
    "a file with comments",
    without_comments,
    slashes=b"/",
    stars=b"/*",
    lines=b"//\n",
    commas=b",",
    quotes=b'"',
    escapes=b'"\\',
)
rows("a challenge of an MCP server", challenge_words, names="a", signs="=", quotes='a="', pairs='a="b",', blanks="a ")
rows("a date to wait for", lambda text: retry_after({"retry-after": text}, 0.0), digits="9", commas=",", words="Mon ")
rows(
    "a refusal",
    lambda data: error_from_response("x", 400, {}, data),
    braces=b"{",
    objects=b'{"a":',
    text=b"a",
    quotes=b'"',
)
rows(
    "a page as a refusal",
    lambda data: error_from_response("x", 502, {}, data),
    tags=b"<",
    scripts=b"<script",
    titles=b"<title>",
)
SECRETS = frozenset({"ab" * 20, "a" * 40})
rows("keys out of a text", lambda text: redact_text(text, SECRETS), alike="ab", other="x", letters="a")


def answers(dialect: Dialect, name: str = "") -> Callable[[list[bytes]], None]:
    model = Model(id="m", provider="p", max_output=100)
    request = Request(model=model, messages=(user_message("hi"),), tools=(ToolSpec("read", "", {}),))

    def decoded(events: list[bytes]) -> None:
        decoder = dialect.decoder(request, Endpoint(provider="p", base_url="http://a", api_key="k"))
        for event in events:
            decoder.feed(SseEvent(name, event))
        decoder.end_of_input()

    return decoded


def repeated(*events: str) -> Callable[[int], list[bytes]]:
    return lambda n: [
        event.replace("#", str(i)).encode() for i, event in islice(enumerate(cycle(events)), max(n // 64, 1))
    ]


DELTA = '{"type":"content_block_delta","index":%s,"delta":{"type":"%s"}}'
rows(
    "Anthropic's events",
    answers(AnthropicDialect()),
    texts=repeated(DELTA.replace('%s"}', 'text_delta","text":"a"}') % 0),
    blocks=repeated('{"type":"content_block_start","index":#,"content_block":{"type":"text","text":"a"}}'),
    tools=repeated('{"type":"content_block_start","index":#,"content_block":{"type":"tool_use","id":"#","name":"a"}}'),
    signatures=repeated(
        '{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"aaaaaaaa"}}',
    ),
    pings=repeated('{"type":"ping"}'),
    garbage=repeated('{"type":'),
)
CALL = '{"choices":[{"delta":{"tool_calls":[{%s"function":{"name":"a","arguments":"{"}}]}}]}'
rows(
    "Chat Completions' events",
    answers(OpenAIChatDialect()),
    texts=repeated('{"choices":[{"delta":{"content":"a"}}]}'),
    thoughts=repeated('{"choices":[{"delta":{"reasoning":"a"}}]}'),
    calls=repeated(CALL % '"index":#,"id":"c#",'),
    calls_without_an_index=repeated(CALL % '"id":"c#",'),
    calls_without_anything=repeated(CALL % ""),
    endings=repeated('{"choices":[{"finish_reason":"tool_calls"}]}', CALL % '"index":#,"id":"c#",'),
    endings_of_one_call=repeated('{"choices":[{"finish_reason":"tool_calls"}]}', CALL % '"index":0,"id":"c",'),
)
SPOKEN = '{"choices":[{"delta":{"content":"%s"}}]}'
rows(
    "events of a model held by a grammar",
    answers(GrammarDialect(advise)),
    texts=repeated(SPOKEN % "a"),
    braces=repeated(SPOKEN % "{"),
    blanks=repeated(SPOKEN % " "),
    names=lambda n: [(SPOKEN % r"{\"tool\": \"").encode(), *repeated(SPOKEN % "a")(n)],
    calls=lambda n: [(SPOKEN % r"{\"tool\": \"read\", ").encode(), *repeated(SPOKEN % "a")(n)],
    endings=repeated(SPOKEN % r"{\"tool\": \"read\"}", '{"choices":[{"finish_reason":"stop"}]}'),
)
rows(
    "blocks of an action",
    read_blocks,
    fences="```\n",
    open_fences="```a\n\n",
    ticks="`",
    both="~~~\n```\n~~~\n",
)
rows(
    "the block of a reply",
    for_file("Set x.", "a.py", {}).call_args,
    fences="```\n",
    open_fences="```a\n\n",
    ticks="`",
)
rows(
    "words of a task",
    every_word,
    words="run the a.py ",
    names="a/b.c/",
    ticks="`ls ",
    quotes='"ab ',
    dots="a.",
    lines="_a-",
    ends="? ",
    commands="python3 -m a -b ",
)
rows(
    "lines a question is about",
    lambda text: relevant_lines("What is the default of a1 b2?", {"a": text}),
    lines="a1\n",
    words="default b2 ",
    digits="1.",
)
rows(
    "lines that can be edited",
    editable,
    lines="a\n",
    steps=lambda n: "\n".join(" " * (i % 90) + str(i) for i in range(n // 50)),
)
rows(
    "Responses' events",
    answers(OpenAIResponsesDialect()),
    items=repeated('{"type":"response.output_item.added","output_index":#,"item":{"type":"message","id":"#"}}'),
    texts=repeated(
        '{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"0"}}',
        '{"type":"response.output_text.delta","output_index":0,"delta":"a"}',
    ),
    calls=repeated(
        '{"type":"response.output_item.added","output_index":#,"item":{"type":"function_call","call_id":"#","name":"a"}}'
    ),
    paragraphs=repeated(
        '{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"0"}}',
        '{"type":"response.reasoning_summary_part.added","output_index":0}',
        '{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"a"}',
    ),
)

PARTS = '{"candidates":[{"content":{"parts":[%s]}}]}'
rows(
    "Gemini's events",
    answers(GeminiDialect()),
    texts=repeated(PARTS % '{"text":"a"}'),
    thoughts=repeated(PARTS % '{"text":"a","thought":true}'),
    signatures=repeated(PARTS % '{"text":"a","thoughtSignature":"aaaa"}'),
    signed_nothing=repeated(PARTS % '{"text":"","thoughtSignature":"aaaa"}'),
    calls=repeated(PARTS % '{"functionCall":{"name":"a","id":"#","args":{"a":1}}}'),
    parts=lambda n: [(PARTS % ",".join(['{"text":"a"}'] * (n // 12))).encode()],
    candidates=lambda n: [b'{"candidates":[' + b"{}," * (n // 3) + b"{}]}"],
)
rows(
    "Bedrock's events",
    answers(BedrockDialect(), "contentBlockDelta"),
    texts=repeated('{"contentBlockIndex":0,"delta":{"text":"a"}}'),
    blocks=repeated('{"contentBlockIndex":#,"delta":{"text":"a"}}'),
    thoughts=repeated('{"contentBlockIndex":#,"delta":{"reasoningContent":{"text":"a"}}}'),
    seals=repeated('{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"aaaa"}}}'),
    garbage=repeated('{"delta":'),
)
rows(
    "Bedrock's calls",
    answers(BedrockDialect(), "contentBlockStart"),
    calls=repeated('{"contentBlockIndex":#,"start":{"toolUse":{"toolUseId":"#","name":"a"}}}'),
)


def framed(data: bytes) -> None:
    parser = EventStreamParser()
    for at in range(0, len(data), 7):
        parser.feed(data[at : at + 7])
    parser.close()


rows(
    "Amazon's frames",
    quietly(framed, ZotError),
    small=event_frame("x", {}),
    empty=frame({}, b""),
    one=lambda n: event_frame("x", {"a": "a" * n}),
    headers=lambda n: frame({f"{i:09}": "" for i in range(min(n, 120_000) // 12)}, b"a" * n),
    one_header=lambda n: frame({"h": "a" * min(n, 65_000)}, b"a" * n),
    garbage=b"\xff",
    zeros=b"\0",
)
rows(
    "a schema for Gemini",
    accepted,
    properties=lambda n: {"type": "object", "properties": {str(i): {"type": "string"} for i in range(n // 9)}},
    choices=lambda n: {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}] * (n // 9)}}},
    both_of=lambda n: {
        "type": "object",
        "properties": {"a": {"allOf": [{"required": [str(i)]} for i in range(n // 40)]}},
    },
    both_of_themselves=lambda n: {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/0"}},
        "$defs": {str(i): {"allOf": [{"$ref": f"#/$defs/{i + 1}"}] * 2} for i in range(n // 40)},
    },
    twins=lambda n: {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/0"}},
        "$defs": {
            str(i): {"type": "object", "properties": {k: {"$ref": f"#/$defs/{i + 1}"} for k in "ab"}}
            for i in range(n // 40)
        },
    },
)

rows(
    "a schema for a grammar",
    lambda schema: action_grammar((ToolSpec("a", "", schema),), final=True),
    properties=lambda n: {"type": "object", "properties": {str(i): {"type": "string"} for i in range(n // 9)}},
    choices=lambda n: {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}] * (n // 9)}}},
    words=lambda n: {"type": "object", "properties": {"a": {"enum": [str(i) for i in range(n // 9)]}}},
    long_name=lambda n: {"type": "object", "properties": {"a" * n: {}}, "required": ["a" * n]},
    twins=lambda n: {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/0"}},
        "$defs": {
            str(i): {"type": "object", "properties": {k: {"$ref": f"#/$defs/{i + 1}"} for k in "ab"}}
            for i in range(n // 40)
        },
    },
    itself=lambda n: {"type": "object", "properties": {"a": {"$ref": "#"}, "b" * n: {"$ref": "#"}}},
)
