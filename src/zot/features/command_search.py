"""Finds the files of a project that a command runs.
The text of the command and of each file found is searched for names of other files: paths, imported modules, files that
build tools read. Too many files are found rather than too few; ``notes`` state what the search cannot cover."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from zot.features.trust import MAX_COMMAND_BYTES, CommandFiles
from zot.system.digest import sha256
from zot.system.safe_open import open_buffered, read_at_most

MAX_FILES = 2_000
_SEARCHED_BYTES = 128 << 10  # of a file that is searched for other names
_MAX_BASES = 50

_CODE = frozenset(
    (
        *(".py", ".sh", ".bash", ".zsh", ".fish", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"),
        *(".rb", ".pl", ".pm", ".php", ".lua", ".awk", ".sed", ".jq", ".tcl", ".r", ".go", ".rs", ".mk", ".ps1"),
        *(".so", ".dylib", ".node", ".jar", ".wasm", ".pyz", ".env"),
    )
)
_SUFFIXES = (".py", ".js", ".mjs", ".cjs", ".ts", ".json", ".node", ".sh", ".rb", ".pl", ".pm", ".so", ".php", ".lua")
_INSIDE = ("__main__.py", "__init__.py", "index.js", "index.mjs", "index.cjs", "index.ts", "package.json")
_TOOLS: dict[str, tuple[str, ...]] = {  # programs that run commands of a project, and the files with these commands
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("package.json",)),
    "just": ("justfile", "Justfile", ".justfile"),
    "rake": ("Rakefile", "rakefile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    **dict.fromkeys(("tox", "nox"), ("tox.ini", "noxfile.py")),
    "pre-commit": (".pre-commit-config.yaml",),
    **dict.fromkeys(("npx", "bunx", "deno", "uv", "uvx", "poetry", "hatch", "pdm", "pytest", "cargo", "go"), ()),
    **dict.fromkeys(("gradle", "mvn", "ant", "cmake", "ninja", "bazel"), ()),
}
_KNOWN_NAMES = frozenset(name for names in _TOOLS.values() for name in names)

_BEFORE = "then|do|else|exec|env|time|nice|sudo|command|xargs|nohup|timeout +\\w+"
_STARTS = rf"(?:^|[;&|(`{{!]|-\w*c\s+['\"]|\beval\s+['\"]|\b(?:{_BEFORE})\b)"
_TOOL = re.compile(rf"{_STARTS}\s*(?:\w+=\S*\s+)*({'|'.join(map(re.escape, _TOOLS))})(?=$|[\s;&|)'\"`])", re.M)
_OUTPUT = re.compile(r"[0-9&]?>>?\s*[^\s;&|()<>'\"`]+")
_BETWEEN = re.compile(r"[\s'\"`;&|()<>{}=,:\\#]+")
_QUOTED = re.compile(r"\"([^\"\n]+)\"|'([^'\n]+)'")
_WORDS = re.compile(r"[\s;&|()<>{}=,`#]+")
_VARIABLE = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|\$[@*0-9]")
_IMPORTS = (
    re.compile(r"^[ \t>]*(?:from|import)[ \t]+([\w. \t,]+)", re.M),
    re.compile(r"[;'\"(:][ \t]*(?:from|import)[ \t]+([\w. \t,]+)"),
    re.compile(r"(?:require|import|from|require_relative|load|import_module|__import__)\b[\s(]*['\"]([^'\"\n]+)['\"]"),
    re.compile(r"(?<!\w)-[mr][ \t]*([\w./-]+)"),
    re.compile(r"^[ \t]*(?:use|require)[ \t]+([\w:]+)", re.M),
)
_LOADS_FROM_CWD = re.compile(r"(?<!\w)-[mcre]|PYTHONPATH|NODE_PATH|NODE_OPTIONS|PERL5LIB|RUBYLIB|sys\.path")
_MODULE = re.compile(r"(?<!\w)(python[\d.]*|node|ruby|perl)\s+(?:-\w+\s+)*-m\s*([\w.]+)")


def find_files(command: str, words: Sequence[str], *, root: Path, cwd: Path, values: Mapping[str, str]) -> CommandFiles:
    """Files below ``root`` that a command line may run in ``cwd``.
    ``words`` are other texts with an effect, such as arguments without a shell; ``values`` are known variables."""
    search = _Search(root, cwd, values)
    for text in (command, *words):
        search.read_command(text)
    search.follow()
    return CommandFiles(search.files, tuple(dict.fromkeys(search.notes)))


class _Search:
    def __init__(self, root: Path, cwd: Path, values: Mapping[str, str]) -> None:
        self.files: dict[str, str] = {}
        self.notes: list[str] = []
        self._root = os.path.normpath(root)
        self._bases = list(dict.fromkeys((os.path.normpath(cwd), self._root)))
        self._entries: list[str] = []  # directories of the files that the command names
        self._values = {**values, "HOME": os.path.expanduser("~"), "PWD": str(cwd)}
        self._waiting: list[str] = []
        self._left = MAX_COMMAND_BYTES
        self._from_cwd = False

    # --- the command

    def read_command(self, text: str) -> None:
        self._note_reach(text)
        self._bases = [*self._bases, *self._directories(text)][:_MAX_BASES]
        for path in self._named(_OUTPUT.sub(_without_output, text)):
            self._cover(path)
        self._entries = list(dict.fromkeys([*self._entries, *map(os.path.dirname, self.files)]))
        self._read_imports(text, self._bases[0])
        self._read_tools(text)

    def _note_reach(self, text: str) -> None:
        for match in _TOOL.finditer(text):
            self.notes.append(f"runs {match[1]}, which can run anything in this project")
        for match in _MODULE.finditer(text):
            self.notes.append(f"runs {match[1]} -m {match[2]}, which can load any module of this project")
        unknown = [name for name in _VARIABLE.findall(text) if name.strip("${}") not in self._values]
        if unknown:
            self.notes.append(f"uses {', '.join(dict.fromkeys(unknown))}, which can name any file of this project")
        if "$(" in text or "`" in text or re.search(r"(?<!\w)eval\b", text):
            self.notes.append("builds a command while it runs ($(…), `…` or eval)")

    def _named(self, text: str) -> Iterator[str]:
        for name in self._names(text):
            if any(mark in name for mark in "*?["):
                yield from self._matching(name)
            else:
                yield from filter(os.path.isfile, self._places(name, self._bases))

    def _matching(self, pattern: str) -> Iterator[str]:
        import glob  # few commands have a pattern

        for place in self._places(pattern, self._bases):
            for index, path in enumerate(glob.iglob(place)):
                if index > MAX_FILES:
                    break
                if os.path.isfile(path) and self._is_inside(path):
                    yield path

    def _directories(self, text: str) -> list[str]:
        places = [place for name in self._names(text) for place in self._places(name, self._bases)]
        return [place for place in dict.fromkeys(places) if place not in self._bases and os.path.isdir(place)]

    def _names(self, text: str) -> Iterator[str]:
        """Every part of the text that may be a path, with known variables expanded."""
        marked = text
        for index, name in enumerate(self._values):  # a value may have spaces: it stays one part
            mark, word = chr(0xE000 + index), re.escape(name)
            marked = re.sub(rf"\$\{{{word}(?::-[^}}]*)?\}}|\${word}\b", mark, marked)
        marked = _VARIABLE.sub(" ", marked)
        parts = [*_BETWEEN.split(marked), *_WORDS.split(re.sub(r"['\"\\]", "", marked))]
        parts += [quoted for found in _QUOTED.findall(marked) for quoted in found]
        parts += [part.replace("\\ ", " ") for part in re.split(r"(?<!\\)\s+", marked) if "\\ " in part]
        if "'" in marked or '"' in marked:
            parts += _split_words(marked)
        values = list(self._values.values())
        for part in dict.fromkeys(filter(None, parts)):
            for index, value in enumerate(values):
                part = part.replace(chr(0xE000 + index), value)
            yield part

    # --- files

    def follow(self) -> None:
        """Search each file found for more names."""
        while self._waiting:
            path = self._waiting.pop()
            data = self._read(path)
            if data is None or b"\0" in data[:8192]:
                continue
            if len(data) > _SEARCHED_BYTES:
                self.notes.append(f"runs {path}, which is too large to be searched for other files")
            self._read_file(path, data[:_SEARCHED_BYTES].decode("utf-8", "replace"))

    def _read_file(self, path: str, text: str) -> None:
        own = os.path.dirname(path)
        bases = list(dict.fromkeys((own, *self._bases)))
        moves = [
            place for name in re.findall(r"\bcd\s+(\S+)", text) for place in self._places(name.strip("\"'"), bases)
        ]
        bases = [*bases, *filter(os.path.isdir, moves)][:_MAX_BASES]
        for name in self._names(text):
            for place in self._places(name.rstrip(".,"), bases):
                if _looks_like_code(place):
                    self._cover(place)
        self._read_imports(text, own)
        if _is_shell(path, text):
            self._read_tools(text)

    def _read_imports(self, text: str, own: str) -> None:
        self._from_cwd = self._from_cwd or _LOADS_FROM_CWD.search(text) is not None
        bases = [own, *self._entries, *(self._bases if self._from_cwd else ())]
        for pattern in _IMPORTS:
            for found in pattern.findall(text):
                for name in re.split(r"[\s,]+", found):
                    if name and name not in ("import", "as"):
                        self._cover_module(name, bases)

    def _cover_module(self, name: str, bases: Sequence[str]) -> None:
        dotted = name.lstrip(".")
        forms = {name, dotted.replace(".", "/"), dotted.replace("::", "/")} if "/" not in name else {name}
        if name.startswith("..") and "/" not in name:
            forms.add("../" + dotted.replace(".", "/"))
        packages = [form.rsplit("/", count)[0] for form in forms for count in range(form.count("/") + 1)]
        for place in {place for form in (*forms, *packages) for place in self._places(form, bases)}:
            candidates = [place, *(place + suffix for suffix in _SUFFIXES)]
            if os.path.isdir(place):
                candidates += [os.path.join(place, inside) for inside in _INSIDE]
            for path in filter(os.path.isfile, candidates):
                self._cover(path)

    def _read_tools(self, text: str) -> None:
        for match in _TOOL.finditer(text):
            for base in self._bases:
                for name in _TOOLS[match[1]]:
                    if os.path.isfile(path := os.path.join(base, name)):
                        self._cover(path)

    def _places(self, name: str, bases: Iterable[str]) -> Iterator[str]:
        """Paths below the root that the name may mean."""
        if not name or len(name) > 1000 or "\0" in name:
            return
        name = os.path.expanduser(name) if name.startswith("~") else name
        inside = os.path.isabs(name) and self._is_inside(name)
        for base in bases:
            place = os.path.normpath(name if inside else os.path.join(base, name.lstrip("/")))
            if self._is_inside(place):
                yield place

    def _is_inside(self, path: str) -> bool:
        place = os.path.normpath(path)
        return place == self._root or place.startswith(self._root.rstrip("/") + "/")

    def _cover(self, path: str) -> None:
        if path in self.files:
            return
        self.files[path] = ""
        if len(self.files) <= MAX_FILES:
            self._waiting.append(path)

    def _read(self, path: str) -> bytes | None:
        if self._left < 0:
            return None
        try:
            with open_buffered(path) as file:
                data = read_at_most(file, self._left + 1)
        except OSError:
            return None
        self._left -= len(data)
        if self._left < 0:
            return None
        self.files[path] = sha256(data)
        return data


def _looks_like_code(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    name = os.path.basename(path)
    return os.path.splitext(name)[1].lower() in _CODE or name in _KNOWN_NAMES or os.access(path, os.X_OK)


def _is_shell(path: str, text: str) -> bool:
    first = text[:100].split("\n", 1)[0]
    named = os.path.basename(path) in _KNOWN_NAMES or path.endswith((".sh", ".bash", ".zsh", ".mk"))
    return named or (first.startswith("#!") and "sh" in first)


def _without_output(match: re.Match[str]) -> str:
    """A file that the command writes is no file that it runs, unless it is a program."""
    return match[0] if os.path.splitext(match[0])[1].lower() in _CODE else " "


def _split_words(text: str) -> list[str]:
    import shlex  # only where there are commands

    try:
        return shlex.split(text) if len(text) < 20_000 else []
    except ValueError:
        return []  # no shell syntax: the other parts cover it
