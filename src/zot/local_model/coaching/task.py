"""Classifies a prompt by its English words: question, change, something to run or to count."""

from __future__ import annotations

import re

import msgspec

_READ_AT_MOST = 4000  # characters
_SENTENCE = re.compile(r"(?<=[.?!;])\s+")
_ASKS = re.compile(
    r"^\W*(what|which|who|whose|where|when|why|how|is|are|does|do|did|has|have|explain|describe|tell|list|show|"
    r"(with|in|on|under|to|from|for|of|by|at) (what|which|whom|how))\b"
)
_TELLS = re.compile(r"\b(tell me|show me|say (what|which|how|if)|report (what|which|how|the))\b")
_POLITE = re.compile(r"^\W*(please|(can|could|would|will) you)\b")
_CHANGES = re.compile(
    r"\b(fix|change|set|add|create|write|make|edit|rename|replace|remove|delete|update|correct|implement|mend|repair|"
    r"append|insert|increase|decrease|raise|lower|refactor|move|convert|save|put|turn|translate|bump|give)\b"
)
_FIXES = re.compile(r"\b(fix|mend|repair|correct|fails?|failing|crash(es)?|broken|bug|mistake|make .{1,40} pass)\b")
_CREATES = re.compile(r"\b(create|write|make|add|new|generate)\b")
_CHECKS = re.compile(r"\b(tests?|checks?|verify|pass|passes|run|works)\b")
_SEVERAL = re.compile(r"\b(everywhere|wherever|all|each|every|both|rename|occurrences?)\b")
_RUNS = re.compile(r"\b(run|runs|running|execute|executing|start|starting)\b")
_WHERE = re.compile(r"\b(which|what) (files?|modules?)\b|\bwhere\b|^\W*who calls\b")
_REMOVES = re.compile(r"\b(remove|delete|drop|replace|without|instead|no longer)\b")
_PRINTS = re.compile(r"\b(prints?|outputs?|script|program)\b")
_UNITS = r"(milli)?seconds?|minutes?|hours?|days?|weeks?|months?|years?|bytes|[kmg]i?b|megabytes|percent|times"
_COUNTS = re.compile(
    rf"\bhow many (?!({_UNITS})\b)|\b(count|number of)\b"
    r"|\b(file|folder|directory)\b.{0,60}\b(largest|biggest|smallest|longest|shortest|newest|oldest)\b"
    r"|\b(largest|biggest|smallest|longest|shortest|newest|oldest) (\w+ )?(file|folder|directory)\b"
)
_HANDLES = re.compile(
    r"\b(move|copy|rename|delete|remove|zip|archive|unpack|extract)\b (\S+ ){0,4}(files?|folders?|director(y|ies))\b"
    r"|\b(save|store|put|redirect|capture|write (what|the output))\b.{0,60}\b(prints?|output)\b.{0,40}\b(to|into|in)\b"
)
_PROGRAMS = r"python3?|bash|sh|node|npm|npx|yarn|cargo|go|make|pytest|ruby|perl|java|gcc|git|ls|cat|grep|wc|\./\S+"
_MARKED = re.compile(rf"`((?:{_PROGRAMS})(?: [^`\n]{{0,200}})?)`")
_BARE = re.compile(
    r"\b((?:python3?|bash|node|ruby|perl)(?: -m [\w.]+| -{1,2}[\w=-]+| [\w/-]*\.\w+)+"
    r"|(?:npm|cargo|go) (?:run )?test|pytest\b)"
)
_QUOTED = re.compile(r"\"([^\"\n]{3,80})\"|“([^”\n]{3,80})”|`([^`\n]{3,80})`")
_IDENTIFIER = re.compile(
    r"(?<![\w.-])(--?[a-z][\w-]+|[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|[A-Z]{3,}\w*|\w+(?=\(\)))(?![\w.]*\w)"
)
_HIDDEN = re.compile(r"(?<![\w.*/])(\.[a-z]\w+|__\w+__)(?![\w.])")
_FILE_NAME = re.compile(
    r"(?<![\w*./-])((?:[\w-]+/)*(?:[\w-][\w.-]*\.(?:py|pyi|js|mjs|ts|tsx|jsx|json|md|txt|toml|ya?ml|ini|cfg|conf|csv|html?|"
    r"css|sh|c|h|cc|cpp|hpp|rs|go|java|rb|pl|php|sql|xml|svg|rst|lua|kt|swift)"
    r"|\.[a-z]*(?:ignore|rc|attributes|editorconfig)|\.env|Makefile|Dockerfile))(?![\w/-])"
)


class CoachingTask(msgspec.Struct, frozen=True):
    """``asks``: a question; ``fixes``: a fix; ``several``: several places to change; ``counts``: a command must find
    the answer; ``handles``: a command moves, renames or fills files."""

    text: str
    asks: bool = False
    changes: bool = False
    fixes: bool = False
    creates: bool = False
    checks: bool = False
    runs: bool = False
    several: bool = False
    where: bool = False
    counts: bool = False
    handles: bool = False
    prints: bool = False
    removes: bool = False

    @property
    def is_long(self) -> bool:
        """Whether the prompt was truncated."""
        return len(self.text) >= _READ_AT_MOST

    @property
    def only_asks(self) -> bool:
        return self.asks and not self.changes

    def is_about(self, path: str) -> bool:
        """Whether the prompt names this file."""
        name = path.rpartition("/")[2]
        return bool(name) and any(_names(self.text, spelled) for spelled in {path, name})

    @property
    def commands(self) -> list[str]:
        """Commands in the text, in backticks or bare."""
        marked = [found[1].strip() for found in _MARKED.finditer(self.text)]
        bare = [found[1] for found in _BARE.finditer(re.sub(r"`[^`\n]{0,200}`", " ", self.text))]
        return list(dict.fromkeys([*marked, *bare]))

    @property
    def file_names(self) -> list[str]:
        """Names of files, whether they exist or not."""
        without = re.sub(r"`[^`\n]* [^`\n]*`", " ", self.text)  # a command may name other files
        return list(dict.fromkeys(found[1] for found in _FILE_NAME.finditer(without)))

    @property
    def search_words(self) -> list[str]:
        """Search terms: quoted text first, then identifiers."""
        return self._words(self.text)

    @property
    def literal_words(self) -> list[str]:
        """Text that must be in a file: quoted text, identifiers, hidden folders."""
        without = re.sub(r"`[^`\n]{0,200}`", " ", self.text)  # an example of use or output
        return [*self._words(without), *(found[1] for found in _HIDDEN.finditer(without))]

    def _words(self, text: str) -> list[str]:
        quoted = ["".join(part or "" for part in found.groups()) for found in _QUOTED.finditer(text)]
        named = [found[1] for found in _IDENTIFIER.finditer(text)]
        files = set(self.file_names)
        return [word for word in dict.fromkeys([*quoted, *named]) if word not in files]


def read_task(text: str) -> CoachingTask:
    words = text[:_READ_AT_MOST].lower()
    sentences = _SENTENCE.split(words.strip())
    questions = [one for one in sentences if (one.endswith("?") or _ASKS.search(one)) and not _POLITE.search(one)]
    orders = re.sub(r"`[^`\n]{0,200}`", "`", " ".join(one for one in sentences if one not in questions))
    return CoachingTask(
        text[:_READ_AT_MOST],
        asks=bool(questions) or bool(_TELLS.search(words)),
        changes=bool(_CHANGES.search(orders)),
        fixes=bool(_FIXES.search(words)),
        creates=bool(_CREATES.search(orders)),
        checks=bool(_CHECKS.search(words)),
        runs=bool(_RUNS.search(words)),
        several=bool(_SEVERAL.search(words)),
        where=any(_WHERE.search(one) for one in questions),
        counts=bool(_COUNTS.search(words)),
        handles=bool(_HANDLES.search(orders)),
        prints=bool(_PRINTS.search(words)),
        removes=bool(_REMOVES.search(orders)),
    )


def _names(text: str, name: str) -> bool:
    """As a whole word: ``data.py`` does not name ``a.py``."""
    place = text.find(name)
    while place >= 0:
        before, behind = text[place - 1 : place], text[place + len(name) :][:1]
        if not (before.isalnum() or before in ("_", "-", ".")) and not (behind.isalnum() or behind in ("_", "-")):
            return True
        place = text.find(name, place + 1)
    return False
