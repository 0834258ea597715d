"""Chooses the next step of a task from its words: a fixed call, a fresh prompt, or neither.

Questions are answered from files and matches, counting is done by a command, a change rewrites the named files and runs
their tests. All else is left to the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from zot.local_model.coaching.file_knowledge import RunHistory, TaskHistory, broken, is_test
from zot.local_model.coaching.prompts import for_answer, for_command, for_file, for_report, shown_output
from zot.local_model.coaching.task import CoachingTask
from zot.provider.dialects.grammar.turn_advice import FreshPrompt

BUILT_IN = frozenset({"read", "write", "edit", "bash", "glob", "grep"})
MOST_STEPS = 30
MOST_READ = 6  # files for one question
MOST_TRIES = 9  # attempts at a file while a command fails
BY_LINE = 0  # the attempt that changes single lines
MOST_UNCHECKED = 4  # attempts at a file without tests
MOST_COMMANDS = 4
WARMTH = (0.0, 0.2, 0.7, 0.5, 0.9, 0.7, 1.0)
LARGEST = 4000  # characters of a file written whole
LONGEST = 120  # lines
_RUNNERS = {"py": "python3", "sh": "bash", "js": "node", "mjs": "node", "rb": "ruby", "pl": "perl"}
_CODE = frozenset(
    {"py", "js", "mjs", "ts", "tsx", "jsx", "c", "h", "cc", "cpp", "rs", "go", "java", "rb", "pl", "php", "sh", "lua",
     "kt", "swift"}
)  # fmt: skip
_TEST_COMMANDS = (("package.json", "npm test"), ("Cargo.toml", "cargo test"), ("go.mod", "go test ./..."))


class NextCall(msgspec.Struct, frozen=True):
    """A call of this tool, with one of these values per argument."""

    tool: str
    choices: dict[str, tuple[str, ...]] = {}


class NextEdit(msgspec.Struct, frozen=True):
    """Replaces one line and its indented block, with the transcript in the prompt."""

    path: str


Move = NextCall | NextEdit | FreshPrompt | None


def next_step(task: CoachingTask, history: TaskHistory, listed: Sequence[str], tools: frozenset[str]) -> Move:
    return _Lead(task, history, listed, tools).move()


class _Lead:
    def __init__(self, task: CoachingTask, history: TaskHistory, listed: Sequence[str], tools: frozenset[str]) -> None:
        self._task = task
        self._history = history
        self._tools = tools
        self._listed = [name for name in listed if not name.endswith(("/", "…"))]
        self._complete = len(self._listed) == len(listed)
        self._names = ", ".join(listed)
        self._named = [path for path in self._listed if task.is_about(path)]

    def move(self) -> Move:
        if len(self._history.steps) >= MOST_STEPS or len(self._history.refused) > 1 or self._task.is_long:
            return None
        if self._tools - BUILT_IN and not self._named:
            return None  # the task may be about another tool
        task = self._task
        if "bash" in self._tools and not task.changes and (command := self._to_run()):
            if not (runs := self._history.runs_of(command)):
                return self._once(NextCall("bash", {"command": (command,)}))
            if self._task.asks:
                return for_answer(self._task.text, _outputs(runs[-1:]))
            return self._report()
        if "bash" in self._tools and (task.handles or (task.counts and task.only_asks)):
            runs = self._history.runs
            good = [
                run
                for run in runs
                if not run.failed
                and (not self._task.asks or re.sub(r"^\$ .*|\[exit .*", "", run.output, flags=re.MULTILINE).strip())
            ]
            if not good and len(runs) < MOST_COMMANDS:
                known = _outputs([run for run in runs[-1:] if run.failed])
                return for_command(self._task.text, self._names, known, warmth=WARMTH[min(len(runs), 4)])
            return for_answer(self._task.text, _outputs(good or runs[-1:])) if self._task.asks else self._report()
        if task.only_asks:
            return self._question()
        return self._change() if task.changes else None

    # --- running

    def _to_run(self) -> str:
        """The command named in the task."""
        if self._task.commands:
            return self._task.commands[0]
        scripts = [path for path in self._named if self._runner(path)]
        if not self._task.runs or len(scripts) != 1:
            return ""
        return f"{self._runner(scripts[0])} {scripts[0]}"

    def _runner(self, path: str) -> str:
        return _RUNNERS.get(path.rpartition(".")[2], "")

    # --- questions

    def _question(self) -> Move:
        history = self._history
        if unread := self._unread(self._named):
            return self._once(NextCall("read", {"path": unread}))
        if not self._named and (move := self._search()):
            return move
        if not self._named and not history.found:
            if not self._complete or len(self._listed) > 2 * MOST_READ:
                likely = []
            else:
                words = {word for word in re.findall(r"[a-z]{3,}", self._task.text.lower())}
                likely = sorted(self._listed, key=lambda path: not words & set(re.findall(r"[a-z]{3,}", path.lower())))
            if not likely:
                return None
            if len(history.read) < MOST_READ and (unread := self._unread(likely)):
                return self._once(NextCall("read", {"path": unread[:1]}))
        contents = {path: history.files[path] for path in history.read if path in history.files}
        return for_answer(self._task.text, {**contents, **_matches(history)})

    def _search(self) -> Move:
        """Searches the question's words, then reads the files with matches."""
        if "grep" not in self._tools:
            return None
        searched = {str(step.args.get("pattern")) for step in self._history.found}
        hits = _matches(self._history)
        left = [word for word in self._task.search_words if re.escape(word) not in searched and word not in searched]
        if not hits and left:
            pattern = re.escape(left[0]).replace("\\ ", " ").replace("\\-", "-").replace('\\"', '"')
            return self._once(NextCall("grep", {"pattern": (pattern,)}))
        if hits and not self._task.where:
            places = list(dict.fromkeys(line.partition(":")[0] for text in hits.values() for line in text.split("\n")))
            if unread := self._unread(places[:2]):
                return self._once(NextCall("read", {"path": unread}))
        return None

    # --- changes

    def _change(self) -> Move:
        targets = self._targets()
        if not targets or not {"read", "write"} <= self._tools:
            return None
        others = [path for path in (*self._named, *self._tests(targets)) if path not in targets]
        if unread := self._unread(others):
            return self._once(NextCall("read", {"path": unread[:1]}))
        check = self._check(targets) if "bash" in self._tools else ""
        runs = [run for run in self._history.runs_of(check) if not run.says_nothing] if check else []
        if check and self._wants_run(check, runs):
            return self._once(NextCall("bash", {"command": (check,)}))
        if unread := self._unread(targets, also=targets):  # last, since small models weight the last text most
            return self._once(NextCall("read", {"path": unread[:1]}))
        last = runs[-1] if runs else None
        if last is not None and not last.failed and last.changes == self._history.changes > 0:
            return self._report(last)
        return self._next_write(targets, last)

    def _wants_run(self, check: str, runs: list[RunHistory]) -> bool:
        """Runs tests before the first change and after each."""
        tried = self._history.runs_of(check)
        if tried and not runs:
            return False  # it has no meaning
        before = self._task.fixes and not tried
        changed = [path for path in self._history.tries if self._history.is_changed(path)]
        return before or bool(changed and (not tried or tried[-1].changes < self._history.changes))

    def _next_write(self, targets: list[str], failing: RunHistory | None) -> Move:
        left = [path for path in targets if self._is_left(path)]
        if not left and failing is not None and failing.failed:
            left = targets[:1] if self._history.tries.get(targets[0], 0) % 4 != 3 else targets[-1:]
        if not left:
            return self._report(failing)
        path = left[0]
        tries = self._history.tries.get(path, 0)
        if tries >= (MOST_TRIES if failing is not None and failing.failed else MOST_UNCHECKED):
            return self._report(failing)
        text = self._history.before.get(path, "")
        if path in self._history.read and path not in self._history.before:
            return None  # the file is longer than what was read
        fenced = not path.endswith((".md", ".markdown")) and any(line.startswith("`") for line in text.split("\n"))
        if len(text) > LARGEST or text.count("\n") > LONGEST or fenced:
            return None  # too large: left to the model
        if tries == BY_LINE and failing is not None and "edit" in self._tools and not self._history.is_changed(path):
            return NextEdit(path)
        return self._write(path, tries, failing)

    def _write(self, path: str, tries: int, failing: RunHistory | None) -> FreshPrompt:
        """Always from what the file held at first: a wrong attempt is no better place to start."""
        others = [name for name in [*self._named, *self._tests([path])] if name != path]
        known = {name: self._history.before[name] for name in others if name in self._history.before}
        if path in self._history.before:
            known[path] = self._history.before[path]
        elif tries % 2 == 1 and failing is not None and path in self._history.files:
            known[path] = self._history.files[path]
        if failing is not None and failing.failed:
            known |= _outputs([failing])
        thinks = tries % 2 == 1 and path in known
        opening = ("The mistake is that " if self._task.fixes else "What is wrong is ") if thinks else ""
        return for_file(self._task.text, path, known, opening=opening, warmth=WARMTH[min(tries, len(WARMTH) - 1)])

    def _is_left(self, path: str) -> bool:
        text = self._history.files.get(path, "")
        return not self._history.is_changed(path) or bool(broken(path, text)) or not self._has_names(path, text)

    def _has_names(self, path: str, text: str) -> bool:
        """Quoted names must be in the file, unless the task fixes, removes or has several targets."""
        if self._task.fixes or self._task.removes or len(self._targets()) > 1:
            return True
        names = [word for word in self._task.literal_words if word not in path]
        return all(name in text for name in names)

    def _targets(self) -> list[str]:
        """The files to change or create."""
        new = [
            name
            for name in self._task.file_names
            if name not in self._listed and not any(path.endswith(f"/{name}") for path in self._listed)
        ]
        if new and self._task.creates:
            return new
        named = [path for path in self._named if not is_test(path)] or self._named
        if named:
            return named
        code = [path for path in self._listed if path.rpartition(".")[2] in _CODE and not is_test(path)]
        if self._task.fixes and code and self._complete:
            output = "".join(run.output for run in self._history.runs)
            return sorted(code, key=lambda path: -output.count(path))[:2]
        return self._listed if len(self._listed) == 1 and self._complete else []

    def _tests(self, targets: Sequence[str]) -> list[str]:
        """The file among these that needs the fix."""
        tests = [path for path in self._listed if is_test(path)] if self._task.fixes else []
        stems = [path.rpartition("/")[2].partition(".")[0] for path in targets]
        return [path for path in tests if any(stem in path for stem in stems)] or tests[:1]

    def _check(self, targets: Sequence[str]) -> str:
        """The command that tests the result."""
        for command in self._task.commands:
            words = command.split()
            if "test" in command or any(path in words for path in targets):
                return command
        tests = [path for path in targets if is_test(path)] or self._tests(targets)
        if tests and (self._task.fixes or self._task.checks):
            for name, command in _TEST_COMMANDS:
                if name in self._listed:
                    return command
            if not tests[0].endswith(".py"):
                return ""
            text = self._history.files.get(tests[0], "")
            return "python3 -m unittest" if "unittest" in text or not text else "python3 -m pytest -q"
        new = [path for path in targets if path not in {*self._history.before, *self._listed} and self._runner(path)]
        return f"{self._runner(new[0])} {new[0]}" if new and self._task.prints else ""

    # --- the end

    def _report(self, check: RunHistory | None = None) -> FreshPrompt:
        history = self._history
        changed = [path for path in history.tries if history.is_changed(path)]
        done = [
            f"Changed in {path}:\n{_difference(history.before.get(path, ''), history.files[path])}" for path in changed
        ]
        if check is not None:
            done.append(f"`{check.command}` {'still fails' if check.failed else 'succeeds now'}.")
        elif history.runs:
            run = history.runs[-1]
            done.append(f"`{run.command}` was run{' and failed' if run.failed else ''}:\n{shown_output(run.output)}")
        failed = (check or (history.runs[-1] if history.runs else None)) if not changed or check else None
        good = (changed or not history.tries) and not (failed and failed.failed)
        made = "I wrote " if all(path not in history.before for path in changed) else "I changed "
        opening = (made if changed else "I ran ") if good else "It is not done: "
        return for_report(self._task.text, "\n\n".join(done) or "Nothing was changed.", opening)

    # --- knowledge

    def _unread(self, paths: Sequence[str], *, also: Sequence[str] = ()) -> tuple[str, ...]:
        """Listed files, and ``also`` these: no file is written that was not read."""
        history = self._history
        seen = {*history.read, *history.unreadable, *history.before, *history.tries}
        found = dict.fromkeys(path for path in paths if path not in seen and (path in self._listed or path in also))
        return tuple(found)

    def _once(self, call: NextCall) -> Move:
        """None after repeated calls: then the model continues by itself."""
        same = [
            step
            for step in self._history.steps
            if step.call.name == call.tool
            and all(step.args.get(name) in values for name, values in call.choices.items())
        ]
        return call if call.tool in self._tools and len(same) <= MOST_TRIES + 1 else None


def _outputs(runs: Sequence[RunHistory]) -> dict[str, str]:
    return {f"`{run.command}` {'fails' if run.failed else 'prints'}": shown_output(run.output) for run in runs}


def _matches(history: TaskHistory) -> dict[str, str]:
    """Search results by pattern."""
    return {
        f"Lines with {step.args.get('pattern')}": step.text.strip()
        for step in history.found
        if step.call.name == "grep" and not step.text.startswith("no match")
    }


def _difference(before: str, after: str) -> str:
    from difflib import unified_diff

    lines = list(unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=0))[2:22]
    return "\n".join(line for line in lines if not line.startswith("@@"))
