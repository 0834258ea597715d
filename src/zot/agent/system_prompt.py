"""The system prompt of a session, byte-identical while the tool set stays the same, so that providers can cache it.
Order: identity or custom text, tool summary, appended texts, context files, sections of features, footer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

import zot
from zot.agent.context_files import ContextFile
from zot.provider.model_call import ToolSpec
from zot.system.text_files import read_text

_SYSTEM_BYTES = 256 << 10
_SUMMARY_CHARACTERS = 120

_IDENTITY = """\
You are an expert coding assistant working inside zot, a coding agent for the terminal. The name stands for \
zero-overhead-tool; say so when asked.

- Your answers are shown in a terminal that renders markdown. Be concise.
- Act first, then say briefly what you did and what you found. Do not announce or narrate tool calls.
- Look before you change: read a file before you edit it, and check your work where it can be checked.
- Use `edit` to change part of a file and `write` for a new file or one you replace entirely; do not write files \
through shell redirection.
- When you are asked about zot itself (its flags, settings, skills or extensions), read {index} and then the page \
it names; where you cannot open that file, run `zot docs`."""


def docs_root() -> Path:
    """The pages of the installed package, else those of this checkout."""
    package = Path(zot.__file__).parent
    installed = package / "docs"
    return installed if installed.is_dir() else package.parent.parent / "docs"


class CustomText(msgspec.Struct, frozen=True):
    """``text`` None means the built-in identity, empty means none."""

    text: str | None = None
    problems: list[str] = []


class Section(NamedTuple):
    """A feature's part of the prompt.
    With ``tool``, only while that tool is offered: a list of skills without the tool that loads them would mislead."""

    order: int
    kind: str
    text: Callable[[], str]
    tool: str = ""


class ShortPrompt(Protocol):
    """Replaces the whole prompt while it is active."""

    def is_active(self) -> bool: ...

    def text(self) -> str: ...

    def sections(self) -> list[tuple[str, str, str]]:
        """As ``SystemPrompt.sections``."""
        ...

    def truncation_notice(self) -> str:
        """A line about truncated context files; else empty."""
        ...


class SystemPrompt:
    """Call it with the tools of the next request to get the prompt. ``short`` may replace it."""

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
        jail: Callable[[], str] | None = None,
    ) -> None:
        self.cwd, self.custom, self.context = cwd, custom, context
        self.appends = [text.strip() for text in appends]
        self.short: ShortPrompt | None = None
        self._given = {"cwd": cwd, "docs_index": docs_index, "custom": custom, "appends": appends}
        self._date = date or time.strftime("%Y-%m-%d")
        self._first = _IDENTITY.format(index=docs_index) if custom is None else custom.strip()
        self._middle = [*self.appends, *(part.section() for part in context)]
        self._footer = f"Current date: {self._date}\nCurrent working directory: {cwd or '.'}\n"
        self._sections: list[Section] = []
        self._built: tuple[object, ...] = ()
        self._text = ""
        if skills:
            self.add_section("skills", lambda: skills, order=10, tool="skill")
        if jail is not None:
            self.add_section("jail", jail, order=20)

    def add_section(self, kind: str, text: Callable[[], str], *, order: int, tool: str = "") -> None:
        """Add a section between context files and footer, by ``order``. ``text`` is called for every request."""
        self._sections = sorted([*self._sections, Section(order, kind, text, tool)], key=lambda each: each.order)

    def __call__(self, specs: tuple[ToolSpec, ...]) -> str:
        short = self.short is not None and self.short.is_active()
        state = (specs, short, *(section.text() for section in self._sections))
        if state != self._built:
            text = self._short_text()
            if not text:
                own = (_shown(section, specs) for section in self._sections)
                parts = [self._first, tool_summary(specs), *self._middle, *own, self._footer]
                text = "\n\n".join(part for part in parts if part)
            self._built, self._text = state, text
        return self._text

    def section(self, kind: str) -> str:
        """The current text of a feature's section; empty if there is none."""
        return next((section.text() for section in self._sections if section.kind == kind), "")

    @property
    def told(self) -> tuple[str, str]:
        """The jail's section and the short prompt, now; usually both are empty."""
        return self.section("jail"), self._short_text()

    def parts(self) -> dict[str, Any]:
        """Its inputs, to create a similar prompt."""
        own = {kind: self.section(kind) for kind in ("skills", "jail")}
        return {**self._given, **own, "context": self.context, "date": self._date, "brief": self._short_text()}

    def sections(self, specs: tuple[ToolSpec, ...]) -> list[tuple[str, str, str]]:
        """Its parts: kind (``prompt``, ``tools``, ``file``, ``skills``), name and text."""
        if self.short is not None and self.short.is_active():
            return self.short.sections()
        own = filter(None, [self._first, *self.appends, self.section("jail"), self._footer])
        return [
            ("prompt", "", "\n\n".join(own)),
            ("tools", "", tool_summary(specs)),
            *(("file", str(part.path), part.section()) for part in self.context),
            *((part.kind, "", _shown(part, specs)) for part in self._sections if part.kind != "jail"),
        ]

    @property
    def truncation_notice(self) -> str:
        """A line about truncated context files; else empty."""
        return self.short.truncation_notice() if self.short is not None and self.short.is_active() else ""

    def _short_text(self) -> str:
        return self.short.text() if self.short is not None and self.short.is_active() else ""


def _shown(section: Section, specs: tuple[ToolSpec, ...]) -> str:
    return section.text() if not section.tool or any(spec.name == section.tool for spec in specs) else ""


def one_line(text: str, limit: int) -> str:
    """``text`` without line breaks and control characters, truncated to ``limit`` characters."""
    clean = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return clean if len(clean) <= limit else clean[: limit - 1].rstrip() + "…"


def tool_summary(specs: Iterable[ToolSpec]) -> str:
    """One short line per tool present at the start, in name order; empty without tools."""
    listed = sorted((spec for spec in specs if not spec.deferred), key=lambda spec: spec.name)
    lines = [f"- {spec.name}: {spec.summary or _sentence(spec.description)}" for spec in listed]
    return "\n".join(["Tools you can call:", *lines]) if lines else ""


def load_custom(flag: str | None, home: Path) -> CustomText:
    """``--system-prompt`` as typed (even empty), else SYSTEM.md of the zot home unless blank."""
    if flag is not None:
        return CustomText(flag)
    path = home / "SYSTEM.md"
    try:
        file = read_text(path, _SYSTEM_BYTES)
    except FileNotFoundError:
        return CustomText()
    except OSError as error:
        return CustomText(None, [f"{path}: cannot read ({error.strerror}); using the built-in prompt"])
    cut = [f"{path}: truncated: only the first {_SYSTEM_BYTES >> 10} KiB are used"] if file.cut else []
    damaged = [f"{path}: not valid UTF-8; bad bytes are replaced"] if file.damaged else []
    return CustomText(file.text.strip() or None, cut + damaged)


def _sentence(description: str) -> str:
    """The first sentence; the full text is sent with the schema."""
    line = one_line(description, len(description))
    head, stop, _ = line.partition(". ")
    return one_line(head + stop.strip(), _SUMMARY_CHARACTERS) or "(no description)"
