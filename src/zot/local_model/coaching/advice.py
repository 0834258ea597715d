"""Instructions and allowed actions of a weak model at each turn, as a pure function of the request.

A failed command leads to reading, a change and the same command; repeated calls are reported and withheld. The note
behind a result never depends on later messages, so the server's prompt cache stays valid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zot.local_model.coaching.file_knowledge import Step, history_of, is_test, listed_files
from zot.local_model.coaching.next_step import BUILT_IN, NextEdit, next_step
from zot.local_model.coaching.prompts import for_step, own_instructions
from zot.local_model.coaching.task import CoachingTask, read_task
from zot.provider.dialects.grammar.schema_rules import json_text
from zot.provider.dialects.grammar.turn_advice import Advice, Choices, FreshPrompt
from zot.provider.model_call import Request

MOST_STEPS = 20  # of one prompt
PATIENCE = 8  # turns to fix a failed command before the model may give up
MOST_CHANGES = 4  # changes of one file if the task names several places
IDLE = 5  # turns within which a task must lead to a change
WARMER = 0.5  # temperature after a repeated call
_CHANGING = ("edit", "write")
_LOOKING = ("read", "glob", "grep")
_LONGEST_COMMAND = 200
_LONGEST_QUESTION = 300
_MOST_MENTIONED = 2


def advise(request: Request) -> Advice:
    """The ``Advisor`` of the grammar dialect."""
    history = history_of(request.messages)
    task = read_task(history.prompt)
    listed = listed_files(request.system)
    tools = frozenset(tool.name for tool in request.tools)
    move = next_step(task, history, listed, tools)
    own = own_instructions(request.system)
    if isinstance(move, FreshPrompt):
        return Advice(prompt=move, instructions=own, earlier=history.earlier, temperature=move.temperature)
    watch = _Watch(task, listed, tools)
    notes = tuple([watch.note(step) for step in history.steps])
    if isinstance(move, NextEdit):
        return Advice(only=("edit",), files={move.path: history.files[move.path]}, final=False, notes=notes)
    if move is not None:
        prompt = for_step(task.text, move.tool, [value for values in move.choices.values() for value in values])
        choices = {move.tool: move.choices}
        return Advice(only=(move.tool,), choices=choices, final=False, notes=notes, prompt=prompt, instructions=own)
    return watch.advice(history.files, notes)


class _Watch:
    """Follows the steps of one prompt: call ``note`` in order, then ``advice`` for the next turn."""

    def __init__(self, task: CoachingTask, listed: Sequence[str], tools: frozenset[str]) -> None:
        self._task = task
        self._listed = listed
        self._tools = tools
        self._seen: dict[str, int] = {}
        self._count = 0
        self._repeats = 0
        self._failed = ""  # the last failed command that has not succeeded since
        self._failed_at = 0
        self._changed = False  # a file, since the last command
        self._changes = 0
        self._mended = False  # the failed command works, or the change was checked
        self._changed_files: dict[str, int] = {}
        self._new: list[str] = []  # inserted lines
        self._read: set[str] = set()
        self._withheld: set[str] = set()
        self._stuck = 0  # steps in a row without effect
        self._ran_well = False
        self._single = False  # a whole block was copied: limit edits to one line

    # --- notes

    def note(self, step: Step) -> str:
        """The note after the result of this step."""
        self._count += 1
        self._withheld = set()
        if step.call.name in _CHANGING and not step.result.is_error:
            self._seen.clear()
        key = f"{step.call.name} {json_text(step.args)}"
        self._seen[key] = self._seen.get(key, 0) + 1
        if self._seen[key] > 1:
            self._repeats += 1
            self._stuck += 1
            self._withheld = {step.call.name}
            said = "You did exactly this before, and nothing has changed since. Do something else."
        else:
            said = self._progress(step)
        if self._is_changed:
            return "Done. Say what you changed."
        if self._must_end and not self._mended:
            return "Stop here. Say in a few words what you did, and what is not done."
        return said

    @property
    def _must_end(self) -> bool:
        over = self._mended or self._is_changed
        return over or self._count >= MOST_STEPS or self._repeats >= 3

    @property
    def _is_changed(self) -> bool:
        """Whether each named file was changed and nothing is left to check."""
        if not self._changes or self._failed or self._wants_check:
            return False
        if self._task.several:
            return max(self._changed_files.values()) >= MOST_CHANGES
        return not self._unchanged()

    @property
    def _wants_check(self) -> bool:
        return self._changed and self._task.checks and "bash" in self._tools - self._withheld

    def _unchanged(self) -> list[str]:
        """Files the task names that were not changed yet."""
        named = [path for path in self._listed if self._task.is_about(path)]
        return [path for path in named if path not in self._changed_files] if len(named) > 1 else []

    def _progress(self, step: Step) -> str:
        name, failed = step.call.name, step.result.is_error
        if name == "bash":
            return self._ran(step) or (self._asked() if self._task.only_asks else "")
        if name in _CHANGING:
            if step.result.is_error:
                self._stuck += 1
                self._single = "are the same" in step.text
                same = "Nothing was changed: new is the same as old. Choose the line that is wrong."
                return same if self._single else ""
            self._single = False
            self._changed, self._changes = True, self._changes + 1
            self._changed_files[step.path] = self._changed_files.get(step.path, 0) + 1
            self._new += step.new_lines
            return f"Now run `{self._failed}` again." if self._failed else ""
        if name == "read" and not failed:
            self._read.add(step.path)
            if self._failed:
                test = is_test(step.path) and not self._task.is_about(step.path)
                return _THE_TEST if test else f"`{self._failed}` fails: there is a mistake in {step.path}. Correct it."
        return self._asked()

    def _asked(self) -> str:
        """Repeats the task: small models weight the last text most."""
        if len(self._task.text) > _LONGEST_QUESTION:
            return ""
        if self._task.only_asks:
            return f"Now answer the question: {self._task.text.strip()}"
        return f"Now do it: {self._task.text.strip()}" if self._task.changes and not self._changes else ""

    def _ran(self, step: Step) -> str:
        command = str(step.args.get("command", "")).strip()
        changed, self._changed = self._changed, False
        if step.ran_no_tests:
            return "That ran no tests at all. Name the file with the tests."
        if not step.result.is_error:
            self._mended = self._changes > 0 and (command == self._failed or (changed and not self._failed))
            self._failed, self._stuck, self._ran_well = "", 0, True
            return "It works now. Say what was wrong and what you changed." if self._mended else ""
        if step.is_unknown_command:
            self._stuck += 1
            return "There is no such command here." + (" Use python3." if command.startswith("python ") else "")
        if len(command) <= _LONGEST_COMMAND and "\n" not in command:
            if command != self._failed:
                self._failed, self._failed_at = command, self._count
            elif changed:
                self._stuck += 1
                return "It still fails. The change was not right: look at the error and correct the code."
            return "The command failed. Find the mistake in the code and correct it."
        return ""

    # --- allowed calls

    def advice(self, files: Mapping[str, str], notes: tuple[str, ...]) -> Advice:
        if not self._failed:
            left = self._unchanged() if self._changes else []
            editable = {path: text for path, text in files.items() if not left or path in left}
        else:  # tests are not edited while one fails, unless the task is about them
            code = {path: text for path, text in files.items() if not is_test(path) or self._task.is_about(path)}
            editable = code or dict(files)
        only, choices = self._plan(editable)
        if only is not None and not (set(only) & self._tools - self._withheld):
            only, choices = None, {}
        return Advice(
            only=only,
            withheld=frozenset(self._withheld),
            choices=choices,
            final=self._may_end,
            must_end=self._must_end,
            opening="I changed " if self._mended or self._is_changed else "",
            temperature=min(WARMER * self._stuck, 1.0),
            files=editable,
            single=self._single,
            fixed=frozenset() if self._failed else frozenset(line for line in self._new if line.strip()),
            notes=notes,
        )

    @property
    def _may_end(self) -> bool:
        if self._must_end:
            return True
        if self._failed and self._count - self._failed_at < PATIENCE:
            return False
        if self._wants_check or (self._changes and self._unchanged()):
            return False
        if self._task.changes and not self._changes and not self._ran_well and self._count < IDLE:
            return False
        return self._count > 0 or not self._listed

    def _plan(self, files: Mapping[str, str]) -> tuple[tuple[str, ...] | None, Choices]:
        """The tools of the next turn and their allowed arguments; None for all."""
        if self._failed:
            if self._changed:
                return ("bash",), {"bash": {"command": (self._failed,)}}
            unread = [path for path in self._listed if path not in self._read and not path.endswith("/")]
            code = [path for path in unread if not is_test(path)] or unread
            if not [path for path in files if not is_test(path) or self._task.is_about(path)]:
                return (_LOOKING, {"read": {"path": tuple(code)}}) if code else (_LOOKING, {})
            return ("edit", "write"), {"write": {"path": tuple(files)}}
        if not self._count and not self._task.runs:
            named = [path for path in self._listed if self._task.is_about(path)]
            if 0 < len(named) <= _MOST_MENTIONED:
                return ("read",), {"read": {"path": tuple(named)}}
        if self._wants_check:
            return ("bash",), {}
        if self._changes and (left := self._unchanged()):
            unread = tuple(path for path in left if path not in files)
            return (("read",), {"read": {"path": unread}}) if unread else (("edit",), {})
        if self._changes and self._task.several:
            return ("edit",), {}
        others = tuple(sorted(self._tools - BUILT_IN))  # the question may be about one of them
        looked = (*_LOOKING, *others, *(("bash",) if self._count else ()))
        return (looked if self._task.only_asks else None), self._unread_paths()

    def _unread_paths(self) -> Choices:
        """Paths to read: not those read whole, and only listed ones if the list is complete."""
        if not self._read or not self._listed or any(name.endswith(("/", "…")) for name in self._listed):
            return {}
        unread = [path for path in self._listed if path not in self._read]
        if not unread:
            self._withheld.add("read")
        return {"read": {"path": tuple(unread)}}


_THE_TEST = "This is the test. Read the code that it tests."
