"""Readers of what small models and their users write: actions, blocks, tasks, and the grammars made of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from fuzz.cases import cut
from fuzz.reader import holds, reader, text_of
from tests.unit.provider.dialects.grammar.gbnf_reader import Gbnf
from zot.local_model.coaching.advice import advise
from zot.provider.dialects.dialect import Endpoint
from zot.provider.dialects.grammar.dialect import GrammarDialect
from zot.provider.http.sse import SseEvent
from zot.provider.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock, user_message
from zot.provider.model import Model
from zot.provider.model_call import Finished, Request, TextDelta, ToolSpec

_TEXT = {"type": "string"}
_SCHEMAS = {
    "read": ("path",),
    "write": ("path", "content"),
    "bash": ("command",),
    "grep": ("pattern",),
    "glob": ("pattern",),
}
TOOLS = tuple(
    ToolSpec(name, "", {"type": "object", "properties": dict.fromkeys(names, _TEXT), "required": list(names)})
    for name, names in _SCHEMAS.items()
)
DIALECT = GrammarDialect(advise)
MODEL = Model(id="m", provider="p", max_output=100)
ENDPOINT = Endpoint(provider="p", base_url="http://a", api_key="k")
LISTED = "Be good.\n\nFiles: a.py, b/c.md, test_a.py"
REPLIES = (
    '{"tool": "read", "path": "a.py"}',
    '{"tool": "write", "path": "a.py"}\n```python\nx = 1\n\n```',
    '{"tool": "final", "answer": "All is \\"well\\" \\ud83d\\ude00."}',
    '{"tool": "final"}\nDone.',
    "```python\nx = 2\n```",
    "The mistake is that x is 1.\n\n```python\nx = 2\n```\nand more",
    "```bash\nls -l\n```",
    "# A title\n\n```sh\nls\n```\n",
)
# Each leads to another kind of turn: an action of the model's own, a block, a command, a bare text, an answer.
ASKED = ("Go on.", "Create d.py.", "How many lines are there?", "Write d.md.", "What is x in a.py?")


def _request(prompt: str, steps: Sequence[tuple[str, dict[str, str], str, bool]] = ()) -> Request:
    messages: list[Message] = [user_message(prompt)]
    for number, (name, args, said, failed) in enumerate(steps):
        call = ToolCallBlock(f"c{number}", name, msgspec.json.encode(args).decode())
        result = ToolResultBlock(f"c{number}", (TextBlock(said),), failed)
        messages += [Message("assistant", (call,)), Message("tool", (result,))]
    return Request(model=MODEL, system=LISTED, messages=tuple(messages), tools=TOOLS)


def _heard(request: Request, pieces: Sequence[str], finish: str) -> tuple[str, Finished]:
    decoder = DIALECT.decoder(request, ENDPOINT)
    chunks: list[dict[str, object]] = [{"delta": {"content": piece}} for piece in pieces]
    lines = [msgspec.json.encode({"choices": [chunk]}) for chunk in [*chunks, {"delta": {}, "finish_reason": finish}]]
    events = [event for line in [*lines, b"[DONE]"] for event in decoder.feed(SseEvent("", line))]
    events += decoder.end_of_input()
    ends = [event for event in events if isinstance(event, Finished)]
    holds(len(ends) == 1 and events[-1] is ends[0], "an answer ends once", ends)
    return "".join(event.text for event in events if isinstance(event, TextDelta)), ends[0]


@reader(
    "actions of small models",
    REPLIES,
    '{ } "tool": "read" "final" "answer": , " \\ \\n \\ud83d \\ude00 ``` ~~~ \n```\n ```python\n "path": "args": [ ]',
)
def _action(data: bytes, rng: random.Random) -> None:
    text = text_of(data).replace("\x00", "")
    absent = [("read", {"path": path}, "no such file", True) for path in ("d.py", "d.md")]
    request, finish = _request(rng.choice(ASKED), absent), rng.choice(("stop", "length"))
    said, once = _heard(request, [text], finish)
    pieces = [piece.decode("utf-8", "replace") for piece in cut(rng, text.encode())] if text.isascii() else list(text)
    parts, end = _heard(request, pieces, finish)
    holds(said == parts == end.message.text(), "cut differently, another answer", said, parts)
    calls = [(call.name, call.args) for call in once.message.tool_calls()]
    holds(calls == [(call.name, call.args) for call in end.message.tool_calls()], "cut differently, another call")
    holds(all(isinstance(args, dict) for _, args in calls), "arguments are an object", calls)


TASKS = (
    "Set the timeout in a.py to `60`, please.",
    'Users report "no room". Which file does send_mail come from?',
    "Run the tests (python3 -m unittest). How many of them fail?",
    "The tests fail. Find the mistake and fix it; the tests are right.",
    "Write b.py, a script that prints the sum of c.md.",
    "Move all .log files into a new folder named old.",
)


@reader(
    "tasks for small models",
    TASKS,
    'What Which how many fix write create move rename run print a.py b/c.md test_a.py `ls -l` " ` ? . ! TODO the_name '
    "python3 -m unittest files lines .log into ; --flag f() .gitignore",
)
def _task(data: bytes, rng: random.Random) -> None:
    text = text_of(data)
    steps = [
        ("read", {"path": "a.py"}, text, False),
        ("read", {"path": "test_a.py"}, "import unittest\n", False),
        ("bash", {"command": "python3 -m unittest"}, f"{text}\n[exit 1]", True),
        ("write", {"path": "a.py", "content": text}, "ok", False),
        ("grep", {"pattern": "the_name"}, f"a.py:1:{text}", False),
    ]
    rng.shuffle(steps)
    for count in (0, rng.randrange(1, len(steps) + 1)):
        request = _request(text, steps[:count])
        wire = DIALECT.body(request)
        holds(wire == DIALECT.body(request), "the same request, the same turn")
        Gbnf(wire["grammar"])
        holds(sum(len(message["content"]) for message in wire["messages"]) < 40_000, "a prompt of reasonable length")
