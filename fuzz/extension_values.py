"""Readers of the values in frames of the second edition: lines, dialogs, contributions, messages, patterns, flags."""

from __future__ import annotations

import random
import re
import time
from contextlib import suppress
from typing import Any

import msgspec

from fuzz.reader import holds, reader, text_of
from zot.errors import ExtensionError, UsageError
from zot.features.extensions.contributions import KINDS, check_value
from zot.features.extensions.dialogs import DialogParams, answer_problem, problem_of
from zot.features.extensions.loader.declared_uses import read_uses
from zot.features.extensions.loader.extension_settings import read_declared
from zot.features.extensions.requests import RequestError
from zot.features.extensions.text_pattern import BadPattern, TextPattern, TookTooLong
from zot.features.extensions.wire_messages import WireMessage, parse_messages
from zot.wire.extension_codec import decode_child
from zot.wire.lines import MOST_LINES, plain_lines, plain_text, to_lines, to_view

_JSON = msgspec.json.Decoder()
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STRUCTURE = ' { } [ ] , : null true false 0 -1 1e9 "" "a" "\\u001b[2J" "\\n" "\\u202e"'


def _decoded(data: bytes) -> Any:
    try:
        return _JSON.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text_of(data)


LINES = (
    '["a",[{"text":"b","style":"accent bold"},{"text":"-","fill":true}],{"text":"c","fg":"#00ff00","link":"https://a"}]',
    '{"title":"t","lines":["a"],"expanded":["b\\u001b[31m","c\\n"],"markdown":true}',
)


@reader(
    "lines and views of extensions", LINES, _STRUCTURE + ' "text": "style": "lines": "link": "javascript:x" "fill":'
)
def _lines(data: bytes, rng: random.Random) -> None:
    value = _decoded(data)
    lines = to_lines(value)
    holds(len(lines) <= MOST_LINES, "no more lines than the limit", len(lines))
    for line in lines:
        holds(_CONTROLS.search(plain_text(line)) is None, "no control characters", line)
        links = [span.link for span in line if span.link]
        holds(all(link.startswith(("https:", "http:", "file:")) for link in links), "only known links", links)
    if (view := to_view(value)) is not None:
        holds(_CONTROLS.search(plain_lines(view).replace("\n", "")) is None, "no control characters", view)


DIALOGS = (
    '{"kind":"select","title":"t","options":[{"value":"a","label":["x"]},{"value":"b","disabled":true}],"default":"a"}',
    '{"kind":"form","title":"t","fields":[{"name":"n","kind":"integer","required":true,"pattern":"^a"}],"timeout_s":5}',
    '{"kind":"confirm","title":"t","message":["m"],"default":true,"yes":"go"}',
)


@reader(
    "dialogs of extensions", DIALOGS, _STRUCTURE + ' "kind": "title": "options": "fields": "choice" "choices" "url"'
)
def _dialogs(data: bytes, rng: random.Random) -> None:
    try:
        params = msgspec.convert(_decoded(data), DialogParams)
    except msgspec.ValidationError:
        return
    if problem_of(params):
        return
    for answer in (None, True, "a", ["a"], {"n": 1}, 3):
        problem = answer_problem(params, answer)
        holds(isinstance(problem, str), "an answer fits or is refused", problem)


@reader(
    "contributions of extensions",
    (
        'status {"line":"a","side":"left"}',
        'key {"keys":["alt+q"],"description":"d"}',
        'keymap {"start":"a","modes":{}}',
    ),
    _STRUCTURE + " status widget key keymap decoration renderer provider resource footer",
)
def _contributions(data: bytes, rng: random.Random) -> None:
    name, _, rest = text_of(data).partition(" ")
    kind = KINDS.get(name) or KINDS[rng.choice(sorted(KINDS))]
    with suppress(RequestError):
        fields = check_value(name, kind, _decoded(rest.encode()))
        holds(set(kind.required) <= set(fields), "required keys are there", fields)


@reader(
    "messages of extensions",
    ('[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"tool","content":[{"type":"tool_result"}]}]',),
    _STRUCTURE + ' "role": "user" "assistant" "content": "type": "text" "image" "data": "mime_type":',
)
def _messages(data: bytes, rng: random.Random) -> None:
    try:
        given = msgspec.convert(_decoded(data), list[WireMessage])
        found = parse_messages(given, "x")
    except (msgspec.ValidationError, ValueError):
        return
    holds(len(found) == len(given), "each message is read", found)


@reader(
    "patterns of decorations",
    ("#[0-9]+", "(a|b)+c?", "^\\w{2,3}$", "(((a*)*)*)*b"),
    "( ) [ ] * + ? | { } ^ $ \\ . a {1,9}",
)
def _patterns(data: bytes, rng: random.Random) -> None:
    try:
        pattern = TextPattern(text_of(data)[:200])
    except BadPattern:
        return
    text = "ab#12 " * rng.randint(1, 50) + "a" * rng.randint(0, 500)
    began = time.process_time()
    with suppress(TookTooLong):
        spans = list(pattern.matches(text, time.thread_time() + 0.002))
        holds(all(0 <= start <= end <= len(text) for start, end in spans), "matches lie in the text", spans)
    holds(time.process_time() - began < 0.2, "a slow pattern is given up", data)


@reader(
    "flags and settings of manifests",
    ('{"a":{"type":"integer","default":1,"minimum":0},"b":{"type":"string","enum":["x"],"secret":true}}',),
    _STRUCTURE + ' "type": "string" "integer" "boolean" "list" "default": "enum": "pattern": "(" "secret":',
)
def _declared(data: bytes, rng: random.Random) -> None:
    for key in ("flags", "settings"):
        try:
            declared, _ = read_declared(key, _decoded(data))
        except ExtensionError:
            continue
        for each in declared:
            with suppress(UsageError):
                value = each.parse("1")
                holds(not each.problem_of(value), "what was parsed fits", value)
    with suppress(ExtensionError):
        words = _decoded(data)
        read_uses([word for word in words if isinstance(word, str)] if isinstance(words, list) else [], guard=True)


FRAMES = (
    '{"type":"request","id":"1","method":"ui.ask","params":{"kind":"confirm"},"parent_id":"2","timeout_ms":5}',
    '{"type":"contribute","id":"7","kind":"status","name":"n","value":{"line":"a"}}',
    '{"type":"progress","id":"t","text":"a","fraction":0.5,"content":[{"type":"text","text":"b"}],"view":{"lines":[]}}',
    '{"type":"subscribe","events":["bus"],"intercept":["input"],"options":{"bus":{"topics":["a"]}},"drop":["idle"]}',
    '{"type":"event_intercept_response","id":"1","value":{"text":"a"},"handled":true,"ask":true}',
    '{"type":"response","id":"1","error":{"code":"denied","message":"m","data":1}}',
)


@reader("frames of the second edition", FRAMES, _STRUCTURE + ' "type": "id": "method": "params": "value": "fraction":')
def _frames(data: bytes, rng: random.Random) -> None:
    with suppress(ExtensionError):
        decode_child(data)
