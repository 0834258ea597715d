"""Decodes terminal input into keys: ``a``, ``alt+enter``, ``ctrl+c``, ``up``, ``paste`` and ``reply`` (with text).
Unknown sequences are dropped whole; invalid UTF-8 becomes U+FFFD. A lone escape is a key only if nothing follows:
the caller calls ``flush`` when ``waiting`` and nothing came for 50 ms."""

from __future__ import annotations

import codecs
import re

import msgspec

ESCAPE_WAIT_S = 0.05
PASTE_WAIT_S = 1.0  # limit of a paste without an end

_CSI = re.compile(r"\x1b\[([0-?]*+)([ -/]*+)([@-~])?+")
_STRING = re.compile(r"\x1b([\]P_^X])([^\x00-\x1f\x9c]*+)(\x07|\x1b\\|\x9c)?+")
_TYPED = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
_PASTE_END = "\x1b[201~"
_SLICE = 1024  # characters processed together, for linear time
_LONGEST = 4096  # a longer unfinished sequence is invalid

_FINAL = {
    **{"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "shift+tab"},
    **{"P": "f1", "Q": "f2", "R": "f3", "S": "f4", "E": "begin"},
}
_SS3 = {**_FINAL, "M": "enter", "I": "tab", "j": "*", "k": "+", "l": ",", "m": "-", "o": "/", "X": "="}
_TILDE = {
    **{1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end"},
    **{11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10"},
    **{23: "f11", 24: "f12"},
}
_CONTROL = {
    **{0: "ctrl+space", 8: "backspace", 9: "tab", 10: "ctrl+j", 13: "enter", 27: "esc"},
    **{28: "ctrl+\\", 29: "ctrl+]", 30: "ctrl+^", 31: "ctrl+_", 127: "backspace"},
}
# Keys of the kitty protocol by code point, if they are not their own character.
_KITTY = {
    **{9: "tab", 13: "enter", 27: "esc", 127: "backspace", 57414: "enter"},
    **{57417: "left", 57418: "right", 57419: "up", 57420: "down", 57421: "pageup", 57422: "pagedown"},
    **{57423: "home", 57424: "end", 57425: "insert", 57426: "delete"},
    **{57399 + digit: str(digit) for digit in range(10)},
}


class Key(msgspec.Struct, frozen=True):
    name: str
    text: str = ""

    @property
    def printable(self) -> bool:
        return bool(self.text) and self.name not in ("paste", "reply")


class KeyDecoder:
    """Feed input in any pieces."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._paste: list[str] | None = None

    @property
    def waiting(self) -> float:
        """Seconds to wait for more before ``flush``; 0 if nothing is unfinished."""
        if self._paste is not None:
            return PASTE_WAIT_S
        return ESCAPE_WAIT_S if self._text else 0.0

    def feed(self, data: bytes) -> list[Key]:
        text = self._utf8.decode(data)
        keys: list[Key] = []
        for start in range(0, len(text), _SLICE):
            self._text += text[start : start + _SLICE]
            while self._text:
                step = self._step()
                if step is None:
                    break
                keys.extend(step)
        return keys

    def flush(self) -> list[Key]:
        """End of pending input: a lone escape is the key, an incomplete sequence is dropped."""
        if self._paste is not None:
            return [self._end_paste(self._text)]
        pending, self._text = self._text, ""
        if pending == "\x1b":
            return [Key("esc")]
        if pending == "\x1b\x1b":
            return [Key("esc"), Key("esc")]
        # ``ESC [`` and ``ESC O`` with nothing after them are alt with that character
        return [Key(f"alt+{pending[1]}")] if len(pending) == 2 and pending[0] == "\x1b" else []

    def _step(self) -> list[Key] | None:
        """The keys at the front of the text; None if incomplete."""
        if self._paste is not None:
            end = self._text.find(_PASTE_END)
            if end >= 0:
                body, rest = self._text[:end], self._text[end + len(_PASTE_END) :]
                key = self._end_paste(body)
                self._text = rest
                return [key]
            keep = len(_PASTE_END) - 1  # the end mark may be split
            if len(self._text) > keep:
                self._paste.append(self._text[:-keep])
                self._text = self._text[-keep:]
            return None
        if self._text[0] in "\x1b\x9b":
            return self._escape()
        if typed := _TYPED.match(self._text):  # many at once, for a paste without brackets
            self._text = self._text[typed.end() :]
            return [Key("space" if c == " " else c, c) for c in typed.group()]
        character, self._text = self._text[0], self._text[1:]
        return _plain(character)

    def _escape(self) -> list[Key] | None:
        if self._text[0] == "\x9b":
            self._text = "\x1b[" + self._text[1:]
        if len(self._text) == 1:
            return None
        kind = self._text[1]
        if kind == "[":
            return self._csi()
        if kind == "O":
            return self._ss3()
        if kind in "]P_^X":
            return self._string()
        if kind == "\x1b":
            return self._double_escape()
        character, self._text = self._text[1], self._text[2:]
        return [Key(f"alt+{key.name}") for key in _plain(character)]

    def _double_escape(self) -> list[Key] | None:
        """Escape, then another sequence: alt with that key (rxvt), or escape pressed before it."""
        if len(self._text) == 2:
            return None
        if more := len(self._text) - len(self._text.lstrip("\x1b")) - 2:
            self._text = self._text[more:]
            return [Key("esc")] * more
        self._text = self._text[1:]
        rest = self._escape()
        if rest is None:
            self._text = "\x1b" + self._text
            return None
        return [Key(f"alt+{key.name}") if "+" not in key.name and not key.text else key for key in rest] or rest

    def _csi(self) -> list[Key] | None:
        match = _CSI.match(self._text)
        assert match is not None
        parameters, middle, final = match.groups()
        if final is None:
            return self._without_end(match.end(), "\x1b\x9b")
        if parameters == "" and final == "M":  # an old mouse report carries three more bytes
            if len(self._text) < match.end() + 3:
                return None
            self._text = self._text[match.end() + 3 :]
            return []
        self._text = self._text[match.end() :]
        if parameters == "200" and final == "~":
            self._paste = []
            return []
        if final == "I" or (parameters == "" and final == "O"):
            return []
        return _csi_key(parameters, middle, final)

    def _ss3(self) -> list[Key] | None:
        if len(self._text) == 2:
            return None
        if self._text[2] in "\x1b\x9b":  # not the end of a sequence but the start of another
            self._text = self._text[2:]
            return [Key("alt+O")]
        character, self._text = self._text[2], self._text[3:]
        name = _SS3.get(character, "")
        if len(name) == 1:
            return [Key(name, name)]
        return [Key(name)] if name else []

    def _string(self) -> list[Key] | None:
        match = _STRING.match(self._text)
        assert match is not None
        if match.group(3) is None:
            return None if self._text[match.end() :] == "\x1b" else self._without_end(match.end(), "\x1b")
        self._text = self._text[match.end() :]
        return [Key("reply", match.group(1) + match.group(2))]

    def _without_end(self, end: int, breaks: str) -> list[Key] | None:
        """An unfinished sequence: it may continue, be cut by another, or be invalid."""
        if end == len(self._text) <= _LONGEST:
            return None
        self._text = self._text[end if self._text[end : end + 1] in breaks else 2 :]
        return []

    def _end_paste(self, body: str) -> Key:
        text = "".join([*(self._paste or ()), body])
        self._paste, self._text = None, ""
        return Key("paste", text)


def _plain(character: str) -> list[Key]:
    code = ord(character)
    if code in _CONTROL:
        return [Key(_CONTROL[code])]
    if code < 32:
        return [Key(f"ctrl+{chr(code + 96)}")]
    if 0x80 <= code < 0xA0:
        return []
    return [Key("space" if character == " " else character, character)]


def _csi_key(parameters: str, middle: str, final: str) -> list[Key]:
    if middle or parameters[:1] in ("?", "<", ">", "="):
        return [Key("reply", f"[{parameters}{middle}{final}")]
    if not parameters and final in "IO":
        return [Key("reply", f"[{final}")]  # focus gained or lost
    fields = [part.split(":") for part in parameters.split(";")]
    numbers = [_number(field[0]) for field in fields]
    modifiers = (max(numbers[1] - 1, 0) & 0x3F) + 1 if len(numbers) > 1 else 1  # lock keys are ignored
    if len(fields) > 1 and len(fields[1]) > 1 and fields[1][1] == "3":
        return []  # key release
    if final == "u":
        return _kitty_key(numbers[0], modifiers, fields)
    if final == "~":
        if numbers[0] == 27 and len(numbers) > 2:  # modifyOtherKeys
            return _kitty_key(numbers[2], modifiers, fields[:1])
        name = _TILDE.get(numbers[0], "")
    elif final == "R" and len(numbers) > 1 and numbers[0] > 1:
        return [Key("reply", f"[{parameters}R")]  # cursor position report
    else:
        name = _FINAL.get(final, "")
    return [Key(_with(modifiers, name))] if name else []


def _number(text: str) -> int:
    """A parameter of a sequence; 0 if invalid."""
    return int(text) if text.isdigit() and len(text) <= 9 else 0


def _kitty_key(code: int, modifiers: int, fields: list[list[str]]) -> list[Key]:
    if code in _KITTY:
        name = _KITTY[code]
        return [Key(_with(modifiers, name), name if len(name) == 1 and modifiers <= 1 else "")]
    if not 32 <= code <= 0x10FFFF or 0xE000 <= code <= 0xF8FF or 0xD800 <= code <= 0xDFFF:
        return []
    character = chr(code)
    if modifiers <= 2:  # shift alone produces the shifted character if the terminal sends it
        shifted = _number(fields[0][1]) if len(fields[0]) > 1 else 0
        if modifiers == 2:
            character = chr(shifted) if 32 <= shifted <= 0x10FFFF else character.upper()
        return _plain(character)
    return [Key(_with(modifiers, "space" if character == " " else character))]


def _with(modifiers: int, name: str) -> str:
    """``ctrl+alt+shift+super`` in that order, from the protocol's bits (sent plus one)."""
    bits = max(modifiers - 1, 0)
    words = [word for bit, word in ((4, "ctrl"), (2, "alt"), (1, "shift"), (8, "super")) if bits & bit]
    return "+".join([*words, name])
