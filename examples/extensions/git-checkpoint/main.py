"""A git checkpoint before each prompt; when the user goes back in the conversation it offers to restore the files.

A checkpoint is the commit that ``git stash create`` makes: it is in no branch and changes neither index nor files.
"""

from __future__ import annotations

from typing import Any

from zot.ext import Context, Event, Extension, Interception, Verdict

ext = Extension("git-checkpoint", "1.0.0")
checkpoints = ext.branch_state("checkpoints", default={})  # entry id of a prompt -> commit
waiting: list[str] = []  # the commit of the prompt that begins


def git(*words: str, ctx: Context | Extension = ext) -> dict[str, Any]:
    return ctx.run_program(["git", *words])


@ext.on("prompt_start")
def remember(event: Event) -> None:
    made = git("stash", "create", "zot checkpoint")
    commit = made["stdout"].strip() or git("rev-parse", "HEAD")["stdout"].strip()
    waiting[:] = [commit] if made["code"] == 0 and commit else []


@ext.on("message_end")
def keep(event: Event) -> None:
    """The prompt has an id now."""
    if event.data["role"] == "user" and waiting:
        checkpoints.save({**checkpoints.load(), event.data["entry_id"]: waiting.pop()})


@ext.intercept("session_before")
def offer(event: Interception, ctx: Context) -> Verdict | None:
    commit = checkpoints.load().get(event.get("entry_id", ""))
    if event.action not in ("fork", "rewind") or commit is None or event.get("files"):
        return None
    if ctx.confirm("Restore the files of that time too?", [f"git checkpoint {commit[:10]}"]):
        restored = git("checkout", commit, "--", ".", ctx=ctx)
        ext.notify(
            "success" if restored["code"] == 0 else "error", restored["stderr"].strip() or f"restored {commit[:10]}"
        )
    return None


if __name__ == "__main__":
    ext.run()
