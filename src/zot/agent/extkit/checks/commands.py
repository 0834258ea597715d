"""Every command, without and with arguments."""

from __future__ import annotations

from zot.agent.extkit.run import Run, new_id
from zot.agent.extkit.verdicts import Check
from zot.wire.frames import ACTIONS, CommandInvoked, CommandResponse

CHECKS = (
    Check(
        "commands.answered",
        "7.1",
        (48, 56),
        "each command is answered within 30 s, with and without arguments",
        "send a command_response for every command_invoked, also when there is nothing to say (action noop); "
        "without arguments the key args is absent",
    ),
    Check(
        "commands.action",
        "7.2",
        (55,),
        "the action is one the protocol knows",
        f"the actions are {', '.join(ACTIONS)}",
    ),
    Check(
        "commands.payload",
        "7.2",
        (50, 52, 53),
        "the action comes with what it needs",
        'prompt needs a text in "prompt", insert in "insert", display in "display"; open_panel needs an object '
        "with an id; tool_prompt needs prompt, tool_name and tool_args",
    ),
)


async def check(run: Run) -> None:
    for command in run.commands:
        for args in ("", "one  two"):
            asked = CommandInvoked(id=new_id(), name=command.name, args=args)
            question = await run.answered(asked, "commands.answered", run.times.command)
            if question is not None and isinstance(question.answer, CommandResponse):
                run.verdicts.passed("commands.answered")
                _judge(run, command.name, question.answer, question.answer_line)


def _judge(run: Run, name: str, answer: CommandResponse, line: bytes) -> None:
    if answer.action not in ("", *ACTIONS):
        run.verdicts.failed("commands.action", f"/{name}: unknown action {answer.action!r}", line)
        return
    run.verdicts.passed("commands.action")
    if not answer.error and (missing := _missing(answer)):
        run.verdicts.failed("commands.payload", f"/{name}: action {answer.action} without {missing}", line)
    else:
        run.verdicts.passed("commands.payload")


def _missing(answer: CommandResponse) -> str:
    match answer.action:
        case "prompt":
            return "" if answer.prompt.strip() else "prompt"
        case "insert":
            return "" if answer.insert else "insert"
        case "display":
            return "" if answer.display else "display"
        case "open_panel":
            return "" if answer.open_panel and answer.open_panel.id else "open_panel.id"
        case "tool_prompt":
            given = {"prompt": answer.prompt.strip(), "tool_name": answer.tool_name}
            absent = [key for key, value in given.items() if not value]
            return ", ".join(absent if isinstance(answer.tool_args, dict) else [*absent, "tool_args"])
        case _:
            return ""
