"""An extension that uses the second edition; its twins in other languages send the same frames."""

from __future__ import annotations

import json
import time
from typing import Any

from zot.ext import Context, Event, Extension, Interception, NotSupported, RequestError, Verdict, line, view

ext = Extension("second", "2.0.0")
ANY = {"type": "object"}

ext.status("early", line("before ", ("the run", "muted")))


@ext.tool("deploy", "Deploys.", schema=ANY, timeout_s=600)
def deploy(args: dict[str, Any], ctx: Context) -> Any:
    if args.get("env") == "production" and not ctx.confirm("Deploy to production?", default=False):
        return ctx.error("the person said no")
    ext.status("env", line("deploying ", (args["env"], "accent")))
    ctx.progress("build", 0.5)
    ctx.progress("push", 1, view=["pushed"])
    ext.withdraw("status", "env")
    return ctx.result(f"{args['env']} runs", view=view(["runs"]), details={"n": 1})


@ext.tool("ask", "Asks.", schema=ANY)
def ask(args: dict[str, Any], ctx: Context) -> str:
    match args["kind"]:
        case "select":
            answer = ctx.select("Which?", ["a", ("b", "B")])
        case "choose":
            answer = ctx.choose("Which?", ["a", "b"])
        case "input":
            answer = ctx.input("What?", placeholder="text")
        case "editor":
            answer = ctx.editor("What?", "prefilled")
        case "form":
            answer = ctx.form("Fill in", [{"name": "n", "kind": "integer"}])
        case _:
            answer = ctx.open_url("Log in", "https://example.com")
    return json.dumps(answer)


@ext.tool("request", "Sends any request.", schema=ANY)
def request(args: dict[str, Any]) -> str:
    try:
        return json.dumps(ext.request(args["method"], args.get("params")), separators=(",", ":"))
    except NotSupported as error:
        return f"not supported: {error}"
    except RequestError as error:
        return f"{error.code}: {error}"


@ext.tool("contribute", "Contributes a key.", schema=ANY)
def contribute(args: dict[str, Any]) -> str:
    try:
        ext.contribute("key", "k", {"keys": ["ctrl+k"], "description": "d"}, wait=True)
    except RequestError as error:
        return f"{error.code}: {error}"
    return "taken"


@ext.tool("slow", "Waits to be cancelled.", schema=ANY)
def slow(args: dict[str, Any], ctx: Context) -> str:
    ext.notify("info", "slow started")
    stopped = ctx.wait_cancelled(30)
    ext.notify("info", "slow stopped" if stopped else "slow ended")
    return "late"


@ext.tool("patient", "Asks and waits.", schema=ANY)
async def patient(args: dict[str, Any], ctx: Context) -> str:
    try:
        answer = await ctx.confirm("Go on?")
    except BaseException as error:
        ext.notify("info", f"patient stopped: {type(error).__name__}")
        raise
    return f"answered {answer}"


@ext.tool("told", "Says what there is.", schema=ANY)
def told(args: dict[str, Any]) -> str:
    return f"{ext.has('dialogs')} {ext.granted('ui')} {ext.mode} {ext.state}".lower()


@ext.intercept("input")
def issues(event: Interception) -> Verdict | str | None:
    match event.text:
        case "stop":
            return event.block("not that")
        case "mine":
            return event.handled()
        case text if "#1" in text:
            return text.replace("#1", "issue 1")
        case _:
            return None


@ext.intercept("input")
def shout(event: Interception) -> str | None:
    return event.text + "!" if event.text.startswith("issue") else None


@ext.intercept("tool_call", tools=["bash"])
def gate(event: Interception, ctx: Context) -> Verdict | None:
    if event.args.get("command") != "rm":
        return None
    return None if ctx.confirm("Remove?", default=True) else event.block("the person said no")


@ext.command("envs", "where things run", complete=lambda text: [e for e in ("dev", "prod") if e.startswith(text)])
def envs(args: str, ctx: Context) -> Any:
    chosen = ctx.select("Environment", ["dev", "prod"])
    return ctx.prompt(f"What changed in {chosen}?") if chosen else None


@ext.key("ctrl+alt+p", "plan mode")
def plan(ctx: Context) -> Any:
    return ctx.insert("plan")


@ext.on("idle")
def idle(event: Event) -> None:
    ext.notify("info", f"model {ext.model()['model']}")


@ext.on("bus", topics=["t"])
def bus(event: Event) -> None:
    time.sleep(0.01)
    ext.notify("info", f"bus {(event.data or {}).get('payload')}")


@ext.on_state_save
def save() -> Any:
    return {"n": 3}


if __name__ == "__main__":
    ext.run()
