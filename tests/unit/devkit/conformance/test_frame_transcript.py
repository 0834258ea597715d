"""Which check a bad line belongs to."""

from __future__ import annotations

import pytest

from zot.devkit.conformance.frame_transcript import read_line


@pytest.mark.parametrize(
    ("line", "check"),
    [
        (b"starting up", "framing-only-frames"),
        (b"42", "framing-only-frames"),
        (b'["hello"]', "framing-only-frames"),
        (b"", "framing-no-blank-lines"),
        (b"   ", "framing-no-blank-lines"),
        (b"{", "framing-one-line"),
        (b'  "type": "ready"', "framing-one-line"),
        (b"}", "framing-one-line"),
        (b'{"type":"ready"}{"type":"ready"}', "framing-one-line"),
        (b'{"type":"notify","message":"caf\xe9"}', "framing-utf8"),
        (b'\xef\xbb\xbf{"type":"ready"}', "framing-utf8"),
        (b'{"type":"tool_result","id":"1","structured_content":NaN}', "framing-strict-json"),
        (b'{"type":"ready","type":"ready"}', "framing-strict-json"),
        (b'{"type":"notify","message":' + b"[" * 70 + b"]" * 70 + b"}", "framing-strict-json"),
        (b'{"type":"raedy"}', "framing-known-types"),
        (b'{"name":"x"}', "framing-known-types"),
        (b'{"type":"notify","message":1}', "framing-key-types"),
        (b'{"type":"command_response","id":7}', "answers-string-ids"),
    ],
)
def test_bad_line_fails_its_expected_check(line: bytes, check: str) -> None:
    """ext-006, ext-007, ext-008: each malformed line is reported by its check."""
    _, fault = read_line(line)
    assert fault is not None and fault.check == check


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ready"}',
        b'{"type":"ready"}\r',
        b'{ "zot_new": 1, "type" : "ready" }',
        b'{"type":"notify","level":null}',
    ],
)
def test_a_sound_line_has_no_fault(line: bytes) -> None:
    """ext-005, ext-009: CRLF line ends and `null` for an optional key are no faults."""
    frame, fault = read_line(line)
    assert frame is not None and fault is None
