"""``report.md``: per step the keys, the wait, the expectations and the screens, one program after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.first_hour.programs import Program
from benchmarks.first_hour.user import Step

Hours = Mapping[Program, Sequence[Step]]
Size = tuple[int, int]

NOTES = """Keys: a pasted text counts as one. Seconds: the wait for the program, without the time of the model.
The model is scripted; in plan mode it tries to write a file, which a program may deny, ask about or allow.
Codex is asked for `make test` outside its sandbox, because it asks about no command inside."""


def table(hours: Hours) -> str:
    """Steps as rows, programs as columns: keys, seconds waited for the program, expectations that failed."""
    names = list(dict.fromkeys(step.name for steps in hours.values() for step in steps))
    rows = ["| step | " + " | ".join(program.title for program in hours) + " |", "| --- |" + " --- |" * len(hours)]
    for name in names:
        rows.append(f"| {name} | " + " | ".join(_cell(_find(steps, name)) for steps in hours.values()) + " |")
    rows.append("| all | " + " | ".join(_total(steps) for steps in hours.values()) + " |")
    return "\n".join(rows)


def report(sizes: Mapping[Size, Hours]) -> str:
    """The whole page: a table per size, then the steps with their screens."""
    programs = list(dict.fromkeys(program for hours in sizes.values() for program in hours))
    parts = ["# The first hour", NOTES, "## Prepared before the start"]
    parts.append("\n".join(f"- {program.title}: {program.prepared}" for program in programs))
    for size, hours in sizes.items():
        parts += [f"## Table at {name_of(size)}", table(hours)]
    for size, hours in sizes.items():
        for name in dict.fromkeys(step.name for steps in hours.values() for step in steps):
            parts.append(f"## {name_of(size)}: {name}")
            for program, steps in hours.items():
                if step := _find(steps, name):
                    parts += _section(program, step)
    return "\n\n".join(parts) + "\n"


def name_of(size: Size) -> str:
    return "x".join(map(str, size))


def _section(program: Program, step: Step) -> Iterator[str]:
    yield f"### {program.title}: {_pressed(step)}, waited {step.waited_s:.1f} s"
    if step.checks:
        yield "\n".join(f"- {'holds' if check.holds else 'DOES NOT HOLD'}: {check.what}" for check in step.checks)
    for screen in step.screens:
        yield f"```text\n{screen.rstrip()}\n```"


def _pressed(step: Step) -> str:
    return f"{_keys(step.count)} ({' '.join(step.keys)})" if step.keys else "no key"


def _find(steps: Sequence[Step], name: str) -> Step | None:
    return next((step for step in steps if step.name == name), None)


def _cell(step: Step | None) -> str:
    if step is None:
        return "not reached"
    failed = [check.what for check in step.checks if not check.holds]
    verdict = f"NOT: {'; '.join(failed)}" if failed else "ok" if step.checks else ""
    return ", ".join(filter(None, [_keys(step.count), f"{step.waited_s:.1f} s", verdict]))


def _total(steps: Sequence[Step]) -> str:
    checks = [check for step in steps for check in step.checks]
    held = sum(check.holds for check in checks)
    seconds = sum(step.waited_s for step in steps)
    return f"{_keys(sum(step.count for step in steps))}, {seconds:.1f} s, {held} of {len(checks)} hold"


def _keys(count: int) -> str:
    return "1 key" if count == 1 else f"{count} keys"
