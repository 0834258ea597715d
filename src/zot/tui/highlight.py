"""Syntax highlighting: one styled line per line of code. pygments is imported on first use.
Its time is limited, since a text can make its patterns slow; code that takes longer is shown plain."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from zot.system.cpu_limit import CpuLimitExceeded, cpu_limit
from zot.tui.colour import parse
from zot.tui.theme import STYLE_WORDS, SYNTAX, Theme
from zot.tui.width import RESET

_KEPT = 400_000  # characters of cached code
_KEPT_PIECE, _KEPT_LEAST = 20_000, 500  # the largest cached piece, and the minimum size counted per piece
_LARGEST = 50_000  # characters; larger pieces are shown plain
_SECONDS, _SECONDS_EACH = (
    0.05,
    8e-6,
)  # CPU seconds per piece and per character: ten times the usual
_LONGEST_NAME = 255  # cached names of files or languages

# Syntax roles by pygments token name, the finest first.
_TOKENS = {
    "Keyword": "keyword",
    "Keyword.Constant": "keyword_constant",
    "Keyword.Declaration": "keyword_declaration",
    "Keyword.Namespace": "keyword_namespace",
    "Keyword.Reserved": "keyword_reserved",
    "Keyword.Type": "keyword_type",
    "Name.Builtin": "name_builtin",
    "Name.Function": "name_function",
    "Name.Class": "name_class",
    "Name.Decorator": "name_decorator",
    "Name.Tag": "keyword",
    "Name.Attribute": "name_function",
    "Name.Namespace": "name_class",
    "Literal.String": "literal_string",
    "Literal.String.Escape": "literal_string_escape",
    "Literal.Number": "literal_number",
    "Comment": "comment",
    "Comment.Preproc": "comment_preproc",
    "Operator": "operator",
    "Operator.Word": "keyword",
    "Punctuation": "punctuation",
    "Generic.Inserted": "diff_add",
    "Generic.Deleted": "diff_remove",
    "Generic.Heading": "keyword",
}
_FOLLOWS = {role.key: role.follows for role in SYNTAX}
_ALIASES = {"sh": "bash", "zsh": "bash", "shell": "bash", "console": "console", "py": "python", "js": "javascript"}


class Highlighter:
    """One per screen; a new theme needs a new one."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._kept: OrderedDict[tuple[str, str], list[str]] = OrderedDict()
        self._kept_size = 0
        self._largest: dict[str, int] = {}  # by language, after one piece took too long: smaller ones are still tried
        self._openings: dict[Any, str] = {}

    def lines(self, code: str, language: str) -> list[str]:
        """One styled line per line of code; in the code colour for an unknown language."""
        key = (language, code)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        made = self._coloured(code, language)
        if made is None:
            made = [self._theme.paint("code", line) for line in code.split("\n")]
        if len(code) <= _KEPT_PIECE:
            self._kept[key] = made
            self._kept_size += len(code) + _KEPT_LEAST
            while self._kept_size > _KEPT:
                (_, oldest), _ = self._kept.popitem(last=False)
                self._kept_size -= len(oldest) + _KEPT_LEAST
        return made

    def _coloured(self, code: str, language: str) -> list[str] | None:
        """None if the language is unknown, the piece too large, or highlighting took too long."""
        if not 0 < len(language) <= _LONGEST_NAME:
            return None
        if len(code) > self._largest.get(language, _LARGEST) or (lexer := lexer_for(language)) is None:
            return None
        rows: list[list[str]] = [[]]
        try:
            with cpu_limit(_SECONDS + _SECONDS_EACH * len(code)):
                for token, text in lexer.get_tokens(code + "\n"):  # some languages need the line end
                    if token not in self._openings:
                        self._openings[token] = self._sgr(_role_of(token))
                    opening = self._openings[token]
                    first, *rest = text.split("\n")
                    _put(rows[-1], opening, first)
                    for line in rest:
                        rows.append([])
                        _put(rows[-1], opening, line)
        except CpuLimitExceeded:
            self._largest[language] = len(code) // 2
            return None
        wanted = code.count("\n") + 1
        lines = ["".join(parts) for parts in rows[:wanted]]
        return lines + [""] * (wanted - len(lines))

    def _sgr(self, role: str) -> str:
        if role.startswith("diff_"):  # as in the view of an edit
            return self._theme.sgr(role)
        while role and role not in self._theme.syntax:
            role = _FOLLOWS.get(role, "")
        return style_sgr(self._theme, self._theme.syntax.get(role or "text", ""))


def style_sgr(theme: Theme, style: str) -> str:
    """``bold #81a1c1`` as an opening sequence."""
    codes: list[str] = []
    for word in style.split():
        if word in STYLE_WORDS:
            codes.append(STYLE_WORDS[word])
        elif (found := parse(word)) is not None and (code := found.sgr(theme.depth)):
            codes.append(code)
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def _put(row: list[str], opening: str, text: str) -> None:
    if text:
        row.append(f"{opening}{text}{RESET}" if opening and not text.isspace() else text)


def _role_of(token: Any) -> str:
    while token is not None:
        role = _TOKENS.get(str(token).removeprefix("Token."))
        if role:
            return role
        token = token.parent
    return "text"


def styles_of(name: str) -> dict[str, str] | None:
    """A pygments style as style strings by syntax role; None if unknown."""
    from pygments import styles
    from pygments.token import string_to_tokentype
    from pygments.util import ClassNotFound

    library: Any = styles
    try:
        style: Any = library.get_style_by_name(name)
    except ClassNotFound:
        return None
    found: dict[str, str] = {}
    for token, role in _TOKENS.items():
        look = style.style_for_token(string_to_tokentype(token))
        words = [word for word in ("bold", "italic", "underline") if look[word]]
        if look["color"] and role not in found:
            found[role] = " ".join([*words, f"#{look['color']}"])
    return found


def warm_up() -> None:
    """Import the highlighter and its most common language."""
    lexer_for("python")
    language_of("a.py")


@lru_cache(256)
def lexer_for(language: str) -> Any | None:
    from pygments.lexers import find_lexer_class_by_name  # slow import: 30 ms
    from pygments.util import ClassNotFound

    name = language.strip().lower()
    try:
        return find_lexer_class_by_name(_ALIASES.get(name, name))(stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def language_of(path: str) -> str:
    """The language of a file by its name; empty if unknown."""
    name = path.rpartition("/")[2]
    return _language_of(name) if len(name) <= _LONGEST_NAME else ""


@lru_cache(1024)
def _language_of(name: str) -> str:
    from pygments.lexers import find_lexer_class_for_filename

    try:
        found = find_lexer_class_for_filename(name)
    except Exception:  # a name that breaks the pattern matching
        return ""
    aliases: Sequence[str] = getattr(found, "aliases", ()) if found else ()
    return aliases[0] if aliases else ""
