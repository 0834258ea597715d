"""zot rpc from Python, with the standard library alone.

    python client.py "list the files" [flags for zot]

Ctrl-C aborts the prompt. With --no-yolo it asks you before each tool call. To build on, take zot.client instead.
"""

import json
import os
import signal
import subprocess
import sys


def note(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


class Zot:
    def __init__(self, flags: list[str]) -> None:
        # A session of its own: Ctrl-C reaches us alone, and we say "abort".
        argv, pipe = ["zot", "rpc", *flags], subprocess.PIPE
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, start_new_session=True)

    def send(self, **command: object) -> None:
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def close(self) -> None:
        self.process.stdin.close()  # zot exits when its input ends
        self.process.wait(timeout=5)


def show(event: dict, zot: Zot) -> None:
    match event["type"]:
        case "text_delta":
            print(event["delta"], end="", flush=True)
        case "tool_call":
            note(f"[{event['name']}] {json.dumps(event['args'])}")
        case "tool_result" if event["is_error"]:
            note("[tool failed]")
        case "approval_request":
            note(f"allow {event['name']}: {event['preview']}? [y/N] ", end="")
            decision = "once" if sys.stdin.readline().strip() == "y" else "deny"
            zot.send(type="approve", request_id=event["request_id"], decision=decision)
        case "ext_notify":
            note(f"[{event['extension']}] {event['message']}")
        case "turn_end" if event["stop"] == "aborted":
            note("[aborted]")
        case "error":
            note(f"[error] {event['message']}")


def main() -> int:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    zot = Zot(sys.argv[2:])
    signal.signal(signal.SIGINT, lambda *_: zot.send(type="abort"))
    token = os.environ.get("ZOTCORE_RPC_TOKEN", "")
    zot.send(type="hello", token=token, capabilities=["approvals"])
    zot.send(id="1", type="prompt", message=sys.argv[1])  # no need to wait for the answer to hello

    failed, cost = False, "nothing used"
    for event in map(json.loads, zot.process.stdout):
        show(event, zot)
        if event["type"] == "response" and not event["success"]:
            note(f"[{event['command']}] {event['error']}")
            return 1
        if event["type"] == "usage":
            total = event["cumulative"]
            cost = f"{total['input']} in, {total['output']} out, ${total['cost_usd']:.4f}"
        failed = failed or event["type"] == "error"
        if event["type"] == "done":
            print()
            note(f"[{cost}]")
            zot.close()
            return 1 if failed else 0
    return 1  # zot ended before it was done, and has said why on stderr


if __name__ == "__main__":
    sys.exit(main())
