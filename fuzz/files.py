"""Readers of files that came with a project or from elsewhere: sessions, themes, skills, patterns, differences."""

from __future__ import annotations

import io
import random
import re
from contextlib import suppress
from pathlib import Path

import msgspec

from fuzz.reader import holds, reader, text_of
from zot.agent.tools.edit_diff import EditSpan, diff_of
from zot.agent.tools.ignore import Rules, regex_of
from zot.core.compaction_prompt import transcript_text
from zot.core.session.records import MessageRow, NotARecord, decode_row, encode_row, message_of, message_row
from zot.core.session.resume import recent_messages, replay
from zot.core.session.session_file import read_lines
from zot.devkit.replay.player import STRANGE, RecordingRenderer
from zot.features.recording.reader import decoded_line
from zot.features.skills import discovery
from zot.frontends.terminal.editor.file_picker import PathMatcher
from zot.local_model import weights
from zot.provider.recording_script import turns_of
from zot.system.checksummed_lines import read_checked_lines
from zot.tui import theme_file
from zot.tui.fuzzy import Pattern
from zot.tui.theme import built_in

SESSIONS = (
    '{"type":"meta","meta":{"id":"a","cwd":"/","model":"m","provider":"p","started":"2026-01-01T00:00:00Z"}}\n'
    '{"type":"message","message":{"role":"user","content":[{"type":"text","text":"hi"}],"time":"2026-01-01T00:00:00+02:00"}}\n'
    '{"type":"message","message":{"role":"assistant","content":[{"type":"tool_call","id":"1","name":"bash","arguments":{"a":1}}]}}\n'
    '{"type":"tool_intent","call_id":"1"}\n'
    '{"type":"message","message":{"role":"tool","content":[{"type":"tool_result","call_id":"1","content":[{"text":"x"}]}]}}\n'
    '{"type":"usage","usage":{},"cumulative":{"input":3}}\n',
    '{"type":"compaction","keep_tail":1,"message":{"role":"user","content":[{"type":"text","text":"sum"}]}}\n'
    '{"type":"rename","title":"t"}\n{"type":"new_kind","x":1}\n{"type":"answer_end","how":"cancelled"}\n{"type":"tool_outcome","call_id":"1","result":{"content":[]}}\n',
    '{"type":"message","message":{"role":"assistant","content":[{"reasoning_id":"r","summary":"s","kind":"thinking"},{"mime_type":"image/png","data":"aGk="}]}}\n'
    '{"type":"compaction","messages":[{"role":"user","content":[{"text":"a"}]}]}\n',
)
SESSION_WORDS = '{ } [ ] , : " "type": "message" "role": "tool" "assistant" "content": "tool_call" "tool_result" "call_id":"1" "id":"1" "keep_tail": -1 "arguments": null \n "hunks":[ "data":"a=" \\ud800'


@reader("sessions", SESSIONS, SESSION_WORDS)
def _session(data: bytes, rng: random.Random) -> None:
    state = replay(read_lines(io.BytesIO(data)))
    state.finish()
    holds(len(state.messages) == len(state.rows), "every message has a row")
    transcript_text(state.messages, rng.choice((10, 100, 10_000)))
    recent_messages(list(state.messages), 3)
    for message in state.messages:
        row = decode_row(encode_row(message_row(message)))
        holds(isinstance(row, MessageRow), "a message is a row", row)
        assert isinstance(row, MessageRow)
        holds(message_of(row.message) == message, "it does not survive being written", message, message_of(row.message))
    for line in data.split(b"\n"):
        with suppress(NotARecord):
            decode_row(line)


RECORDINGS = (
    '{"type":"header","t":0,"format":2,"zot":"1","clock":{"wall":1}}\n'
    '{"type":"setup","t":0,"interceptors":[false]}\n'
    '{"type":"input","t":0,"what":"prompt","text":"go"}\n'
    '{"type":"event","t":0,"event":{"type":"user_message","message":{"role":"user","content":[{"type":"text","text":"go"}]}}}\n'
    '{"type":"stream","t":0,"n":1,"kind":"TextDelta","value":{"text":"hello"}}\n'
    '{"type":"stream","t":0,"n":1,"kind":"Finished","value":{"stop":"end","message":{"role":"assistant","content":[]},"error":null}}\n'
    '{"type":"told","t":0,"event":{"type":"diagnostic","text":"x"}}\n{"type":"end","t":1}\n',
    '{"type":"header","t":0,"format":1}\n{"type":"frame","t":0,"frame":{"type":"subscribe","intercept":["assistant_message"]}}\n'
    '{"type":"tool","t":0,"id":"1","name":"bash","arguments":"{}"}\n{"type":"progress","t":0,"id":"1","text":"x"}\n'
    '{"type":"event","t":0,"event":{"type":"tool_call","call":{"type":"tool_call","id":"1","name":"bash","arguments":"{}"}}}\n'
    '{"type":"event","t":0,"event":{"type":"tool_result","id":"1","is_error":false,"content":[{"type":"text","text":"x"}]}}\n'
    '{"type":"refusal","t":0,"n":2,"error":{"text":"no","status":400}}\n{"type":"about","settings":{},"doctor":["x"]}\n',
)
RECORDING_WORDS = '{ } [ ] , : " "type": "event" "stream" "input" "frame" "about" "answer" "setup" "command" "t": "n": "agent":2 "kind":"TextDelta" "ThinkingDelta" "value": null -1 1e999 \n "sum":"0123456789abcdef"} \\u001b'


@reader("recordings", RECORDINGS, RECORDING_WORDS)
def _recording(data: bytes, rng: random.Random) -> None:
    shown = RecordingRenderer(rng.choice((20, 80)), colours=False)
    for sealed in read_checked_lines(io.BytesIO(data)):
        if (line := decoded_line(sealed)) is not None:
            with suppress(*STRANGE):
                shown.hear(line)
            rows = shown.rows()
            holds("\x1b" not in "".join(rows), "what is printed drives no terminal", rows)
    turns_of(data.split(b"\n"))


THEMES = (
    '{"name":"x","colors":{"accent":"#81a1c1","dark":{"fg":"$v"},"light":{"fg":12}},"vars":{"v":"bright red"},"base":"dark"}',
    '{"spinner_frames":["a","b"],"spinner_messages":["x"],"spinner_interval_ms":100,"syntax":{"keyword":"bold #fff"}}',
    '{"accent":{"mode":"rgb","r":1,"g":2,"b":3},"background":"default","syntax_base_style":"monokai"}',
)


@reader(
    "themes",
    THEMES,
    '{ } [ ] , : " "accent": "#fff" "#12345" "$v" "vars": 255 256 -1 "syntax": "bold red" "spinner_frames": ["a"] "mode": "rgb" null true "dark":',
)
def _theme(data: bytes, rng: random.Random) -> None:
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    file = theme_file.ThemeFile(Path("/x.json"), raw if isinstance(raw, dict) else {"colors": raw})
    theme, problems = theme_file.apply(file, rng.choice(("dark", "light")), rng.choice(("256", "truecolor", "none")))
    holds(len(problems) < 200, "problems are counted", len(problems))
    theme_file.faint_roles(theme)
    for role in built_in().colours:
        theme.paint(role, "x")


SKILLS = (
    "---\nname: x\ndescription: >\n  folded\n  text\n\n  more\nallowed-tools: [bash, \"a,b\", 'it''s']\n---\nbody\n",
    '---\nname: "a\\nb"\npermissions:\n  read:\n    - a\n    - b\n  write: [c]\n---\n',
    "\ufeff---\r\nname: y\r\n---\r\nbody",
)


@reader("skills", SKILLS, "--- \n name: description: > | - [ ] , \" ' '' \\ : # allowed-tools: permissions: \t \ufeff")
def _skill(data: bytes, rng: random.Random) -> None:
    head, body = discovery.split(text_of(data))
    found = discovery.parse(head)
    holds("\n" not in found.name, "a name is one line", found.name)
    holds(body == body.strip(), "a body has no blank ends", body[:100])


PATTERNS = ("*.py", "src/**/test_*.py", "{a,b/{c,d}}/[!x-z]?.txt", "/anchored/", "!not\n# comment\n*.o\nbuild/\n\\#x")
PATHS = ("a.py", "src/a/b/test_x.py", "b/d/a1.txt", "a" * 60, "a/" * 20 + "b", ".hidden", "x\ny", "é/漢")


@reader("patterns", PATTERNS, "* ** ? / [ ] ! - { } , \\ a b .py # \n [a-z] **/")
def _pattern(data: bytes, rng: random.Random) -> None:
    text = text_of(data)
    try:
        regex = re.compile(regex_of(text), re.DOTALL)
    except re.error:
        regex = None
    for path in PATHS:
        if regex is not None:
            regex.fullmatch(path)
    rules = Rules("/p", text.split("\n"))
    matcher = PathMatcher(text[:100])
    for path in PATHS:
        rules.verdict(f"/p/{path}", rng.random() < 0.5)
        holds(not matcher.holds(path.lower()) or matcher.in_order(path.lower()), "what holds it has its letters", path)
        matcher.loose_score(path.lower())
        pattern = Pattern(text[:100])
        found = pattern.rank(path)
        holds(found is not None or not pattern.stands_in(path), "what stands there is found", path)
        holds(all(0 <= place < len(path) for place in pattern.places(path)), "places are in the text", path)


@reader("plain patterns against a slow reader", PATTERNS, "* ** ? / a b c **/")
def _pattern_meaning(data: bytes, rng: random.Random) -> None:
    """Stars and questions mean what the slowest and plainest matcher says."""
    pattern = re.sub(r"[^*?/abc]", "", text_of(data))[:12]
    regex = re.compile(regex_of(pattern), re.DOTALL)
    for _ in range(4):
        path = "".join(rng.choice("abc/") for _ in range(rng.randrange(1, 9)))
        holds((regex.fullmatch(path) is not None) == _matches(pattern, path), "another meaning", pattern, path)


def _matches(pattern: str, path: str, at_part: bool = True) -> bool:
    """``at_part``: the pattern goes on where a part of the path begins."""
    if not pattern:
        return not path
    if pattern == "/**":
        return path[:1] == "/" and len(path) > 1
    stars = len(pattern) - len(pattern.lstrip("*"))
    rest = pattern[stars:]
    if stars >= 2 and at_part and not rest:
        return True
    if stars >= 2 and at_part and rest[0] == "/":
        starts = [0, *(i + 1 for i, c in enumerate(path) if c == "/")]
        return any(_matches(rest[1:], path[start:]) for start in starts)
    if stars:
        reach = len(path) - len(path.lstrip("abc"))
        return any(_matches(rest, path[i:], False) for i in range(reach + 1))
    if not path or not (pattern[0] == path[0] or (pattern[0] == "?" and path[0] != "/")):
        return False
    return _matches(pattern[1:], path[1:], pattern[0] == "/")


@reader("edits", ("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n", "a\n" * 30, "x"), "a b \n \n\n line \r\n")
def _edit(data: bytes, rng: random.Random) -> None:
    text = text_of(data)
    places = sorted(rng.randrange(len(text) + 1) for _ in range(2 * rng.randrange(1, 4)))
    spans = [
        EditSpan(a, b, n, rng.choice(("", "x", "x\ny", "\n")))
        for n, (a, b) in enumerate(zip(places[::2], places[1::2], strict=True))
    ]
    made = diff_of(text, spans)
    for row in made.text.split("\n") if made.text else ():
        holds(row == "..." or row[:1] in (" ", "-", "+"), "a row of a difference", row)


WEIGHTS = (
    "GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x14\0\0\0\0\0\0\0general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0qwen2"
    "\x14\0\0\0\0\0\0\0qwen2.context_length\x04\0\0\0\0\x10\0\0",
)


@reader(
    "weights",
    WEIGHTS,
    "GGUF general.architecture general.name .context_length \x08\0\0\0 \x04\0\0\0 \x09\0\0\0 \xff\xff",
)
def _weights(data: bytes, rng: random.Random) -> None:
    header = weights.header_of(data)
    holds(header.window >= 0, "a window is a number of tokens", header)
