"""Slow texts for JSON, the frames of extensions, the commands of clients, and sessions and recordings on disk."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.conformance.hostile.row import WIDTH, fresh, quietly, rows
from zot.core.compaction_prompt import transcript_text
from zot.core.session.resume import replay
from zot.core.session.session_file import read_lines
from zot.core.session.summary import summarise
from zot.devkit.replay.comparison import excerpts
from zot.devkit.replay.player import STRANGE, RecordingRenderer
from zot.errors import ZotError
from zot.features.extensions.loader.manifest import read_manifest
from zot.features.recording.reader import read_recording
from zot.frontends.terminal.screen.tool_view import ToolView
from zot.provider.recording_script import turns_of
from zot.system import strict_json
from zot.tui.tool_call_rows import string_fields
from zot.wire.extension_codec import decode_child, decode_host
from zot.wire.line_splitter import LineSplitter
from zot.wire.rpc_codec import BadCommand, decode_command

# --- JSON, frames, commands

JSON: dict[str, str | bytes | Callable[[int], Any]] = {
    "arrays": b"[",
    "objects": b'{"a":',
    "closed_arrays": lambda n: b"[" * (n // 2) + b"]" * (n // 2),
    "wide_array": lambda n: b"[" + b"1," * (n // 2) + b"1]",
    "empty_arrays": lambda n: b"[" + b"[]," * (n // 3) + b"1]",
    "one_key_many_times": lambda n: b"{" + b'"a":1,' * (n // 6) + b'"a":1}',
    "one_key_twice_at_the_end": lambda n: b"{" + b"".join(b'"%d":1,' % i for i in range(n // 9)) + b'"0":1}',
    "keys_spelled_differently": lambda n: b"{" + b"".join(b'"%d" :1,' % i for i in range(n // 9)) + b'"x":1}',
    "digits": lambda n: b"1" * n,
    "many_long_numbers": lambda n: b"[" + b"1111111111111111111," * (n // 20) + b"1]",
    "fractions": lambda n: b"0." + b"1" * n,
    "exponents": lambda n: b"1e" + b"9" * n,
    "a_string": lambda n: b'"' + b"a" * n + b'"',
    "escapes": lambda n: b'"' + b"\\n" * (n // 2) + b'"',
    "unicode": lambda n: b'"' + b"\\u00e9" * (n // 6) + b'"',
    "surrogates": lambda n: b'"' + b"\\ud800" * (n // 6) + b'"',
    "open_string": lambda n: b'"' + b'\\"' * (n // 2),
    "escaped_quotes": b'\\"',
    "quotes": b'"',
    "brackets_in_strings": lambda n: b'["' + b"[" * n + b'"' + b",[]" * 70 + b"]",
    "spaces": b" ",
    "bad_utf8": b"\xff",
}
FRAME: dict[str, str | bytes | Callable[[int], Any]] = {
    **JSON,
    "a_note": lambda n: b'{"type":"notify","message":"' + b"a" * n + b'"}',
    "duplicate_keys_in_a_frame": lambda n: b'{"type":"notify",' + b'"message":"a",' * (n // 14) + b'"level":"info"}',
    "unknown_keys": lambda n: (
        b'{"type":"notify",' + b"".join(b'"k%d":1,' % i for i in range(n // 9)) + b'"message":"a"}'
    ),
    "nulls": lambda n: b'{"type":"notify",' + b"".join(b'"k%d":null,' % i for i in range(n // 12)) + b'"message":"a"}',
    "duplicate_keys_within": lambda n: (
        b'{"type":"tool_result","id":"1","details":{' + b'"a":1,' * (n // 6) + b'"b":1}}'
    ),
}
for reader, read, error in (
    ("strict JSON", strict_json.loads, ValueError),
    ("a frame of an extension", decode_child, ZotError),
    ("a frame of the host", decode_host, ZotError),
    ("a command of RPC", decode_command, BadCommand),
    ("a manifest", lambda data: read_manifest(Path("/nowhere"), data), ZotError),
):
    rows(reader, quietly(read, error), **FRAME)


def in_lines(data: bytes) -> None:
    lines = LineSplitter(1 << 20)
    for at in range(0, len(data), 13):
        lines.feed(data[at : at + 13])
    lines.rest()


rows("lines", in_lines, one=b"a", empty=b"\n", short=b"a\n")

ARGUMENTS: dict[str, str | bytes | Callable[[int], Any]] = {
    "a_file": lambda n: '{"path":"a.py","content":"' + "a\\n" * (n // 3),
    "fields": '{"a":"b",',
    "quotes": '"',
    "escapes": lambda n: '{"a":"' + "\\" * n,
    "escaped_quotes": lambda n: '{"a":"' + '\\"' * (n // 2),
    "half_characters": lambda n: '{"a":"' + "\\u12" * (n // 4),
    "colons": ":",
    "braces": "{[",
    "edits": lambda n: '{"path":"a.py","edits":[' + '{"oldText":"a","newText":"b"},' * (n // 30),
}
rows("arguments that arrive", lambda text: list(string_fields(text)), **ARGUMENTS)
for tool in ("write", "edit", "bash"):
    rows(f"the box of {tool}", lambda text, t=tool: ToolView("1", t, text).lines(fresh(), WIDTH), **ARGUMENTS)

# --- sessions

MESSAGE = '{"type":"message","message":{"role":"%s","content":[%s],"time":"2026-01-01T00:00:00Z"}}\n'
TEXT = '{"type":"text","text":"a"}'
META = '{"type":"meta","meta":{"id":"a","cwd":"/","model":"m"}}\n'
SUMMARY = '{"type":"compaction","keep_tail":%d,"message":{"role":"user","content":[%s]}}\n'


def called(n: int) -> str:
    count = n // 80 + 1
    calls = ",".join(f'{{"type":"tool_call","id":"{i}","name":"a","arguments":{{}}}}' for i in range(count))
    results = "".join(
        MESSAGE % ("tool", f'{{"type":"tool_result","call_id":"{i}","content":[{TEXT}]}}') for i in range(count)
    )
    return META + MESSAGE % ("assistant", calls) + results


SESSION: dict[str, str | bytes | Callable[[int], Any]] = {
    "messages": lambda n: META + MESSAGE % ("user", TEXT) * (n // 100 + 1),
    "calls": called,
    "calls_without_results": lambda n: (
        META + (MESSAGE % ("assistant", '{"type":"tool_call","id":"1","name":"a","arguments":{}}')) * (n // 130 + 1)
    ),
    "one_message_of_many_calls": lambda n: (
        META
        + MESSAGE
        % (
            "assistant",
            ",".join(f'{{"type":"tool_call","id":"{i}","name":"a","arguments":{{}}}}' for i in range(n // 60 + 1)),
        )
    ),
    "compactions": lambda n: META + (MESSAGE % ("user", TEXT) + SUMMARY % (1, TEXT)) * (n // 200 + 1),
    "compactions_that_keep_all": lambda n: (
        META + (MESSAGE % ("user", TEXT)) * (n // 200 + 1) + (SUMMARY % (10**9, TEXT)) * (n // 200 + 1)
    ),
    "rows_of_strangers": '{"type":"a"}\n',
    "torn_rows": '{"type":"mess\n',
    "one_torn_row": '{"type":"message","message":{"role":"user",',
    "blank_rows": "\n",
    "blocks": lambda n: META + MESSAGE % ("user", ",".join([TEXT] * (n // 27 + 1))),
    "metas": META,
    "names": '{"type":"rename","title":"a"}\n',
    "tool_rows": '{"type":"tool_intent","call_id":"1"}\n',
    "bad_bytes": "\udcff\n",
    "deep": lambda n: META + MESSAGE % ("user", '{"content":[' * (n // 12)),
}


def resumed(text: str) -> None:
    state = replay(read_lines(io.BytesIO(os.fsencode(text))))
    state.finish()
    transcript_text(state.messages, 10_000)


def summarised(text: str) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(os.fsencode(text))
        file.flush()
        summarise(Path(file.name))


rows("a session", resumed, **SESSION)
rows("the summary of a session", summarised, **SESSION)

HEADER = '{"type":"header","t":0,"format":2}\n'
RECORDING: dict[str, str | bytes | Callable[[int], Any]] = {
    "deltas": lambda n: (
        HEADER + '{"type":"stream","t":0,"n":1,"kind":"TextDelta","value":{"text":"a b "}}\n' * (n // 70 + 1)
    ),
    "lines_of_strangers": lambda n: HEADER + '{"type":"a"}\n' * (n // 13 + 1),
    "blank_lines": lambda n: HEADER + "\n" * n,
    "one_line": lambda n: HEADER[:-2] + ',"x":"' + "a" * n + '"}',
    "a_deep_line": lambda n: HEADER + "[" * n,
    "events": lambda n: HEADER + '{"type":"event","t":0,"event":{"type":"turn_start","step":1}}\n' * (n // 60 + 1),
    "progress": lambda n: HEADER + '{"type":"progress","t":0,"id":"1","text":"a"}\n' * (n // 45 + 1),
    "answers": lambda n: (
        HEADER
        + "".join(
            f'{{"type":"stream","n":{i},"kind":"TextDelta","value":{{"text":"a"}}}}\n' for i in range(n // 60 + 1)
        )
    ),
}


def shown_again(text: str) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(os.fsencode(text))
        file.flush()
        shown = RecordingRenderer(WIDTH, colours=False)
        for line in read_recording(file.name).lines:
            with suppress(*STRANGE):
                shown.hear(line)
                shown.rows()


def answered_again(text: str) -> None:
    turns_of(line for line in os.fsencode(text).split(b"\n") if line)


rows("a recording", quietly(shown_again, ZotError), **RECORDING)
rows("the answers in a recording", answered_again, **RECORDING)
rows("lines of two recordings", lambda text: excerpts(text, text + "x"), text="a b", quotes='"\\')
