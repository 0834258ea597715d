"""Plan first: only reading tools until the user agrees to the plan. ``--plan``, /plan-first or ctrl+alt+p begin it."""

from __future__ import annotations

from zot.ext import Context, Event, Extension, Interception, Verdict, line

READING = ("read", "glob", "grep", "skill", "web_search")
ASKED = "Plan only: read what you need, change nothing, and answer with a numbered plan."
ext = Extension("plan-mode", "1.0.0")
planning = ext.branch_state("planning", default=False)


def switch(on: bool) -> None:
    planning.save(on)
    show(on)


@planning.on_load
def show(on: bool) -> None:
    names = [tool["name"] for tool in ext.tools()]
    ext.set_active_tools([name for name in names if name in READING] if on else names)
    if on:
        ext.status("plan", line(("plan first", "warning")))
    else:
        ext.withdraw("status", "plan")


@ext.on("session_start")
def begin(event: Event) -> None:
    if ext.flags.get("plan") and event.data.get("reason", "start") == "start":
        switch(True)


@ext.command("plan-first", "plan before anything changes; again to end it")
@ext.key("ctrl+alt+p", "plan first, or stop planning")
def toggle(*_: object) -> None:
    switch(not planning.load())


@ext.intercept("prompt_start")
def instruct(event: Interception) -> str | None:
    return ASKED if planning.load() else None


@ext.intercept("prompt_end")
def offer(event: Interception, ctx: Context) -> Verdict | None:
    """The plan is there: the user decides."""
    if not planning.load() or event.status != "completed":
        return None
    answer = ctx.select("Carry out this plan?", [("yes", "Carry it out"), ("no", "Go on planning")], default="no")
    if answer != "yes":
        return None
    switch(False)
    return event.replace("Carry out the plan.")


if __name__ == "__main__":
    ext.run()
