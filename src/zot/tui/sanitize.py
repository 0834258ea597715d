"""Removes control sequences from text of models, tools, files and extensions.
SGR styles pass, except the hidden one, and end with the text. A sequence split over chunks waits until it is
complete."""

from __future__ import annotations

import re

# A complete escape sequence (CSI; a string command with its terminator; ESC x), or an unfinished one.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)(?P<csi>[0-?]*[ -/]*[@-~])"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|(?=\x1b))"
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
    r"|(?P<open>(?:\x1b[ -/]*|(?:\x1b\[|\x9b)[0-?]*[ -/]*"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*|\r)\Z)"
)
_STRING = re.compile(r"\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]")
_STRING_END = re.compile(r"[\x07\x1b\x9c]")
_SGR = re.compile(r"[0-9;:]*m")
# C0 except tab, newline and carriage return before a newline; DEL; C1; bidi embeddings, overrides and isolates.
_CONTROL = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\x1b")
_NEEDS_WORK = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
RESET = "\x1b[0m"
_LONGEST_STYLE = 256  # a longer style sequence is invalid
_HOLD = 8192  # a longer sequence is not buffered: only its beginning is stored, so the rest is dropped also


class Sanitizer:
    """Cleans a stream of text; ``feed`` returns safe text, ``close`` the rest."""

    def __init__(self) -> None:
        self._pending: list[str] = []  # an unfinished sequence, in pieces
        self._held = 0
        self._in_string = False
        self.styled = False  # a style is open

    def feed(self, text: str) -> str:
        if self._in_string and not _STRING_END.search(text):
            self._hold(text)
            return ""
        if self._pending:
            text = "".join([*self._pending, text])
            self._pending, self._held, self._in_string = [], 0, False
        if not _NEEDS_WORK.search(text):
            return text
        safe, rest = _clean(text)
        last = safe.rfind("\x1b[")
        self.styled = self.styled if last < 0 else not re.match(r"\x1b\[0*m", safe[last:])
        if rest:
            self._in_string = _STRING.match(rest) is not None
            self._hold(rest if self._in_string or len(rest) <= _LONGEST_STYLE else rest[:2])
        return safe

    def close(self) -> str:
        rest, self._pending, self._held, self._in_string = "".join(self._pending), [], 0, False
        ending, self.styled = RESET if self.styled else "", False
        return _CONTROL.sub("", rest) + ending

    def _hold(self, piece: str) -> None:
        self._pending.append(piece)
        self._held += len(piece)
        if self._held > _HOLD:
            self._pending, self._held = ["".join(self._pending)[:2]], 2


def sanitize(text: str) -> str:
    """A whole text, safe to print; the caller resets an open style."""
    if not _NEEDS_WORK.search(text):
        return text
    safe, rest = _clean(text)
    return safe + _CONTROL.sub("", rest)


def one_line(text: str) -> str:
    """Safe text on one line without colours, for error messages."""
    plain = re.sub(r"\x1b\[[0-9;:]*m", "", sanitize(text))
    return " ".join(plain.split())


def exact_line(text: str) -> str:
    """The same with all spaces and tabs; line breaks become spaces."""
    plain = re.sub(r"\x1b\[[0-9;:]*m", "", sanitize(text))
    return re.sub(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]", " ", plain)


def _without_conceal(sequence: str) -> str:
    """The sequence of a style without the parameter that hides text (a colour's 8 is different)."""
    if len(sequence) > _LONGEST_STYLE:
        return ""
    words = sequence[:-1].split(";")
    kept: list[str] = []
    at = 0
    while at < len(words):
        word = words[at].lstrip("0")
        size = 1
        if word in ("38", "48", "58") and at + 1 < len(words):
            size += {"5": 2, "2": 4}.get(words[at + 1].lstrip("0"), 0)
        if word != "8":
            kept += words[at : at + size]
        at += size
    return f"\x1b[{';'.join(kept)}m" if kept else ""


def _clean(text: str) -> tuple[str, str]:
    """Safe text, and the unfinished sequence at the end."""
    kept: list[str] = []
    position = 0
    for match in _SEQUENCE.finditer(text):
        kept.append(_CONTROL.sub("", text[position : match.start()]))
        if match.group("open") is not None:
            return "".join(kept), match.group("open")
        sequence = match.group("csi")
        if sequence and _SGR.fullmatch(sequence):
            kept.append(_without_conceal(sequence))
        position = match.end()
    kept.append(_CONTROL.sub("", text[position:]))
    return "".join(kept), ""


# Excerpts of long texts: a screen shows some dozens of rows, so megabytes are not measured and wrapped.


def excerpt(text: str, *, lines: int, characters: int) -> tuple[str, str]:
    """The beginning within both limits, and a note on the rest. Truncate first, then sanitize."""
    kept = "\n".join(text[:characters].split("\n", lines)[:lines])
    left = len(text) - len(kept)
    if left <= 0:
        return text, ""
    breaks = text.count("\n", len(kept))
    return kept, f"… {left:,} more characters" + (f" in {breaks:,} lines" if breaks else "") + " are not shown"


def beginning(text: str, most: int) -> str:
    """At most this many characters; a longer text ends with the number of omitted ones."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"
