"""Nothing that came from a model, tool, file, extension or error may drive the user's terminal.

Colour and style (SGR) pass, but not the one that hides text, and they end with the text; every other escape sequence,
control character and bidi override is removed. A sequence split over chunks is held until it is complete, so that no
piece of it slips through. It drops what it removes: what a person decides on is shown by ``decide`` instead.
"""

from __future__ import annotations

import re

# A complete escape sequence (CSI; a string command with its terminator; ESC x), or one the text does not finish.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)(?P<csi>[0-?]*[ -/]*[@-~])"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|(?=\x1b))"
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
    r"|(?P<open>(?:\x1b[ -/]*|(?:\x1b\[|\x9b)[0-?]*[ -/]*"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*|\r)\Z)"
)
_SGR = re.compile(r"[0-9;:]*m")
# C0 except tab, newline and carriage return before a newline; DEL; C1; bidi embeddings, overrides and isolates.
_CONTROL = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\x1b")
_NEEDS_WORK = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
RESET = "\x1b[0m"
_HOLD = 8192  # a sequence longer than this is not waited for: only its beginning is kept, so the rest is dropped too


class Sanitizer:
    """Cleans a stream of text; ``feed`` returns what is safe so far, ``close`` the rest."""

    def __init__(self) -> None:
        self._pending = ""
        self.styled = False  # whether a style was left on

    def feed(self, text: str) -> str:
        text = self._pending + text
        if not _NEEDS_WORK.search(text):
            return text
        safe, self._pending = _clean(text)
        self.styled = _leaves_style(safe, self.styled)
        if len(self._pending) > _HOLD:
            self._pending = self._pending[:2]
        return safe

    def close(self) -> str:
        rest, self._pending = self._pending, ""
        ending, self.styled = RESET if self.styled else "", False
        return _CONTROL.sub("", rest) + ending


def sanitize(text: str) -> str:
    """A whole text made safe to print; a style it leaves on ends with whoever prints it."""
    if not _NEEDS_WORK.search(text):
        return text
    safe, rest = _clean(text)
    return safe + _CONTROL.sub("", rest)


def one_line(text: str) -> str:
    """A text made safe and folded onto one line, without colours: fit for an error message."""
    plain = re.sub(r"\x1b\[[0-9;:]*m", "", sanitize(text))
    return " ".join(plain.split())


def _leaves_style(safe: str, before: bool) -> bool:
    """Whether a style is on after a text that passed."""
    last = safe.rfind("\x1b[")
    return before if last < 0 else not re.match(r"\x1b\[0*m", safe[last:])


def _without_conceal(sequence: str) -> str:
    """The sequence of a style, less the parameter that makes text invisible (a colour's own 8 is none)."""
    words, kept = sequence[:-1].split(";"), list[str]()
    if "8" not in (word.lstrip("0") for word in words):
        return f"\x1b[{sequence}"
    while words:
        word = words.pop(0)
        kept.append(word)
        if word.lstrip("0") in ("38", "48", "58"):
            taken = {"5": 2, "2": 4}.get(words[0].lstrip("0"), 0) if words else 0
            kept += words[:taken]
            del words[:taken]
        elif word.lstrip("0") == "8":
            kept.pop()
    return f"\x1b[{';'.join(kept)}m" if kept else ""


def _clean(text: str) -> tuple[str, str]:
    """What is safe, and the unfinished sequence at the end."""
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
