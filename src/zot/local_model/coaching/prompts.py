"""Fresh prompts: one message with what is known, the task, and one sentence of what to do now.

A small model that reads a whole transcript of actions is led away by it; asked like this, it answers, writes a file or
a command far better. What it writes stands in a block, and becomes the one argument of a call that is otherwise fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from zot.local_model.coaching.file_knowledge import LISTED, OPENING, RULES
from zot.local_model.coaching.quoting import likely_lines
from zot.provider.dialects.grammar.actions import FENCE, language_of
from zot.provider.dialects.grammar.gbnf import Grammar, literal

_ANSWERS = "You answer questions about files, in one sentence."
_WRITES = "You are a careful programmer."
_COMMANDS = (
    "You are an expert of the bash shell. "
    "You answer with one line of bash that does the task, or prints what is asked for."
)
_PHRASES = (
    ("a.txt, c.txt, d.md", "How many lines do the .txt files have together?", "cat *.txt | wc -l"),
    ("notes/x.md, notes/y.md", "Which of the notes is the biggest?", "ls -S notes | head -1"),
    ("run.log", "How many lines of run.log have the word WARN?", "grep -c WARN run.log"),
    ("lib/a.js, lib/b.js", "How many classes are defined in lib?", "grep -r '^class ' lib | wc -l"),
    ("old.c, new.c, bin/x", "Copy all .c files into the folder src.", "mkdir -p src && cp *.c src/"),
    (
        "doc/a.htm, doc/b.htm",
        "Give the files in doc the ending .html.",
        'for f in doc/*.htm; do mv "$f" "${f%.htm}.html"; done',
    ),
)
_STEPS = "You work step by step."
_REPORTS = "You tell what was done, in one short sentence."
_ROLES = ("user", "assistant")
_SHORT, _SOME, _LONG = 200, 300, 1024  # tokens of an answer, and of files
_EARLIER = 600  # characters of what was said before
_OUTPUT = 1500
_FEW_LINES = 4  # need no quoting
_ALL = 9000

# Text that begins as an answer does: no JSON, no block.
_FIRST = r"[^`{\x5b\x00-\x20\x7f]"
_FEW = r"[^\x00]{0,600}"  # such a model may go on for ever
_TEXT = f"{_FIRST} [^\\x00]*"
_SENTENCE = r"[^`\n\x00]{10,200}"
_COMMAND = r"[^`#\n\x00\x20] [^`\n\x00]{0,300}"


class Ask(msgspec.Struct, frozen=True):
    """``said`` is the message; without a ``tool`` the reply is the answer; with one it is a block whose text becomes
    the argument ``into``, beside ``args``. ``opening`` is how the answer begins, or the sentence before the block."""

    system: str
    said: str
    tool: str = ""
    args: dict[str, str] = {}
    into: str = ""
    opening: str = ""
    temperature: float = 0.0
    examples: tuple[tuple[str, str], ...] = ()
    bare: bool = False  # the reply is the text, without a block around it

    @property
    def longest(self) -> int:
        if self.into != "content":
            return _SHORT
        return min(_LONG, _SOME + len(self.said) // 3)

    def messages(self, system: str, earlier: tuple[str, str]) -> list[dict[str, Any]]:
        """Behind the instructions of the user and the project, and what was said just before."""
        own = "\n\n".join([self.system, *own_instructions(system)])
        before = [*self.examples, *([earlier] if all(earlier) else [])]
        turns = [(role, cut(text, _EARLIER)) for pair in before for role, text in zip(_ROLES, pair, strict=True)]
        return [{"role": role, "content": text} for role, text in [("system", own), *turns, ("user", self.said)]]

    def grammar(self) -> str:
        grammar = Grammar({})
        if not self.tool:
            return grammar.text(f"{literal(self.opening) if self.opening else _FIRST} {_FEW}")
        if self.into == "command":
            return grammar.text(f'"{FENCE}bash\\n" {_COMMAND} "\\n{FENCE}"')
        if self.bare:
            return grammar.text(_TEXT)
        said = f'{literal(self.opening)} {_SENTENCE} "\\n\\n" ' if self.opening else ""
        return grammar.text(f'{said}"{FENCE}" {literal(language_of(self.args))} "\\n" lines "{FENCE}"')

    def call_args(self, reply: str) -> dict[str, str]:
        """The arguments of the call; none when the reply is not such a block."""
        if self.bare:
            return {**self.args, self.into: f"{reply.strip()}\n"}
        _, fence, rest = reply.partition(FENCE)
        rest = rest.partition("\n")[2]
        end = rest.find(f"\n{FENCE}") + 1
        if not fence or not (end or rest.startswith(FENCE)):
            return {}
        text = rest[:end]
        return {**self.args, self.into: text.strip() if self.into == "command" else text}


def own_instructions(system: str) -> list[str]:
    """What the user or the project added to the system prompt."""
    return [part for part in system.split("\n\n") if part and not part.startswith((OPENING, RULES, LISTED))]


# --- what is asked


def for_answer(question: str, known: Mapping[str, str]) -> Ask:
    lines = likely_lines(question, known) if sum(text.count("\n") for text in known.values()) > _FEW_LINES else []
    quoted = {"The lines that matter most": "\n".join(lines)} if lines else {}
    return Ask(_ANSWERS, f"{_shown({**known, **quoted})}{question.strip()}")


def for_file(task: str, path: str, known: Mapping[str, str], *, opening: str = "", warmth: float = 0.0) -> Ask:
    """With an ``opening`` a sentence comes first that begins so: it makes a model think that copies what it sees.
    A text that may hold blocks itself stands without one around it."""
    bare = path.endswith((".md", ".markdown")) and FENCE in known.get(path, FENCE)
    then = f"Write the whole new content of {path}{'' if bare else ' in a code block'}"
    opening = "" if bare else opening
    then = f"Say in one sentence what is wrong. Then w{then[1:]}." if opening else f"{then}, and nothing else."
    said = f"{_shown(known)}{task.strip()}\n\n{then}"
    return Ask(_WRITES, said, "write", {"path": path}, "content", opening, warmth, bare=bare)


def for_command(task: str, names: str, known: Mapping[str, str], *, warmth: float = 0.0) -> Ask:
    examples = tuple((_listed(files, asked), f"{FENCE}bash\n{line}\n{FENCE}") for files, asked, line in _PHRASES)
    said = f"{_shown(known)}{_listed(names, task.strip())}"
    return Ask(_COMMANDS, said, "bash", {}, "command", temperature=warmth, examples=examples)


def _listed(names: str, task: str) -> str:
    return f"{LISTED}{names}\n\n{task}" if names else task


def for_step(task: str, tool: str, values: Sequence[str]) -> Ask:
    """A call that is settled, or one of few: no more than its grammar asks for needs to be said."""
    return Ask(_STEPS, f"{task.strip()}\n\nThe next step: {tool} {' or '.join(values)}")


def for_report(task: str, done: str, opening: str) -> Ask:
    said = f"The task was: {task.strip()}\n\n{done}\n\nSay in one short sentence what was done."
    return Ask(_REPORTS, said, opening=opening)


def _shown(known: Mapping[str, str]) -> str:
    """Each under its name, in a block; those that come last keep most when there is too much."""
    left, parts = _ALL, list[str]()
    for name, text in reversed(list(known.items())):
        kept = cut(text.rstrip("\n"), max(left, 300))
        left -= len(kept)
        parts.insert(0, f"{name}:\n{FENCE}\n{kept}\n{FENCE}\n\n")
    return "".join(parts)


def shown_output(text: str) -> str:
    """What a command said, as far as it matters: its end, without how long it took."""
    lines = [line.partition("  Took ")[0] for line in text.strip().split("\n")]
    body = [line for line in lines if not line.startswith("$ ") and not line.startswith("[exit ")]
    kept = "\n".join(body).strip()[-_OUTPUT:]
    codes = [line.removeprefix("[exit ").removesuffix("]") for line in lines if line.startswith("[exit ")]
    return f"{kept}\n(exit code {codes[-1]})".strip() if codes else kept


def cut(text: str, limit: int) -> str:
    """Head and tail of what is too long, in whole lines where there are some."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-(limit // 3) :]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    left_out = len(text) - len(head) - len(tail)
    return f"{head.rstrip()}\n[… {left_out} characters left out …]\n{tail}"
