"""Limits of the extension protocol, in seconds and bytes; the protocol reference lists them."""

from __future__ import annotations

MAX_LINE = 8 * 1024 * 1024  # from a child, its line end included

IDLE_READY = 0.25  # silence after hello_ack that counts as `ready`
READY_GRACE = 3.0  # all children together, at start and at reload
READY_GRACE_EXPLICIT = 10.0  # for a path given with --ext in print and JSON mode
HELLO_DEADLINE = 30.0
EXIT_AFTER_EOF = 1.0  # for the exit status of a child that closed stdout before hello

RESTART_DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0)
RESTART_RESET = 60.0  # of run time, after which the count starts again

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
SHUTDOWN_EACH = 0.1  # minimum for a child after that deadline
TERMINATE_GRACE = 1.0  # between SIGTERM and SIGKILL

SDK_HANDLERS_GRACE = 1.0  # for running handlers before an SDK acknowledges `shutdown`

# Second edition

OPEN_REQUESTS = 64  # per child and direction
NESTED_QUESTIONS = 8  # of zot to one child
REQUEST_REPLY = 30.0  # of most methods
CONTROL_REPLY = 60.0  # of session.new and the like
REQUEST_ID = 64  # bytes
RENDER_REPLY = 0.1
COMPLETE_REPLY = 0.3
STATE_REPLY = 0.5
KEY_REPLY = 30.0
COMPACTION_SILENCE = 120.0  # `progress` starts it again
COMPACTION_TOTAL = 600.0
DIALOG_WAIT = 600.0  # a parent's clock stands still at most so long
TOOL_TOTAL = 3600.0  # config key extension_tool_max_s

FRAMES_PER_SECOND = 1000  # contributions and progress of one child
SURFACE_INTERVAL = 0.05
PROGRESS_INTERVAL = 0.05
DELTA_INTERVAL = 0.1
LEAST_DELTA_INTERVAL = 0.033
DELTA_BYTES = 256 * 1024
STALE_SURFACE = 3.0  # for a new process to renew it

DIALOGS_WAITING = 3  # per extension, besides the open one
DIALOGS_IN_ALL = 20

PROGRESS_BYTES = 1024 * 1024
STATE_BYTES = 1024 * 1024
ENTRY_BYTES = 256 * 1024
ENTRIES_BYTES = 4 * 1024 * 1024  # one page of session.entries
ENTRIES_PAGE = 500
DETAILS_BYTES = 64 * 1024
BUS_BYTES = 64 * 1024
BUS_PER_SECOND = 100  # messages of one extension
CHAT_IN_A_ROW = 20  # prompts started by extensions without one of the user
FOLLOW_UPS_IN_A_ROW = 10  # prompts by ``continue`` of ``prompt_end`` without one of the user
CHAT_PER_MINUTE = 60  # messages of one extension
CHAT_LAST_WAIT = 0.25  # at the end of a headless run, for extensions that follow it
PROGRAM_SILENCE = 300.0  # of exec.run, without timeout_s
PROGRAM_LONGEST = 3600
PROGRAM_OUTPUT = 256 * 1024  # of each stream, unless max_output says more
PROGRAM_MOST_OUTPUT = 4 * 1024 * 1024
MODEL_CALLS = 4  # of one extension at a time; likewise agents
LINK_CONNECT = 10.0  # to an extension at a URL, with its handshake; also for its hello when it resumes
LINK_PING = 20.0
LINK_PINGS_MISSED = 2
LINK_RESUME = 60.0
PROVIDER_WAIT = 10.0  # for the extension of the chosen model
PROVIDER_LOGIN = 600.0  # with its dialogs
CONTRIBUTIONS = 200  # per child and kind
PANELS = 8  # open at a time, of all extensions of the second edition
PANEL_INTERVAL = 1 / 60  # between two drawings of a panel
