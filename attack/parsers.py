"""Texts made to be slow or to be taken for something else, through the programs that read them.

The readers themselves are doubled and fuzzed elsewhere; here a real terminal, a real pipe and real files show that a
person or a program can go on working.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from attack.place import Place, call
from attack.scratch import Scratch
from attack.stage import on_screen, zot_in
from attack.table import attack
from tests.fakes.model_server import CallTools, FakeModelServer, Say
from tests.fakes.rpc_client import FakeRpcClient

SOON_S = 30.0  # on a busy machine; what these attacks cost before was minutes, or had no end
ANSWERS = {
    "2,000 backticks": "x" + "`" * 2_000,
    "40,000 backticks": "x" + "`" * 40_000,
    "fence lines of 20,000 marks": ("`" * 20_000 + "\n") * 3,
    "a delimiter line of 60,000 cells": "|a|\n" + "|-" * 60_000 + "x",
    "a table of 3,000 columns": "|a" * 3_000 + "\n" + "|-" * 3_000 + "\n" + "|b" * 3_000,
    "brackets of a link that never ends": "[a](" * 10_000,
    "styles with 50,000 parameters": "\x1b[" + "8;" * 50_000 + "m text",
    "50 KB of C++ made for its highlighter": "```cpp\n" + "a::" * 16_000 + "\n```",
    "50 KB of Lua made for its highlighter": "```lua\n" + "[=" * 25_000 + "\n```",
    "50 KB of INI made for its highlighter": "```ini\n" + "=" * 50_000 + "\n```",
    "a family of 2,000 emoji": "👩\u200d" * 2_000,
    "a letter with 20,000 accents": "e" + "\u0301" * 20_000,
}


def shown(scratch: Path, text: str) -> str:
    """The answer on a screen, and whether keys are heard after it."""
    with on_screen(scratch, turns=[Say(deltas=(text, "\n\nTHE END"))]) as terminal:
        began = time.monotonic()
        terminal.type("go\r")
        terminal.wait_for("THE END")
        terminal.type("still here")
        terminal.wait_for("still here")
        spent = time.monotonic() - began
    return "" if spent < SOON_S else f"it took {spent:.1f} s"


for name, text in ANSWERS.items():

    @attack("parsers", f"an answer of {name}", expect="shown, and keys work", quick=name == "2,000 backticks")
    def answered(scratch: Path, text: str = text) -> str:
        return shown(scratch, text)


def in_time(began: float, what: str) -> str:
    spent = time.monotonic() - began
    return "" if spent < SOON_S else f"{what} took {spent:.1f} s"


DUPLICATES = "{" + ",".join(f'"k{i % 40_000}": {i}' for i in range(40_001)) + "}"


@attack("parsers", "an extension.json of 650 KB with one duplicate key", expect="refused at once, at every start")
def duplicate_in_a_manifest(scratch: Path) -> str:
    place = Place(scratch)
    folder = place.clone / ".zot" / "extensions" / "slow"
    folder.mkdir(parents=True)
    (folder / "extension.json").write_text(DUPLICATES)
    began = time.monotonic()
    ran = place.ask()
    if ran.unclean or "the answer" not in ran.out:
        return ran.unclean or f"no answer: {ran.told[-300:]}"
    return in_time(began, "a start")


@attack("parsers", "an RPC line of 5 MB with one duplicate key", expect="refused, and ping is answered")
def duplicate_in_a_command(scratch: Path) -> str:
    zot = zot_in(scratch)
    line = '{"id":"1","type":"prompt",' + ",".join(f'"k{i}":1' for i in range(400_000)) + ',"k0":2}'
    with FakeModelServer([Say("ok")]) as server:
        client = FakeRpcClient(zot.argv(["rpc", "--base-url", server.url, "--api-key", "k"]), zot.env(), zot.project)
        client.ask("ping")
        began = time.monotonic()
        client.write(line.encode() + b"\n")
        client.send("ping", id="after")
        answer = client.until("response", id="after")
        spent = time.monotonic() - began
        client.process.kill()
        client.process.wait()
    if not answer["success"]:
        return f"ping was not answered: {answer}"
    return "" if spent < SOON_S else f"ping took {spent:.1f} s"


@attack("parsers", "a frame of 5 MB with one duplicate key", expect="refused, and the run continues", quick=False)
def duplicate_in_a_frame(scratch: Path) -> str:
    made = Scratch(scratch)
    body = """
hello(); ready()
line = '{"type":"notify",' + ",".join('"k%d":1' % i for i in range(400_000)) + ',"k0":2}'
os.write(1, line.encode() + b"\\n") if len(line) < 60_000 else sys.stdout.write(line + "\\n")
sys.stdout.flush()
serve()
"""
    made.own("noisy", body)
    began = time.monotonic()
    ran = made.zot(*made.model({"text": "the answer"}), "-p", "go")
    if "the answer" not in ran.out:
        return f"no answer: {ran.err[-300:]}"
    return in_time(began, "the run")


RECORDED = '{"type":"header","t":0,"format":2,"zot":"\\u001b]0;owned\\u0007"}\n'
HOSTILE_RECORDINGS = {
    "with a line of 50 MB": RECORDED + '{"type":"event","x":"' + "a" * 50_000_000 + '"}\n',
    "with 100,000 lines of unknown types": RECORDED + '{"type":"a"}\n' * 100_000,
    "that is nested 1,000,000 deep": RECORDED + "[" * 1_000_000,
    "that sets the title": RECORDED
    + '{"type":"told","t":0,"event":{"type":"notice","text":"\\u001b]0;owned\\u0007"}}\n',
}

for name, text in HOSTILE_RECORDINGS.items():

    @attack("parsers", f"a recording {name}", expect="shown or refused at once", quick=name == "that sets the title")
    def replayed(scratch: Path, text: str = text) -> str:
        zot = zot_in(scratch)
        (zot.project / "run.zotrec").write_text(text)
        began = time.monotonic()
        for how in ("--fast", "--verify"):
            ran = zot("replay", how, "run.zotrec", model=False)
            if "Traceback" in ran.err or "\x1b" in ran.out + ran.err or ran.code not in (0, 1):
                return f"{how}: {ran.code} {ran.err[-300:]}"
        return in_time(began, "showing it")


MESSAGE = '{"type":"message","message":{"role":"%s","content":[%s]}}\n'
META = '{"type":"meta","meta":{"id":"a","cwd":"/","model":"m"}}\n'


def resumed(scratch: Path, rows: str, wait: str = "still here") -> str:
    zot = zot_in(scratch)
    (zot.project / "talk.jsonl").write_text(META + rows)
    began = time.monotonic()
    with on_screen(scratch, "--session", "talk.jsonl") as terminal:
        terminal.type("still here")
        terminal.wait_for(wait)
        if "internal error" in terminal.everything or "Traceback" in terminal.everything:
            return "an internal error was reported"
    return in_time(began, "opening it")


def exchange(tool: str, text: str) -> str:
    called = {"type": "tool_call", "id": "1", "name": tool, "arguments": {"path": "a.py"}}
    result = {"type": "tool_result", "call_id": "1", "content": [{"type": "text", "text": text}]}
    return (
        MESSAGE % ("user", '{"type":"text","text":"hi"}')
        + MESSAGE % ("assistant", json.dumps(called))
        + MESSAGE % ("tool", json.dumps(result))
    )


@attack("parsers", "a session whose result of `edit` is any text", expect="opened")
def odd_edit(scratch: Path) -> str:
    return resumed(scratch, exchange("edit", "no sign at all\n+ok\n" + "é"))


@attack("parsers", "a session whose lines have numbers of 5,000 digits", expect="opened", quick=False)
def huge_numbers(scratch: Path) -> str:
    return resumed(scratch, exchange("read", "9" * 5000 + "\tx"))


@attack("parsers", "a session whose diff begins at a line of 5,000 digits", expect="opened", quick=False)
def huge_hunk(scratch: Path) -> str:
    return resumed(scratch, exchange("other", "--- a\n+++ b\n@@ -" + "9" * 5000 + " +1 @@\n+x"))


@attack("parsers", "a session of 20,000 messages and 20,000 compactions that retain them", expect="opened", quick=False)
def compacted(scratch: Path) -> str:
    text = '{"type":"text","text":"a"}'
    whole = {"role": "user", "content": [{"type": "text", "text": "a"}]}
    summary = json.dumps({"type": "compaction", "keep_tail": 1_000_000, "message": whole}) + "\n"
    return resumed(scratch, MESSAGE % ("user", text) * 20_000 + summary * 20_000)


@attack("parsers", "60 KB of key sequences that never end", expect="the next key works", quick=False)
def half_sequences(scratch: Path) -> str:
    with on_screen(scratch) as terminal:
        began = time.monotonic()
        for piece in ("\x1b[1;" * 5_000, "\x1b]" * 5_000, "\x9b" * 5_000):
            terminal.type(piece)
        terminal.wait_idle()
        terminal.type("still here")
        terminal.wait_for("still here")
        return in_time(began, "it")


@attack("parsers", "a theme of 10,000 unknown keys", expect="reported in a few lines", quick=False)
def theme(scratch: Path) -> str:
    zot = zot_in(scratch)
    folder = zot.home / "zot" / "themes"
    folder.mkdir(parents=True)
    (folder / "odd.json").write_text(json.dumps({f"accen{i}": 1 for i in range(10_000)}))
    began = time.monotonic()
    with on_screen(scratch, "--theme", "odd") as terminal:
        terminal.type("still here")
        terminal.wait_for("still here")
    return in_time(began, "the start")


# --- matching, off the loop

BRACES = "{" + ",".join(["*a*a*a"] * 60) + "}" + "*a" * 100
IGNORES = {
    "lines of braces": "\n".join(BRACES + str(i) for i in range(400)),
    "lines of letters between stars": "\n".join("*" + "a" * 100 + f"{i}*b" for i in range(2_000)),
    "nested braces": "\n".join("{" * 60 + "}" * 60 + str(i) for i in range(2_000)),
    "stars": "\n".join("*a" * 60 + f"{i}" for i in range(2_000)),
}


def hostile_tree(project: Path, ignore: str) -> None:
    (project / ".git").mkdir(exist_ok=True)
    (project / ".ignore").write_text(ignore[: 250 << 10])
    for i in range(200):
        (project / ("a" * 240 + str(i))).write_text("")
    (project / "wanted.txt").write_text("")


for name, ignore in IGNORES.items():

    @attack(
        "parsers",
        f"`@` where the ignore file has {name}",
        expect="keys work meanwhile",
        quick=name == "lines of braces",
    )
    def mentioned(scratch: Path, ignore: str = ignore) -> str:
        zot = zot_in(scratch)
        hostile_tree(zot.project, ignore)
        with on_screen(scratch) as terminal:
            began = time.monotonic()
            terminal.type("@")
            terminal.type("wan")
            terminal.wait_for("@wan")
            return in_time(began, "the keys after @")


@attack("parsers", "`@` in a tree 1,500 directories deep", expect="files are found", quick=False)
def deep_tree(scratch: Path) -> str:
    zot = zot_in(scratch)
    (zot.project / "z").mkdir()
    (zot.project / "z" / "wanted.txt").write_text("")
    os.chdir(zot.project)
    for _ in range(1_500):
        os.mkdir("a")
        os.chdir("a")
    Path("deep.txt").write_text("")
    os.chdir(scratch)
    try:
        with on_screen(scratch) as terminal:
            terminal.type("@wanted")
            terminal.wait_for("z/wanted.txt")
            return "an internal error was reported" if "internal error" in terminal.everything else ""
    finally:
        subprocess.run(["rm", "-rf", zot.project / "a"], check=True)  # the runner would call itself for each


def matched(scratch: Path, tool: str, arguments: Callable[[Path], dict[str, str]]) -> str:
    """A tool call that matches, and `ping` asked all the while."""
    zot = zot_in(scratch)
    hostile_tree(zot.project, IGNORES["stars"])
    deep = zot.project
    for _ in range(14):
        deep = deep / ("a" * 250)
    os.makedirs(deep)
    for i in range(300):
        (deep / f"a{i}").touch()
    with FakeModelServer([CallTools([(tool, arguments(zot.project))]), Say("done")]) as server:
        client = FakeRpcClient(
            zot.argv(["rpc", "--tools", "glob", "--base-url", server.url, "--api-key", "k"]), zot.env(), zot.project
        )
        client.ask("ping")
        client.send("prompt", message="go")
        slowest, ends = 0.0, time.monotonic() + 20
        while len(server.requests) < 2 and time.monotonic() < ends:
            began = time.monotonic()
            client.send("ping", id="p")
            client.until("response", id="p")
            slowest = max(slowest, time.monotonic() - began)
        client.process.kill()
        client.process.wait()
    if "unknown tool" in str(client.seen):
        return "the control failed: there is no such tool"
    return "" if slowest < 3.0 else f"ping took {slowest:.1f} s"


PATTERNS = {
    "400 stars with a letter between them": "*a" * 400 + "b",
    "900 letters between two stars": "**/*" + "a" * 900 + "b*",
    "question marks": "**/*" + "a?" * 300 + "b",
    "nested braces": "{" + ",".join(["a*"] * 30) + "}" + "*a*a*b",
}
for name, pattern in PATTERNS.items():

    @attack("parsers", f"a glob pattern of {name}", expect="`ping` is answered meanwhile", quick="900" in name)
    def globbed(scratch: Path, pattern: str = pattern) -> str:
        return matched(scratch, "glob", lambda project: {"pattern": pattern})


@attack("parsers", "a glob pattern with a reversed range", expect="refused with zot's message", quick=False)
def turned(scratch: Path) -> str:
    place = Place(scratch)
    ran = place.ask("--tools", "glob", turns=[call("glob", pattern="[z-a]"), {"text": "done"}])
    told = "".join(path.read_text("utf-8") for path in place.home.rglob("*.jsonl"))
    return "" if "a range ends before it begins" in told else f"not told: {ran.told[-500:]}, {told[-500:]}"
