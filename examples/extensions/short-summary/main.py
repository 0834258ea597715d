"""Compaction with instructions and a model of its own: a summary in five headings, written by the small model."""

from __future__ import annotations

from zot.ext import Context, Extension, Interception, RequestError, Verdict

FORM = """Summarise this conversation between a user and a coding agent for the agent itself.
Use these headings, and leave out one without content: Goal, Decisions, Files, Done, Open.
Quote commands, paths and error messages exactly."""
LONGEST = 200_000  # characters of the conversation that the model reads
ext = Extension("short-summary", "1.0.0")


def text_of(message: dict) -> str:
    parts = [block.get("text") or str(block.get("args") or block.get("content") or "") for block in message["content"]]
    return f"{message['role']}: " + " ".join(parts)


@ext.intercept("compaction", content="full")
def summarise(event: Interception, ctx: Context) -> Verdict | None:
    talk = "\n\n".join(text_of(message) for message in event.messages if message.get("content"))[-LONGEST:]
    wish = f"\nAbove all: {event.focus}" if event.get("focus") else ""
    ctx.progress("the small model writes the summary")  # the limit of silence begins again
    try:
        answer = ctx.call_model(f"{FORM}{wish}\n\n{talk}", model="small", max_tokens=2000)
    except RequestError as error:
        ext.notify("warn", f"zot writes the summary: {error}")
        return None
    return event.replace(answer["text"], keep_tail=4)


if __name__ == "__main__":
    ext.run()
