"""Readers of what programs and servers send: JSON, frames, commands, events, HTTP, answers of models."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import msgspec

from fuzz.cases import cut
from fuzz.reader import holds, reader, text_of
from tests.fakes.event_frames import event_frame, exception_frame
from zot.errors import BadFrame, BadRequest, ConfigError, ExtensionError, LoginFailed, ProviderError, TransportFailed
from zot.features.extensions.loader.manifest import read_manifest
from zot.features.mcp.config import decode as decode_servers
from zot.features.mcp.config import entries_of, expand_variables, without_comments
from zot.features.mcp.elicitation import parse_question, read_answer
from zot.features.mcp.oauth import challenge_words
from zot.features.mcp.protocol import McpError, fields, read_message
from zot.features.mcp.tool_results import to_content_blocks
from zot.features.mcp.tools import fault, param_headers, to_provider_schema
from zot.provider.auth.oauth.loopback_server import read_pasted, read_query
from zot.provider.auth.oauth.token_endpoint import account_id, account_name, check_claims, claims_of
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.bedrock import BedrockDialect
from zot.provider.dialects.dialect import Dialect, Endpoint
from zot.provider.dialects.gemini import GeminiDialect
from zot.provider.dialects.gemini_schema import accepted
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.dialects.openai_responses import OpenAIResponsesDialect
from zot.provider.error_mapping import error_from_response, final_error, retry_after
from zot.provider.http.aws_eventstream import EventStreamParser
from zot.provider.http.message import body_of, split_head
from zot.provider.http.route import parse_url, proxy_for
from zot.provider.http.sse import SseEvent, SseParser
from zot.provider.messages import user_message
from zot.provider.model import Model
from zot.provider.model_call import Finished, Request
from zot.provider.secret_redaction import redact, secrets_of
from zot.system import strict_json
from zot.system.files import decode_object
from zot.wire.extension_codec import decode_child, decode_host, encode
from zot.wire.line_splitter import LineSplitter
from zot.wire.rpc_codec import BadCommand, decode, decode_command

JSON_SEEDS = (
    '{"a": [1, 2.5, -0, 1e10, true, false, null, "x\\n\\u00e9\\ud83d\\ude00"], "b": {"c": {}, "d": []}}',
    '{"type":"notify","level":"info","message":"hello"}',
    '[{"a":1,"b":2},{"a":"漢字","c":[[[[]]]]}]',
    '{"a" : 1 , "b" : [ ] }',
)
JSON_WORDS = (
    '{ } [ ] , : " "a" "b": \\ \\n \\u0041 \\ud800 \\udc00 1 -1 0.5 1e5 true false null NaN Infinity "a":1, [[[['
)


@reader("JSON", JSON_SEEDS, JSON_WORDS)
def _json(data: bytes, rng: random.Random) -> None:
    try:
        value = strict_json.loads(data)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        return
    holds(value == strict_json.exact(data) == json.loads(data), "three readers, three values", value)
    again = msgspec.json.encode(value)
    holds(strict_json.loads(again) == value, "it does not survive being written", value, again)


FRAMES = (
    '{"type":"hello","name":"x","version":"1","capabilities":["guard"]}',
    '{"type":"register_tool","name":"t","description":"d","schema":{"type":"object","properties":{}}}',
    '{"type":"tool_result","id":"1","content":[{"type":"text","text":"x"}],"is_error":false}',
    '{"type":"event_intercept_response","id":"1","block":true,"reason":"no","modified_args":{"a":1}}',
    '{"type":"command_response","id":"1","open_panel":{"id":"p","title":"t","lines":["a","b"]}}',
    '{"type":"subscribe","events":["turn_start"],"intercept":["tool_call"]}',
    '{"type":"call_tool","id":"1","name":"t","args":{}}',
)
HOST_FRAMES = (
    '{"type":"hello_ack","protocol_version":1,"zot_version":"1","provider":"p","model":"m","cwd":"/"}',
    '{"type":"tool_call","id":"1","name":"t","args":{"a":[1]}}',
    '{"type":"event","event":"turn_start","step":1}',
    '{"type":"event_intercept","id":"1","event":"tool_call","tool_name":"t","tool_args":{}}',
    '{"type":"panel_key","panel_id":"p","key":"enter","text":""}',
)
FRAME_WORDS = (
    JSON_WORDS + ' "type": "id": "content": "name": "hello" "tool_result" "lines": "is_error":true, "id":null,'
)


def _frame(decoder: Callable[[bytes], Any]) -> Callable[[bytes, random.Random], None]:
    def read(data: bytes, rng: random.Random) -> None:
        try:
            frame = decoder(data)
        except BadFrame:
            return
        line = encode(frame)
        holds(line.endswith(b"\n") and line.count(b"\n") == 1, "a frame is one line", line)
        holds(decoder(line) == frame, "it does not survive being written", frame, line)

    return read


reader("frames of extensions", FRAMES, FRAME_WORDS)(_frame(decode_child))
reader("frames of the host", HOST_FRAMES, FRAME_WORDS)(_frame(decode_host))


@reader(
    "commands of RPC",
    (
        '{"id":"1","type":"prompt","message":"hi","images":[{"mime_type":"image/png","data":"aGk="}]}',
        '{"id":"2","type":"approve","request_id":"r","decision":"once"}',
        '{"type":"set_model","model":"m","provider":"p"}',
        '{"type":"hello","id":null}',
    ),
    FRAME_WORDS + ' "prompt" "message": "images":[ "data":"a=", "ping"',
)
def _command(data: bytes, rng: random.Random) -> None:
    with suppress(BadCommand):
        decode_command(data)
    with suppress(msgspec.DecodeError, UnicodeError, RecursionError):
        decode(data)


@reader("lines", ("a\nbb\n\nccc\r\n", "x" * 50 + "\n" + "y"), "a bb \n \r\n xxxxxxxxxxxxxxxxxxxx")
def _lines(data: bytes, rng: random.Random) -> None:
    limit = rng.choice((1, 5, 20, 1000))
    whole, pieces = LineSplitter(limit), LineSplitter(limit)
    once = whole.feed(data)
    parts = [line for piece in cut(rng, data) for line in pieces.feed(piece)]
    holds(once == parts, "cut differently, other lines", once, parts)
    holds(whole.rest() == pieces.rest(), "cut differently, another rest")
    holds(all(line is None or len(line) <= limit for line in once), "a line above the limit", once)


@reader(
    "manifests",
    (
        '{"name":"x","exec":"python3","args":["main.py"],"guard":true,"skills":["a"]}',
        '{\n  "name": "x",\n  "enabled": false\n}\n',
    ),
    JSON_WORDS + ' "name":"x", "exec":"a", "guard":true, "args":["a"]',
)
def _manifest(data: bytes, rng: random.Random) -> None:
    with suppress(ExtensionError):
        read_manifest(Path("/nowhere"), data)
    with suppress(ConfigError):
        decode_object(Path("/x.json"), data)


@reader(
    "server-sent events",
    (
        'event: message_start\ndata: {"type":"message_start"}\n\ndata: [DONE]\n\n',
        ": comment\r\ndata: a\r\ndata: b\r\nid: 1\r\nretry: 5\r\n\r\n",
        "data:x\r\rdata\r\n\nevent:\n\n",
        "\ufeffdata: a\n\n",
    ),
    "data: data event: id: retry: : \n \r \r\n \n\n [DONE] x \ufeff",
)
def _events(data: bytes, rng: random.Random) -> None:
    whole, pieces = SseParser(1000), SseParser(1000)
    try:
        once = whole.feed(data) + whole.close()
    except TransportFailed:
        return
    with suppress(TransportFailed):
        parts = [event for piece in cut(rng, data) for event in pieces.feed(piece)] + pieces.close()
        holds(once == parts, "cut differently, other events", once, parts)


HEADS = (
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 429 Too Many\r\ncontent-length: 5\r\nretry-after: 7\r\n\r\nhello",
    "HTTP/1.0 200\r\n\r\nto the end",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;a=b\r\nx\r\n0\r\nt: v\r\n\r\nextra",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
)


@reader(
    "HTTP", HEADS, "HTTP/1.1 200 OK \r\n \r\n\r\n content-length: transfer-encoding: chunked , 5 a ; 0 : close ffff"
)
def _http(data: bytes, rng: random.Random) -> None:
    try:
        split = split_head(data)
        if split is None:
            return
        head, rest = split
        holds(100 <= head.status <= 999 or head.status < 100, "a status of three digits", head)
        whole, pieces = body_of(head), body_of(head)
    except TransportFailed:
        return
    try:
        once = whole.feed(rest)
    except TransportFailed:
        return
    parts = b""
    left = cut(rng, rest)
    with suppress(TransportFailed):
        while left and not pieces.done:
            parts += pieces.feed(left.pop(0))
        after = pieces.extra + b"".join(left)
        holds((once, whole.done) == (parts, pieces.done), "cut differently, another body", once, parts)
        holds(not whole.done or whole.extra == after, "cut differently, another rest", whole.extra, after)


ADDRESSES = (
    "https://api.example.com/v1?x=1#y",
    "http://me:pass%20word@[::1]:8080/a",
    "http://münchen.example:80",
    "HTTP://A/",
)
KEY = "sk-live/9f8e7d6c5b4a+3210=="


@reader("addresses", ADDRESSES, "http:// https:// : / @ [ ] ? # . a é % 80 65536 :: localhost 127.0.0.1")
def _address(data: bytes, rng: random.Random) -> None:
    text = data.decode("utf-8", rng.choice(("replace", "surrogateescape")))
    with suppress(BadRequest):
        url = parse_url(text)
        url.authority.encode("ascii")
        url.target.encode("ascii")
        holds(0 < url.port < 65536 and url.host == url.host.lower(), "a usable place", url)
        holds(not any(c <= " " for c in url.authority + url.target), "a request of one line", url)
    with suppress(BadRequest):
        proxy_for(parse_url("https://a.example"), {"https_proxy": text, "no_proxy": text})
    secrets_of(Endpoint(provider="p", base_url=text, api_key=KEY, headers={"x-key": text}))


RETURNS = (
    "http://127.0.0.1:1/callback?code=abc&state=st4te",
    "?error=access_denied&error_description=no%20thanks&state=st4te",
    "abc#st4te",
    "e30.eyJhdWQiOiJjIiwic3ViIjoiYSIsImVtYWlsIjoiYUBiIn0.c2ln",
)


@reader("answers of a login", RETURNS, "code= state=st4te & ? # error= % %00 é . = eyJhdWQiOlsiYyJdfQ http:// {} iss=")
def _returned(data: bytes, rng: random.Random) -> None:
    text = data.decode("utf-8", rng.choice(("replace", "surrogateescape")))
    for read in (read_query, read_pasted):
        with suppress(ValueError):
            returned = read(text, "st4te")
            holds(bool(returned.code) != bool(returned.error), "a code or an error", returned)
    with suppress(ValueError):
        read_query(text, "st4te", require_state=True)
        holds("st4te" in unquote_plus(text), "the login's own state", text)
    claims = claims_of(text)
    holds(account_name(text).isprintable(), "a name fit to show", text)
    holds(isinstance(account_id(claims, ("sub", "x")), str), "text", claims)
    with suppress(LoginFailed):
        check_claims(claims, client_id="c", nonce=rng.choice(("", "n")), now=0, before=text)
        holds("c" in claims["aud"], "meant for this client", claims)


SERVERS = (
    '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"},{"type":"image","data":"aGk=",'
    '"mimeType":"image/png"},{"type":"resource","resource":{"uri":"a://b","blob":"aGk="}}],"isError":false}}',
    '{"id":"q","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":'
    '{"a":{"type":"string","enum":["x","y"]},"b":{"type":"array","items":{"enum":["p"]}},"c":{"type":"integer"}}}}}',
    '{"id":1,"result":{"type":"object","properties":{"a":{"$ref":"#/$defs/a","x-mcp-header":"A"}},"$defs":{"a":{}}}}',
    '// mine\n{"mcpServers": {"a": {"command": "x", "args": ["${A:-b}", "${C}"],},}}',
    'Bearer realm="a", resource_metadata="https://a/b", scope="c d", error=insufficient_scope',
)


@reader(
    "messages of MCP servers",
    SERVERS,
    '{ } [ ] , : " "result" "content" "params" "$ref" "#/a" null 1e9 ${ } // /* */ =',
)
def _server(data: bytes, rng: random.Random) -> None:
    message = read_message(data)
    if message is not None:
        result = to_content_blocks("s", "t", message.result)
        holds(bool(result.content), "the model reads something", result)
        schema = to_provider_schema(fields(message.result))
        holds(schema["type"] == "object" and isinstance(schema["properties"], dict), "an object", schema)
        if not fault(fields(message.result)):
            param_headers(fields(message.result), {"a": "b"})
        with suppress(McpError):
            question = parse_question("s", fields(message.params))
            for field in question.fields:
                with suppress(ValueError):
                    read_answer(field, text_of(data)[:40])
    plain = without_comments(data)
    holds(len(plain) == len(data), "places stay", data)
    with suppress(ConfigError):
        for entry in entries_of(decode_servers(Path("f"), data), "f", "user", Path("/"), []):
            made, _ = expand_variables(entry, {"A": "1"}.get)
            holds(made.name == entry.name and isinstance(entry.shown(), str), "the same entry", entry)
    challenge_words(text_of(data))


@reader(
    "refusals",
    (
        '{"error":{"type":"overloaded_error","code":"x","message":"busy"}}',
        '{"error":"plain"}',
        "Wed, 21 Oct 2030 07:28:00 GMT",
        "120",
        f"your key {KEY} is no key",
    ),
    f'{{ }} "error": "message": "code": null [ ] {KEY} {KEY[:14]} Wed, Oct GMT 1e400 -1 00:00:00',
)
def _refusal(data: bytes, rng: random.Random) -> None:
    text = text_of(data)
    wait = retry_after({"retry-after": text, "retry-after-ms": rng.choice((text, ""))}, 1.8e9)
    holds(wait is None or wait >= 0, "a wait", wait)
    error = error_from_response(
        "p", rng.choice((301, 400, 401, 429, 500, 529)), {"location": text, "retry-after": text}, data
    )
    redact(final_error(error), Endpoint(provider="p", base_url="http://a", api_key=KEY))
    said = f"{error} {error.body} {error.code}"
    holds(len(said) < 20_000, "a message of reasonable length", len(said))
    holds(not any(KEY[i : i + 12] in said for i in range(len(KEY) - 11)), "no key in an error", said)


ANTHROPIC = (
    'data: {"type":"message_start","message":{"usage":{"input_tokens":3}}}\n\n'
    'data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}\n\n'
    'data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}\n\n'
    'data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}\n\n'
    'data: {"type":"content_block_stop","index":0}\n\n',
    'data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}\n\n'
    'data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\\"a\\":1}"}}\n\n'
    'data: {"type":"content_block_stop","index":1}\n\n'
    'data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}\n\n'
    'data: {"type":"message_stop"}\n\n',
    'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}\n\n'
    'data: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n',
)
CHAT = (
    'data: {"choices":[{"delta":{"role":"assistant","content":"hi","reasoning":"hm"}}]}\n\n'
    'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"n","arguments":"{\\"a\\""}}]}}]}\n\n'
    'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}\n\n'
    'data: {"choices":[{"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":5}}\n\n'
    "data: [DONE]\n\n",
    'data: {"error":{"code":"x","message":"no"}}\n\n',
)
RESPONSES = (
    'data: {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r"}}\n\n'
    'data: {"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"}\n\n'
    'data: {"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"m"}}\n\n'
    'data: {"type":"response.output_text.delta","output_index":1,"delta":"hi"}\n\n'
    'data: {"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c","name":"n"}}\n\n'
    'data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"{}"}\n\n'
    'data: {"type":"response.completed","response":{"usage":{"input_tokens":3,"output_tokens":5}}}\n\n',
    'data: {"type":"response.failed","response":{"error":{"code":"x","message":"no"}}}\n\n',
)
GEMINI = (
    'data: {"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"hi","thoughtSignature":"s"}]}}]}\n\n'
    'data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"n","args":{"a":1},"id":"c"}}]}}]}\n\n'
    'data: {"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}],'
    '"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5,"thoughtsTokenCount":1}}\n\n',
    'data: {"promptFeedback":{"blockReason":"SAFETY"}}\n\n',
    'data: {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}\n\n',
)
BEDROCK = (
    'contentBlockDelta|{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hm"}}}\n\n'
    'contentBlockDelta|{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"s"}}}\n\n'
    'contentBlockDelta|{"contentBlockIndex":1,"delta":{"text":"hi"}}\n\n'
    'contentBlockStart|{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"c","name":"n"}}}\n\n'
    'contentBlockDelta|{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{}"}}}\n\n'
    'contentBlockStop|{"contentBlockIndex":2}\n\nmessageStop|{"stopReason":"tool_use"}\n\n'
    'metadata|{"usage":{"inputTokens":3,"outputTokens":5}}\n\n',
    'exception:throttlingException|{"message":"busy"}\n\n',
)
ANSWER_WORDS = (
    JSON_WORDS
    + ' "index":1, "index":-1, "index":null, "delta":{ "type": "id":"c", "text": \n\ndata: "arguments":1 "usage":{'
)


def _event(piece: bytes) -> SseEvent:
    """``data: …``, or ``name|…`` where events are told apart by their name."""
    name, bar, data = piece.partition(b"|")
    if bar and name.replace(b":", b"").isalpha():
        return SseEvent(name.decode("utf-8", "replace"), data)
    return SseEvent("", piece.removeprefix(b"data: "))


def _answers(dialect: Dialect) -> Callable[[bytes, random.Random], None]:
    request = Request(model=Model(id="m", provider="p", max_output=100), messages=(user_message("hi"),))
    endpoint = Endpoint(provider="p", base_url="http://a", api_key="k")

    def read(data: bytes, rng: random.Random) -> None:
        decoder = dialect.decoder(request, endpoint)
        events = [event for piece in data.split(b"\n\n") for event in decoder.feed(_event(piece))]
        events += decoder.end_of_input() + decoder.end_of_input()
        ends = [event for event in events if isinstance(event, Finished)]
        holds(len(ends) == 1 and events[-1] is ends[0], "an answer ends once", ends)
        holds(ends[0].error is None or isinstance(ends[0].error, ProviderError), "an error of ours", ends)
        holds(isinstance(decoder.progress, int), "progress is a number")
        for call in ends[0].message.tool_calls():
            holds(isinstance(call.arguments, str), "arguments are text", call)

    return read


reader("answers of Anthropic", ANTHROPIC, ANSWER_WORDS)(_answers(AnthropicDialect()))
reader("answers of Chat Completions", CHAT, ANSWER_WORDS)(_answers(OpenAIChatDialect()))
reader("answers of Responses", RESPONSES, ANSWER_WORDS)(_answers(OpenAIResponsesDialect()))
reader("answers of Gemini", GEMINI, ANSWER_WORDS + ' "thought":true, "thoughtSignature":"s" "finishReason":"STOP"')(
    _answers(GeminiDialect())
)
reader("answers of Bedrock", BEDROCK, ANSWER_WORDS + " contentBlockDelta| messageStop| metadata| exception:x|")(
    _answers(BedrockDialect())
)


@reader(
    "Amazon's frames",
    (
        event_frame("x", {"a": ""}),
        event_frame("metadata", {"a": "é" * 40}),
        exception_frame("throttlingException", "no"),
        event_frame("a", {}) * 3,
    ),
    "\x00 \x00\x00\x00\x10 \x07 :event-type :message-type error",
)
def _frames(data: bytes, rng: random.Random) -> None:
    whole, pieces = EventStreamParser(1000), EventStreamParser(1000)
    try:
        once = whole.feed(data) + whole.close()
    except TransportFailed:
        return
    parts = [event for piece in cut(rng, data) for event in pieces.feed(piece)] + pieces.close()
    holds(once == parts, "cut differently, other events", once, parts)


@reader(
    "schemas for Gemini",
    (
        '{"type":"object","properties":{"a":{"type":["string","null"],"format":"uri"},"b":{"$ref":"#/$defs/B"}},'
        '"$defs":{"B":{"anyOf":[{"type":"null"},{"type":"array","items":{"enum":["x"]}}]}},"required":["a"]}',
        '{"properties":{"a":{"allOf":[{"type":"string"},{"$ref":"#/properties/a"}]}}}',
    ),
    JSON_WORDS
    + ' "type": "object" "array" "properties":{ "items": "anyOf":[ "allOf":[ "$ref":"#/properties/a" "enum":[',
)
def _schema(data: bytes, rng: random.Random) -> None:
    with suppress(msgspec.DecodeError, UnicodeError, RecursionError):
        value = msgspec.json.decode(data)
        if isinstance(value, dict):
            msgspec.json.encode(accepted(value))
