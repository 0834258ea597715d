"""The one-line summary of a tool call: verb, subject, outcome.
Texts are sanitized and shortened before they are measured."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.core.interceptors import CALL_REFUSED
from zot.core.permission_gate import SAID_NO
from zot.core.permission_modes import IN_SESSION, PLANNING, SAVED_ANSWER
from zot.core.tool import decided_by, is_mode
from zot.provider.messages import TextBlock
from zot.tui.sanitize import beginning, one_line
from zot.tui.tool_call_rows import Words

if TYPE_CHECKING:
    from zot.core.events import ToolResultEvent

# A command's result parsed: output, status, duration. A session stores only the text, so old and new results are parsed
# alike.

_ENDING = re.compile(
    r"\[exit (-?[0-9]{1,9})\](?P<full> \(full output: [^\n]*\))?(?:  Took (?P<took>[0-9.hms]{1,12}))?\s*"
)
_NOTES = ("[timed out after ", "[still running in the background: ", "[the full output file ")
_CANCELLED = "[cancelled by the user]"
_JOB = re.compile(r"\[(job \d{1,9}) runs in the background; [^\n]*\]")


class BashText(msgspec.Struct, frozen=True):
    """``notes`` are lines of the tool itself; ``exit_code`` is None if the text has none."""

    output: str
    exit_code: int | None = None
    took: str = ""
    notes: tuple[str, ...] = ()
    cancelled: bool = False
    job: str = ""

    @property
    def timed_out(self) -> str:
        """The timeout, if it was exceeded."""
        text = next((note for note in self.notes if note.startswith(_NOTES[0])), "")
        return text.removeprefix(_NOTES[0]).partition(":")[0]


def read_bash(text: str, command: str) -> BashText:
    """``command`` of the call: a text that does not begin with it is all output."""
    body = text.rstrip("\n")
    first = f"$ {command}"
    if body == first or body.startswith(f"{first}\n"):
        body = body[len(first) :].lstrip("\n")
    head, _, last = body.rpartition("\n")
    if last == _CANCELLED:
        return BashText(head, cancelled=True)
    if started := _JOB.fullmatch(last):
        return BashText(head, job=started[1])
    if (ending := _ENDING.fullmatch(last)) is None:
        return BashText(body)
    notes: list[str] = [ending["full"].strip(" ()")] if ending["full"] else []
    for _ in range(len(_NOTES)):
        before, _, last = head.rpartition("\n")
        if last.startswith(_NOTES):
            notes.insert(0, last)
            head = before
    return BashText(head.rstrip("\n"), int(ending[1]), ending["took"] or "", tuple(notes))


# infinitive, present, past
_VERBS = {
    "read": ("Read", "Reading", "Read"),
    "write": ("Write", "Writing", "Wrote"),
    "edit": ("Edit", "Editing", "Edited"),
    "bash": ("Run", "Running", "Ran"),
    "grep": ("Search", "Searching", "Searched"),
    "glob": ("List", "Listing", "Listed"),
    "skill": ("Load skill", "Loading skill", "Loaded skill"),
    "jobs": ("Job", "Job", "Job"),
    "more_tools": ("Enable tools", "Enabling tools", "Enabled tools"),
    "web_fetch": ("Fetch", "Fetching", "Fetched"),
    "web_search": ("Search the web for", "Searching the web for", "Searched the web for"),
    "todo": ("Update the steps", "Updating the steps", "Updated the steps"),
    "ask_user": ("Ask you", "Asking you", "Asked you"),
    "present_plan": ("Present a plan", "Presenting a plan", "Presented a plan"),
}
_APPROVED = re.compile(r"the user approved the plan; the permission mode is now ([a-z-]{1,20})\.")  # a stored result
_OF_USER = frozenset(("todo", "ask_user", "present_plan"))
_SUBJECTS = {"grep": "pattern", "glob": "pattern", "skill": "name", "web_fetch": "url", "web_search": "query"}
_REFUSALS = (SAID_NO, "denied", "refused", CALL_REFUSED)
_ABORTED = "aborted: "
_GIST = 1_000  # characters of the arguments searched for a subject
_MOST_VALUES = 3
_INLINE = 80  # characters of a one-line result after the call
_LONGEST_DECISION = 120


def verb(name: str, state: str) -> str:
    """The tense follows the state: infinitive for a call that never ran, past for a failed command."""
    words = _VERBS.get(name)
    if words is None:
        return name
    if state == "running":
        return words[1]
    return words[2] if state == "done" or (name == "bash" and state in ("failed", "interrupted")) else words[0]


def subject(name: str, arguments: dict[str, Any], text: str) -> str:
    """The subject of a call: a path, a command, a pattern, up to three texts, or all arguments."""
    keys = (_SUBJECTS[name],) if name in _SUBJECTS else ("path", "file_path", "command")
    found = next((value for key in keys if isinstance(value := arguments.get(key), str) and value), None)
    if name == "jobs":
        found = " ".join(str(arguments[key]) for key in ("action", "job", "pattern", "text") if arguments.get(key))
    if name == "more_tools":
        names: Any = arguments.get("names")
        found = ", ".join(str(each) for each in cast("list[Any]", names)) if isinstance(names, list) else None
    if name in _OF_USER:
        return one_line(_of_user(name, arguments)[:_GIST])
    if found is None and name not in _VERBS and 1 <= len(arguments) <= _MOST_VALUES:
        texts = [value for value in arguments.values() if isinstance(value, str) and value.strip()]
        found = " · ".join(value[:_GIST] for value in texts) if len(texts) == len(arguments) else None
    if found is None:
        found = "" if text.strip() == "{}" else text
    if name == "bash":
        first, more, _ = found.strip("\n").partition("\n")
        return one_line(first[:_GIST]) + (" …" if more else "")
    summary = one_line(found[:_GIST])
    if not _searches(name):
        return summary
    where = arguments.get("path")
    shown = f'"{summary}"' if name == "grep" and summary else summary
    return shown + (f" in {one_line(where[:_GIST])}" if isinstance(where, str) and where != "." else "")


def _of_user(name: str, arguments: dict[str, Any]) -> str:
    """The step in progress, the headers of questions, or the title of a plan."""
    items: Any = arguments.get("items" if name == "todo" else "questions")
    if name == "present_plan":
        lines = str(arguments.get("plan") or "").strip().split("\n")
        return lines[0].lstrip("# ")
    listed = cast("list[Any]", items) if isinstance(items, list) else []
    found = [cast("dict[str, Any]", item) for item in listed if isinstance(item, dict)]
    if name == "ask_user":
        return ", ".join(str(item.get("header") or item.get("question") or "") for item in found[:4])
    return next((str(item.get("text") or "") for item in found if item.get("status") == "in_progress"), "")


def _searches(name: str) -> bool:
    return name in ("grep", "glob")


def is_path(name: str, arguments: dict[str, Any]) -> bool:
    """True if the subject is a path, whose end matters."""
    return not _searches(name) and any(isinstance(arguments.get(key), str) for key in ("path", "file_path"))


def line_range(name: str, arguments: dict[str, Any]) -> str:
    """The lines of a read."""
    if name != "read":
        return ""
    offset, limit = arguments.get("offset"), arguments.get("limit")
    first = offset if isinstance(offset, int) and offset > 0 else 1
    if isinstance(limit, int) and limit > 0:
        return f":{first}-{first + limit - 1}"
    return f":{first}-" if first > 1 else ""


def text_of(result: ToolResultEvent) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextBlock))


def state_of(result: ToolResultEvent) -> str:
    """``done``, ``failed``, ``refused`` or ``interrupted``."""
    if not result.is_error:
        return "done"
    text = text_of(result)
    if text.startswith(_ABORTED) or text.endswith("[cancelled by the user]"):
        return "interrupted"
    return "refused" if (result.details or {}).get("refused") or text.startswith(_REFUSALS) else "failed"


def outcome(
    name: str, arguments: dict[str, Any], result: ToolResultEvent, seconds: float, *, asked: bool = False
) -> tuple[Words, ...]:
    """The outcome, most important first, and who decided unless a mode did; the reason of a failure is in
    ``failure_line``. The output of a command the user ``asked`` for is shown below."""
    by = decided_by(result.details)
    is_named = not by or is_mode(by) or by in text_of(result)
    decided: tuple[Words, ...] = () if is_named else ((_decision(result, by), "muted"),)
    return (*_outcome(name, arguments, result, seconds, asked=asked), *decided)


def _decision(result: ToolResultEvent, by: str) -> str:
    """``allowed by you``, or ``allowed: always npm test …``: short, since the command needs the room."""
    if (result.details or {}).get("refused"):
        text = f"denied by {by}"
    elif by.startswith(IN_SESSION):
        text = "allowed: always" + by.removeprefix(IN_SESSION).replace(" bash ", " ")
    elif by.startswith(SAVED_ANSWER):
        text = "allowed: saved" + by.removeprefix(SAVED_ANSWER).replace(" bash ", " ")
    else:
        text = f"allowed by {by}"
    return one_line(beginning(text, _LONGEST_DECISION))


def _outcome(
    name: str, arguments: dict[str, Any], result: ToolResultEvent, seconds: float, *, asked: bool
) -> tuple[Words, ...]:
    state = state_of(result)
    if state == "interrupted":
        return (("interrupted", "muted"),)
    text = text_of(result)
    if name == "bash" and state != "refused":
        output = read_bash(text, str(arguments.get("command", "")))
        parts: list[Words] = []
        if output.timed_out:
            return ((f"timed out after {output.timed_out.removesuffix('s')} s", "error"),)
        if output.job:
            return ((f"{output.job} in the background", "muted"),)
        if output.exit_code:
            parts.append((f"exit {output.exit_code}", "error" if state == "failed" else "muted"))
        if took := duration_of(output.took):
            parts.append((took, "muted"))
        if state == "done" and not asked:
            parts += _summary_of(output.output)
        return tuple(parts)
    took = [(spelled, "muted")] if (spelled := duration(seconds)) else []
    status = (result.details or {}).get("status")
    if state == "failed" and name == "web_fetch" and isinstance(status, int):
        return ((f"http {status}", "error"), *took)
    return (*(_of_success(name, text, result.details or {}) if state == "done" else ()), *took)


def _of_success(name: str, text: str, details: dict[str, Any]) -> list[Words]:
    if name == "grep":
        matches = details.get("matches")
        return [_counted(matches if isinstance(matches, int) else _lines(text, "no match for "), "match", "matches")]
    if name == "glob":
        files = details.get("files")
        return [_counted(files if isinstance(files, int) else _lines(text, "no file matches "), "file", "files")]
    if name == "write":
        return [("unchanged", "muted")] if details.get("changes") == "" else []
    if name in ("web_fetch", "web_search"):
        return _of_web(details)
    if name == "present_plan" and (approved := _APPROVED.match(text)):
        return [(f"approved, mode {approved[1]}", "tool_out")]
    if name == "present_plan" or (name == "ask_user" and "\n" not in text):
        return [(one_line(re.split(r"[.:] ", text[:_GIST], maxsplit=1)[0]), "tool_out")]
    return [] if name in _VERBS else _summary_of(text)


def _of_web(details: dict[str, Any]) -> list[Words]:
    """The host that answered and the size, or the engine and the number of results."""
    results, size = details.get("results"), details.get("bytes")
    parts: list[Words] = [(one_line(str(details[key])), "muted") for key in ("host", "engine") if details.get(key)]
    if isinstance(results, int):
        parts.append(_counted(results, "result", "results"))
    if isinstance(size, int):
        parts.append((_bytes(size), "muted"))
    return parts + [("cached", "muted")] * bool(details.get("cached"))


def _bytes(size: int) -> str:
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1_000:.0f} kB" if size < 999_500 else f"{size / 1_000_000:.1f} MB"


def _summary_of(text: str) -> list[Words]:
    """A short one-line result, else its size."""
    clean = text.strip("\n")
    if not clean:
        return []
    if "\n" not in clean and len(clean) <= _INLINE:
        return [(line, "tool_out")] if (line := one_line(clean)) else []
    return [_counted(clean.count("\n") + 1, "line", "lines")]


def _lines(text: str, nothing: str) -> int:
    """For a result without stored details."""
    return 0 if text.startswith(nothing) else sum(bool(line) and line != "--" for line in text.split("\n"))


def _counted(number: int, one: str, many: str) -> Words:
    return f"{number:,} {one if number == 1 else many}", "muted"


def failure_line(name: str, arguments: dict[str, Any], text: str) -> str:
    """A one-line failure without repeating the call; empty if it needs more room."""
    clean = "denied: plan mode is on" if text.strip() == PLANNING else text.strip()
    if "\n" in clean or len(clean) > 4 * _INLINE:
        return ""
    path = arguments.get("path")
    for prefix in (f"{name}: ", f"{path}: ", f"{path} "):
        clean = clean.removeprefix(prefix)
    return one_line(clean.replace(SAID_NO, "refused", 1) if clean.startswith(SAID_NO) else clean)


def duration(seconds: float) -> str:
    """``3.1 s``, ``2m13s``; empty below a noticeable time."""
    if seconds < 0.1:
        return ""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole // 60}m{whole % 60:02}s" if whole < 3600 else f"{whole // 3600}h{whole % 3600 // 60:02}m"


def duration_of(spelled: str) -> str:
    """The same from ``3.1s``, as a result spells it."""
    if not spelled.endswith("s") or "m" in spelled:
        return spelled
    try:
        return duration(float(spelled[:-1]))
    except ValueError:
        return spelled
