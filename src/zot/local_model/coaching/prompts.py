"""Fresh prompts: one message with known files, the task and one instruction.

A small model answers this better than a transcript; the block it writes becomes the argument of a fixed call.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from zot.local_model.coaching.file_knowledge import LISTED, OPENING, RULES
from zot.provider.dialects.grammar.actions import FENCE
from zot.provider.dialects.grammar.turn_advice import FreshPrompt, cut

# Lines that share the rarest words of a question: a small model answers from lines that are shown again.

MOST_LINES = 3
_STEM = 5  # letters: licence and license are the same
_LEAST = 3
_LONGEST = 300  # characters of a line
_MOST_SEARCHED = 2000  # lines
_WORD = re.compile(r"[a-z]+|\d[\d.]{0,30}\d|\d")
_COMMON = frozenset(
    {"what", "which", "who", "where", "when", "why", "how", "the", "and", "for", "does", "this", "that", "with", "from",
     "are", "was", "were", "has", "have", "there", "here", "one", "use", "uses", "used", "into", "not", "you", "your",
     "file", "files", "project"}
)  # fmt: skip


def relevant_lines(question: str, texts: Mapping[str, str]) -> list[str]:
    """Each with the line below it, which often has the value of a heading; best first."""
    asked = _stems(question[:_MOST_SEARCHED])
    lines = [line for text in texts.values() for line in [*text.split("\n", _MOST_SEARCHED)[:_MOST_SEARCHED], ""]]
    shared = [_stems(line[:_LONGEST]) & asked for line in lines]
    often = Counter(stem for stems in shared for stem in stems)
    scores = [sum(1 / often[stem] for stem in stems) for stems in shared]
    best = sorted((place for place in range(len(lines)) if scores[place] > 0), key=lambda place: -scores[place])
    found: list[str] = []
    for place in best[:MOST_LINES]:
        below = lines[place + 1 : place + 2]
        found.append("\n".join(line[:_LONGEST] for line in [lines[place], *below] if line.strip()))
    return found


def _stems(text: str) -> set[str]:
    words = _WORD.findall(text.lower())
    return {word[:_STEM] for word in words if word not in _COMMON and (len(word) >= _LEAST or not word.isalpha())}


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
_OUTPUT = 1500
_FEW_LINES = 4  # need no quoting
_ALL = 9000


def own_instructions(system: str) -> tuple[str, ...]:
    """The parts of the system prompt that the user or the project added."""
    return tuple(part for part in system.split("\n\n") if part and not part.startswith((OPENING, RULES, LISTED)))


# --- prompts


def for_answer(question: str, known: Mapping[str, str]) -> FreshPrompt:
    lines = relevant_lines(question, known) if sum(text.count("\n") for text in known.values()) > _FEW_LINES else []
    quoted = {"The lines that matter most": "\n".join(lines)} if lines else {}
    return FreshPrompt(_ANSWERS, f"{_shown({**known, **quoted})}{question.strip()}")


def for_file(task: str, path: str, known: Mapping[str, str], *, opening: str = "", warmth: float = 0.0) -> FreshPrompt:
    """With an ``opening`` the model first writes a sentence that begins with it. Text with fences gets no block."""
    bare = path.endswith((".md", ".markdown")) and FENCE in known.get(path, FENCE)
    then = f"Write the whole new content of {path}{'' if bare else ' in a code block'}"
    opening = "" if bare else opening
    then = f"Say in one sentence what is wrong. Then w{then[1:]}." if opening else f"{then}, and nothing else."
    said = f"{_shown(known)}{task.strip()}\n\n{then}"
    return FreshPrompt(_WRITES, said, "write", {"path": path}, "content", opening, warmth, bare=bare)


def for_command(task: str, names: str, known: Mapping[str, str], *, warmth: float = 0.0) -> FreshPrompt:
    examples = tuple((_listed(files, asked), f"{FENCE}bash\n{line}\n{FENCE}") for files, asked, line in _PHRASES)
    said = f"{_shown(known)}{_listed(names, task.strip())}"
    return FreshPrompt(_COMMANDS, said, "bash", {}, "command", temperature=warmth, examples=examples)


def _listed(names: str, task: str) -> str:
    return f"{LISTED}{names}\n\n{task}" if names else task


def for_step(task: str, tool: str, values: Sequence[str]) -> FreshPrompt:
    """A fixed call, or one of few: only what its grammar needs."""
    return FreshPrompt(_STEPS, f"{task.strip()}\n\nThe next step: {tool} {' or '.join(values)}")


def for_report(task: str, done: str, opening: str) -> FreshPrompt:
    said = f"The task was: {task.strip()}\n\n{done}\n\nSay in one short sentence what was done."
    return FreshPrompt(_REPORTS, said, opening=opening)


def _shown(known: Mapping[str, str]) -> str:
    """Each under its name in a block; earlier ones are truncated first."""
    left, parts = _ALL, list[str]()
    for name, text in reversed(list(known.items())):
        kept = cut(text.rstrip("\n"), max(left, 300))
        left -= len(kept)
        parts.insert(0, f"{name}:\n{FENCE}\n{kept}\n{FENCE}\n\n")
    return "".join(parts)


def shown_output(text: str) -> str:
    """The end of a command's output, without its duration."""
    lines = [line.partition("  Took ")[0] for line in text.strip().split("\n")]
    body = [line for line in lines if not line.startswith("$ ") and not line.startswith("[exit ")]
    kept = "\n".join(body).strip()[-_OUTPUT:]
    codes = [line.removeprefix("[exit ").removesuffix("]") for line in lines if line.startswith("[exit ")]
    return f"{kept}\n(exit code {codes[-1]})".strip() if codes else kept
