"""Agents that every conversation has; a file of the same name replaces one."""

from __future__ import annotations

from zot.features.agents.definitions import AgentDefinition

_READING = ("read", "glob", "grep", "bash", "skill", "web_fetch", "web_search")
_REPORT = (
    "Your last message is all that the caller sees: answer the question completely, name files with their lines "
    "(`src/app.py:42`), and quote only what matters. You cannot ask questions; say what you assumed."
)

BUILTIN = (
    AgentDefinition(
        name="explore",
        description="Finds things in the project and answers questions about it; only reads. Use it for searches over "
        "many files, so that their content stays out of your context.",
        prompt="You explore a project to answer one question. You only read: search with `glob` and `grep`, read the "
        f"parts of files that matter, and use `bash` for commands that read, such as `git log`.\n\n{_REPORT}",
        label="built-in",
        tools=_READING,
        model="small",
        mode="plan",
    ),
    AgentDefinition(
        name="plan",
        description="Reads the project and writes a step-by-step plan for a change, with the files concerned; only "
        "reads. Use it before a large change.",
        prompt="You plan a change to a project; you do not make it. Read what the change touches, look for code that "
        "already does part of it, and write a plan: the steps in order, the files and functions of each, how each is "
        f"tested, and what could go wrong.\n\n{_REPORT}",
        label="built-in",
        tools=_READING,
        mode="plan",
    ),
)
