"""The same without async: a guard that says no, and a loop over events.

python plain.py "delete everything"
"""

import sys

from zot.sdk import SyncRuntime, TextDelta, ToolRequest, ToolResult


def careful(call: ToolRequest) -> str | None:
    if call.name == "bash" and "rm" in call.args["command"].split():
        return "rm is not allowed in this program"
    return None


def main() -> None:
    with SyncRuntime(interceptors=[careful], allowed_tools=["read", "bash"]) as zot:
        for event in zot.prompt(" ".join(sys.argv[1:]) or "List the files."):
            if isinstance(event, TextDelta):
                print(event.delta, end="", flush=True)
            elif isinstance(event, ToolResult) and event.is_error:
                print(f"[refused or failed: {event.content}]")
        print()


if __name__ == "__main__":
    main()
