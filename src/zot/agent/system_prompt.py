"""The system prompt of a session, built once and byte-identical while the tool set stays the same; a deferred tool that
is activated joins the tools of a request, not this text.

Order: identity (or the custom text in its place), tool summary, appended texts, context files, skill manifest, the
jail if there is one, footer; one blank line between them. The date is that of the session's start, so that providers
can cache the text. A small model on this machine gets a brief one (see ``brief_prompt``), as long as it is the one that
answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import zot
from zot.agent.context_files import ContextFile
from zot.features.skills.skill_tool import one_line
from zot.provider.model_call import ToolSpec
from zot.system.text_files import read_text

if TYPE_CHECKING:
    from zot.system.jail.jail import Jail

_SYSTEM_BYTES = 256 << 10
_SUMMARY_CHARACTERS = 120

_IDENTITY = """\
You are an expert coding assistant working inside zot, a coding agent for the terminal. The name stands for \
zero-overhead-tool; say so when somebody asks.

- Your answers are shown in a terminal that renders markdown. Be concise.
- Act first, then say briefly what you did and what you found. Do not announce or narrate tool calls.
- Look before you change: read a file before you edit it, and check your work where it can be checked.
- Use `edit` to change part of a file and `write` for a new file or one you replace entirely; do not write files \
through shell redirection.
- When you are asked about zot itself (its flags, settings, skills or extensions), read {index} and then the page \
it names; where you cannot open that file, run `zot docs`."""


def docs_root() -> Path:
    """The pages of the installed package, else those of the checkout this module was loaded from."""
    package = Path(zot.__file__).parent
    installed = package / "docs"
    return installed if installed.is_dir() else package.parent.parent / "docs"


class CustomText(msgspec.Struct, frozen=True):
    """``text`` None means the built-in identity, empty means none at all."""

    text: str | None = None
    problems: list[str] = []


class SystemPrompt:
    """Call it with the tools of the next request to get the prompt's text."""

    def __init__(
        self,
        *,
        cwd: Path | None,
        docs_index: Path,
        custom: str | None = None,
        appends: Sequence[str] = (),
        context: Sequence[ContextFile] = (),
        skills: str = "",
        date: str = "",
        jail: Callable[[], str] = lambda: "",
        brief: Callable[[], bool] = lambda: False,
    ) -> None:
        self._cwd = cwd
        self._custom = custom
        self._given = {"cwd": cwd, "docs_index": docs_index, "custom": custom, "appends": appends, "skills": skills}
        self._date = date or time.strftime("%Y-%m-%d")
        self._first = _IDENTITY.format(index=docs_index) if custom is None else custom.strip()
        self._appends = [text.strip() for text in appends]
        self._context = context
        self._middle = [*self._appends, *(part.section() for part in context)]
        self._skills = skills
        self._footer = f"Current date: {self._date}\nCurrent working directory: {cwd or '.'}\n"
        self._jail = jail
        self._jailed = jail()
        self._brief = brief
        self._was_brief: bool = brief()
        self._brief_text = ""
        self._specs: tuple[ToolSpec, ...] = ()
        self._text = self._build(())

    def __call__(self, specs: tuple[ToolSpec, ...]) -> str:
        jailed, brief = self._jail(), self._brief()  # both come and go by a person's word
        changed = specs is not self._specs and specs != self._specs
        if changed or jailed != self._jailed or brief != self._was_brief:
            self._specs, self._jailed, self._was_brief = specs, jailed, brief
            self._text = self._build(specs)
        return self._text

    @property
    def told(self) -> tuple[str, str]:
        """What it says of the jail at this moment, and what it says in brief; both are empty for most."""
        return self._jail(), self._in_brief() if self._brief() else ""

    def parts(self) -> dict[str, Any]:
        """What it was made from, for one like it elsewhere."""
        brief = self._in_brief() if self._was_brief else ""
        return {**self._given, "context": self._context, "date": self._date, "jail": self._jailed, "brief": brief}

    def sections(self, specs: tuple[ToolSpec, ...]) -> list[tuple[str, str, str]]:
        """What it is made of: a kind (``prompt``, ``tools``, ``file``, ``skills``), a name and the text of each."""
        if self._was_brief:
            from zot.local_model.short_prompt import nearest  # loaded with it

            whole, file = self._in_brief(), nearest(self._context)
            named = str(self._context[-1].path) if file else ""
            return [("prompt", "", whole.replace(file, "", 1)), ("file", named, file)]
        skills = self._skills if any(spec.name == "skill" for spec in specs) else ""
        own = filter(None, [self._first, *self._appends, self._jailed, self._footer])
        return [
            ("prompt", "", "\n\n".join(own)),
            ("tools", "", tool_summary(specs)),
            *(("file", str(part.path), part.section()) for part in self._context),
            ("skills", "", skills),
        ]

    @property
    def left_out(self) -> str:
        """A line about what did not fit of the context files; empty when all of it did."""
        if not self._was_brief:
            return ""
        from zot.local_model.short_prompt import left_out  # loaded with it

        return left_out(self._context)

    def _in_brief(self) -> str:
        """Made once: what the directory holds is told as it was at the start."""
        if not self._brief_text:
            from zot.local_model.short_prompt import brief_prompt  # of no use to larger models

            self._brief_text = brief_prompt(self._cwd, self._custom, self._appends, self._context)
        return self._brief_text

    def _build(self, specs: tuple[ToolSpec, ...]) -> str:
        if self._was_brief:
            return self._in_brief()
        # Without the tool that loads them a list of skills would only mislead.
        skills = self._skills if any(spec.name == "skill" for spec in specs) else ""
        parts = [self._first, tool_summary(specs), *self._middle, skills, self._jailed, self._footer]
        return "\n\n".join(part for part in parts if part)


def told_of(jail: Jail | None, *, asks: bool) -> str:
    """What the model should know of its jail; empty when there is none."""
    if jail is None:
        return ""
    policy = jail.policy
    writable = ", ".join((*policy.writable, *policy.write_files))
    network = "There is a network." if policy.network else "There is no network."
    person = "the user is asked about it" if asks else "only the user can open it (/unjail)"
    return (
        f"Your tools run in a jail held by the operating system: only {writable} can be changed, the system can be "
        f"read, HOME and /tmp are private. {network} What is outside is refused, and {person}. When a task needs "
        "something outside, say so plainly; do not try to work round the jail."
    )


def tool_summary(specs: Iterable[ToolSpec]) -> str:
    """One short line per tool that was there from the start, in name order; empty without tools."""
    listed = sorted((spec for spec in specs if not spec.deferred), key=lambda spec: spec.name)
    lines = [f"- {spec.name}: {_sentence(spec.description)}" for spec in listed]
    return "\n".join(["Tools you can call:", *lines]) if lines else ""


def load_custom(flag: str | None, home: Path) -> CustomText:
    """``--system-prompt`` as typed (empty included), else SYSTEM.md of the zot home when there is text in it."""
    if flag is not None:
        return CustomText(flag)
    path = home / "SYSTEM.md"
    try:
        file = read_text(path, _SYSTEM_BYTES)
    except FileNotFoundError:
        return CustomText()
    except OSError as error:
        return CustomText(None, [f"{path}: cannot be read ({error.strerror}); the built-in prompt is used"])
    cut = [f"{path}: only the first {_SYSTEM_BYTES >> 10} KiB are used"] if file.cut else []
    damaged = [f"{path}: not valid UTF-8, the bad bytes are replaced"] if file.damaged else []
    return CustomText(file.text.strip() or None, cut + damaged)


def _sentence(description: str) -> str:
    """The first sentence, since the full text travels with the schema."""
    line = one_line(description, len(description))
    head, stop, _ = line.partition(". ")
    return one_line(head + stop.strip(), _SUMMARY_CHARACTERS) or "(no description)"
