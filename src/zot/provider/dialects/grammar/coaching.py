"""What a weak model is told and allowed at each turn, as a pure function of the request.

It is told when it repeats itself, that a failed command is not mended yet, and what to run after a change. It may not
end while the last command failed, for some turns; a third repetition or too many turns leave it nothing but to end.
What is said behind a result depends on nothing that comes later: the prompt stays what it was, and the server's cache
holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from zot.provider.dialects.grammar.gbnf import json_text
from zot.provider.dialects.grammar.known_files import Step, known_files, steps_of
from zot.provider.messages import Message
from zot.provider.model_call import Request

MOST_STEPS = 24  # of one prompt
PATIENCE = 6  # turns in which a failed command must be mended before the model may give up
WARMER = 0.6  # the temperature of a model that repeats itself
_CHANGING = ("edit", "write")
_CHECKS = ("test", "check", "run", "verify", "pass")
_LONGEST_COMMAND = 200


class Advice(msgspec.Struct, frozen=True):
    """For the next turn: which tools are withheld, whether the model may end or must, and how freely it chooses.
    ``files`` are those whose lines an edit may replace; ``notes`` are said behind the results of the last prompt."""

    withheld: frozenset[str] = frozenset()
    final: bool = True
    must_end: bool = False
    temperature: float = 0.0
    files: dict[str, str] = {}
    notes: tuple[str, ...] = ()


def advise(request: Request) -> Advice:
    start = _last_prompt(request.messages)
    task = request.messages[start].text() if start < len(request.messages) else ""
    steps = steps_of(request.messages[start:])
    watch = _Watch(task)
    notes = tuple([watch.note(step) for step in steps])
    names = {tool.name for tool in request.tools}
    return Advice(
        withheld=frozenset(watch.withheld & names),
        final=watch.may_end,
        must_end=watch.must_end,
        temperature=WARMER if watch.stuck else 0.0,
        files=known_files(steps_of(request.messages)),
        notes=notes,
    )


def _last_prompt(messages: Sequence[Message]) -> int:
    """Where the user spoke last."""
    places = [number for number, message in enumerate(messages) if message.role == "user"]
    return places[-1] if places else 0


class _Watch:
    """Follows the steps of one prompt; ``note`` takes them in order."""

    def __init__(self, task: str) -> None:
        self._wants_check = any(word in task.lower() for word in _CHECKS)
        self._seen: dict[str, int] = {}
        self._count = 0
        self._repeats = 0
        self._failed = ""  # the command that failed last, while it did not succeed since
        self._failed_at = 0
        self._changed = False  # a file, since the last command
        self.withheld: set[str] = set()
        self.stuck = False

    @property
    def must_end(self) -> bool:
        return self._count >= MOST_STEPS or self._repeats >= 3

    @property
    def may_end(self) -> bool:
        if self.must_end or self._count == 0:
            return True
        waited = self._count - self._failed_at
        if self._failed and waited < PATIENCE:
            return False
        return not (self._changed and self._wants_check and "bash" not in self.withheld)

    def note(self, step: Step) -> str:
        """What is said behind the result of this step."""
        self._count += 1
        self.withheld, self.stuck = set(), False
        again = self._again(step)
        said = self._progress(step)
        if again > 1:
            self._repeats += 1
            self.stuck = True
            self.withheld = {step.call.name}
            said = "You did exactly this before, and nothing has changed since. Do something else."
            if self._failed:
                said += f" `{self._failed}` still fails: change the code."
        if self.must_end:
            return "Stop here. Say in a few words what you did, and what is not done."
        return said

    def _again(self, step: Step) -> int:
        key = f"{step.call.name} {json_text(step.args)}"
        if step.call.name in _CHANGING and not step.result.is_error:
            self._seen.clear()
        self._seen[key] = self._seen.get(key, 0) + 1
        return self._seen[key]

    def _progress(self, step: Step) -> str:
        name, failed = step.call.name, step.result.is_error
        if name == "bash":
            return self._ran(step)
        if name in _CHANGING:
            if failed:
                self.stuck = "are the same" in step.text
                return "The text was not changed: new must differ from old." if self.stuck else ""
            self._changed = True
            return f"Now run `{self._failed}` again." if self._failed else ""
        if self._failed and name == "read" and not failed:
            return f"`{self._failed}` still fails. If the mistake is in {step.path}, correct it."
        return ""

    def _ran(self, step: Step) -> str:
        command = str(step.args.get("command", "")).strip()
        self._changed = False
        if step.result.is_error:
            if len(command) <= _LONGEST_COMMAND and "\n" not in command:
                self._failed, self._failed_at = command, self._count
            return "The command failed. Find the file with the mistake, read it and correct it."
        if command == self._failed:
            self._failed = ""
            return "It works now."
        return ""
