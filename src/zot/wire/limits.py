"""Every number of the extension wire, by name. The host imports them; the protocol reference prints ``NUMBERS``.

Times are seconds, sizes are bytes.
"""

from __future__ import annotations

from zot.wire.frames import MAX_DEPTH, MAX_LINE, PROTOCOL_VERSION

IDLE_READY = 0.25  # silence after hello_ack that counts as `ready`
READY_GRACE = 3.0  # all children together, at start and at reload
READY_GRACE_EXPLICIT = 10.0  # for a path given with --ext in print and JSON mode
HELLO_DEADLINE = 30.0
EXIT_AFTER_EOF = 1.0  # for the exit status of a child that closed stdout before hello

RESTART_DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0)
RESTART_RESET = 60.0  # of life, after which the count starts again

COMMAND_REPLY = 30.0
TOOL_REPLY = 60.0  # config key extension_tool_timeout_s
INTERCEPT_REPLY = 5.0  # per child, the write included
MAX_SYSTEM_PROMPT = 1024 * 1024

CALL_TOOL_REPLY = 60.0
CALL_TOOL_RESULT = 256 * 1024
CALL_TOOL_CHAIN = 4  # tools in one chain, the first included

OBSERVED_RESULT = 256 * 1024  # text, base64 and mime types together
OBSERVED_BLOCKS = 128

QUEUE_FRAMES = 256  # waiting for one child, besides the one in flight
QUEUE_BYTES = 16 * 1024 * 1024
WRITE_DEADLINE = 5.0

SHUTDOWN_TOTAL = 2.0  # for all children together
SHUTDOWN_EACH = 0.1  # what a child gets whose turn comes after the deadline
TERMINATE_GRACE = 1.0  # between SIGTERM and SIGKILL

SDK_HANDLERS_GRACE = 1.0  # what an author SDK gives running handlers before it acknowledges `shutdown`


def _seconds(value: float) -> str:
    return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"


def _size(value: int) -> str:
    return f"{value // 1024**2} MiB" if value >= 1024**2 else f"{value // 1024} KiB"


def numbers() -> list[tuple[str, str]]:
    """What and how much, as the reference page shows them."""
    delays = ", ".join(f"{delay:g}" for delay in RESTART_DELAYS)
    return [
        ("protocol version", str(PROTOCOL_VERSION)),
        ("longest line from a child", f"{_size(MAX_LINE)}, its line end included; a longer one is skipped"),
        ("deepest nesting", str(MAX_DEPTH)),
        ("silence that counts as `ready`", _seconds(IDLE_READY)),
        ("wait for readiness, at start and at reload", f"{_seconds(READY_GRACE)} for all together"),
        ("the same for `--ext` in print and JSON mode", _seconds(READY_GRACE_EXPLICIT)),
        ("wait for `hello`", _seconds(HELLO_DEADLINE)),
        ("wait for the exit after stdout closed before `hello`", _seconds(EXIT_AFTER_EOF)),
        ("restart after a crash", f"{delays} s, then no more; {_seconds(RESTART_RESET)} of life reset the count"),
        ("answer to a command", _seconds(COMMAND_REPLY)),
        ("answer to a tool call", f"{_seconds(TOOL_REPLY)} (config `extension_tool_timeout_s`)"),
        ("answer of an interactive tool", "no limit"),
        ("answer to an interception", f"{_seconds(INTERCEPT_REPLY)} per child, then allow; a guard: block"),
        ("`system_prompt` of an answer", f"{_size(MAX_SYSTEM_PROMPT)} encoded"),
        ("`call_tool`", f"{_seconds(CALL_TOOL_REPLY)}; result {_size(CALL_TOOL_RESULT)}; chain {CALL_TOOL_CHAIN}"),
        ("observed tool result", f"{_size(OBSERVED_RESULT)}, {OBSERVED_BLOCKS} blocks"),
        ("frames waiting for one child", f"{QUEUE_FRAMES} or {_size(QUEUE_BYTES)}, then it is disconnected"),
        ("one blocking write", _seconds(WRITE_DEADLINE)),
        ("shutdown", f"{_seconds(SHUTDOWN_TOTAL)} for all, at least {_seconds(SHUTDOWN_EACH)} each"),
        ("between SIGTERM and SIGKILL", _seconds(TERMINATE_GRACE)),
    ]
