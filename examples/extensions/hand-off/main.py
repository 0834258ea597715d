"""``/hand-off GOAL``: a new session that begins with what matters for the goal, written by a model from this one."""

from __future__ import annotations

from zot.ext import Context, Extension, Response

ASK = """Another agent will work on this goal: {goal}
From the conversation below write its first message: the context it needs (files, decisions, commands that work),
then the task. Address it directly, in at most 300 words.

{talk}"""
LONGEST = 150_000
ext = Extension("hand-off", "1.0.0")


@ext.command("hand-off", "start a new session for a goal", arguments="GOAL")
def hand_off(goal: str, ctx: Context) -> Response | str:
    goal = goal.strip() or ctx.input("Goal of the new session") or ""
    if not goal:
        return "no goal, no new session"
    entries = ctx.entries(kinds=["message"], limit=500)["entries"]
    talk = "\n\n".join(
        f"{entry['message']['role']}: {block['text']}"
        for entry in entries
        for block in entry.get("message", {}).get("content", [])
        if block.get("text")
    )
    if not talk:
        return "there is nothing to hand off yet"
    written = ctx.call_model(ASK.format(goal=goal, talk=talk[-LONGEST:]), model=ext.settings.get("model") or "current")
    draft = ctx.editor("First message of the new session", written["text"])
    if draft is None:
        return "cancelled"
    ctx.new_session(name=goal[:60], draft=draft)
    return Response.noop()


if __name__ == "__main__":
    ext.run()
