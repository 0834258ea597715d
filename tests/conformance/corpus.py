"""A table of deliberately broken extensions: their files, the rule they break and the expected report.

``first`` is the beginning of the first finding, after the rule's name: the cause, not what followed from it. Scripts in
``broken/`` that bend one thing of a sound extension are part of the table by their name.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.conformance.extension_kit import BROKEN, install


class Case(NamedTuple):
    rule: str
    first: str
    files: Mapping[str, str | bytes] = {}
    links: Mapping[str, str] = {}
    modes: Mapping[str, int] = {}
    script: str = ""  # of broken/, instead of files
    warns: bool = False


def manifest(**fields: object) -> str:
    return json.dumps({"name": "sample", "exec": "python3", "args": ["main.py"], **fields})


def python(body: str, **fields: object) -> dict[str, str | bytes]:
    """A Python script that may use ``Good``, the sound extension."""
    return {"extension.json": manifest(**fields), "main.py": body, "good.py": (BROKEN / "good.py").read_text("utf-8")}


def bent(body: str, **fields: object) -> dict[str, str | bytes]:
    """The sound extension with some methods replaced."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return python(
        f"import json, os, sys, time\nfrom good import *\nclass Broken(Good):\n{lines}Broken().run()\n", **fields
    )


def program(data: bytes, **fields: object) -> dict[str, str | bytes]:
    """A file that is run by itself."""
    return {"extension.json": manifest(exec="./run", args=[], **fields), "run": data}


def elf(machine: int) -> bytes:
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, machine) + bytes(100)


ENDED = "before hello: the process ended (status 1): "
GOOD = (BROKEN / "good.py").read_bytes()
SHEBANG = b"#!/usr/bin/env python3\n"
RUN = {"run": 0o755}

CASES: dict[str, Case] = {
    # --- the manifest
    "manifest-not-there": Case("manifest-missing", "{dir} has no extension.json", {"main.py": "x"}),
    "manifest-other-name": Case(
        "manifest-missing", "{dir} has no extension.json; is it Extension.json?", {"Extension.json": "{}"}
    ),
    "manifest-with-txt": Case(
        "manifest-missing", "{dir} has no extension.json; is it extension.json.txt?", {"extension.json.txt": "{}"}
    ),
    "manifest-is-a-directory": Case("manifest-missing", "{dir}/extension.json is not a file", {"extension.json/x": ""}),
    "manifest-dangling-link": Case(
        "manifest-missing", "{dir}/extension.json is not a file", links={"extension.json": "gone"}
    ),
    "manifest-empty": Case("manifest-json", "extension.json is empty", {"extension.json": ""}),
    "manifest-cut": Case("manifest-json", "the JSON is incomplete", {"extension.json": '{"name": "x", "exec": '}),
    "manifest-comment": Case("manifest-json", "line 1, column 2: ", {"extension.json": '{// me\n"name": "x"}'}),
    "manifest-trailing-comma": Case(
        "manifest-json", "line 1, column 28: ", {"extension.json": '{"name": "x", "exec": "sh",}'}
    ),
    "manifest-single-quotes": Case("manifest-json", "line 1, column 2: ", {"extension.json": "{'name': 'x'}"}),
    "manifest-a-list": Case("manifest-json", "expected one JSON object", {"extension.json": "[]"}),
    "manifest-two-objects": Case("manifest-json", "line 1, column 4: ", {"extension.json": '{}{"name": "x"}'}),
    "manifest-duplicate-key": Case(
        "manifest-json", "duplicate key 'name'", {"extension.json": '{"name": "x", "name": "y", "exec": "sh"}'}
    ),
    "manifest-utf-16": Case(
        "manifest-encoding", "extension.json is UTF-16", {"extension.json": manifest().encode("utf-16")}
    ),
    "manifest-utf-16-without-mark": Case(
        "manifest-encoding", "extension.json is UTF-16", {"extension.json": manifest().encode("utf-16-le")}
    ),
    "manifest-latin-1": Case(
        "manifest-encoding",
        "extension.json is not UTF-8: byte 13 is 0xe9",
        {"extension.json": '{"name": "caf\xe9", "exec": "sh"}'.encode("latin-1")},
    ),
    "manifest-byte-order-mark": Case(
        "manifest-encoding",
        "extension.json is UTF-8 with a byte order mark",
        {**python("from good import *\nGood().run()\n"), "extension.json": b"\xef\xbb\xbf" + manifest().encode()},
        warns=True,
    ),
    "manifest-no-name": Case("manifest-name", '"name" is missing or empty', {"extension.json": '{"exec": "sh"}'}),
    "manifest-blank-name": Case("manifest-name", '"name" is missing or empty', {"extension.json": manifest(name=" ")}),
    "manifest-name-of-a-path": Case(
        "manifest-name", "invalid \"name\" 'a/b'", {"extension.json": manifest(name="a/b")}
    ),
    "manifest-name-with-line-feed": Case(
        "manifest-name", "invalid \"name\" 'a\\nb'", {"extension.json": manifest(name="a\nb")}
    ),
    "manifest-name-a-number": Case(
        "manifest-key-types", '"name": expected a string, got a number', {"extension.json": manifest(name=7)}
    ),
    "manifest-args-a-string": Case(
        "manifest-key-types", '"args": expected a list, got a string', {"extension.json": manifest(args="main.py")}
    ),
    "manifest-args-of-numbers": Case(
        "manifest-key-types", '"args[0]": expected a string, got a number', {"extension.json": manifest(args=[1])}
    ),
    "manifest-guard-a-string": Case(
        "manifest-key-types", '"guard": expected true or false, got a string', {"extension.json": manifest(guard="yes")}
    ),
    "manifest-enabled-a-string": Case(
        "manifest-key-types",
        '"enabled": expected true or false, got a string',
        {"extension.json": manifest(enabled="true")},
    ),
    "manifest-exec-a-list": Case(
        "manifest-key-types", '"exec": expected a string, got a list', {"extension.json": manifest(exec=["python3"])}
    ),
    "manifest-no-exec": Case(
        "manifest-no-exec", 'expected "exec"', {"extension.json": '{"name": "x", "description": "y"}'}
    ),
    "manifest-misspelt-exec": Case(
        "manifest-unknown-key",
        '"exe" is not a key of extension.json; did you mean "exec"?',
        {"extension.json": '{"name": "x", "exe": "sh"}'},
    ),
    "manifest-guards": Case(
        "manifest-unknown-key",
        '"guards" is not a key of extension.json; did you mean "guard"?',
        python("from good import *\nGood().run()\n", guards=True),
    ),
    "manifest-capital-args": Case(
        "manifest-unknown-key",
        '"Args" is not a key of extension.json; did you mean "args"?',
        python("from good import *\nGood().run()\n", Args=["-u"]),
    ),
    "manifest-foreign-key": Case(
        "manifest-unknown-key",
        '"homepage" is not a key of extension.json, and is ignored',
        python("from good import *\nGood().run()\n", homepage="https://example.com"),
        warns=True,
    ),
    "manifest-permissions-paths": Case(
        "manifest-permissions",
        "\"permissions.fs.read\" '$HOME/x': only $PROJECT and $DATA are expanded",
        python("from good import *\nGood().run()\n", permissions={"fs": {"read": ["$HOME/x"]}}),
    ),
    "manifest-permissions-misspelt": Case(
        "manifest-permissions",
        '"nets" is not a key of permissions; did you mean "net"?',
        python("from good import *\nGood().run()\n", permissions={"nets": True}),
    ),
    "manifest-disabled": Case(
        "manifest-disabled",
        '"enabled" is false: zot does not load it',
        python("from good import *\nGood().run()\n", enabled=False),
        warns=True,
    ),
    # --- the program
    "exec-with-arguments": Case(
        "exec-arguments",
        'exec "python3 main.py" has arguments in it: "python3" is the program',
        python("", exec="python3 main.py", args=[]),
    ),
    "exec-with-options": Case(
        "exec-arguments",
        'exec "node --no-warnings main.js" has arguments',
        python("", exec="node --no-warnings main.js"),
    ),
    "exec-file-with-arguments": Case(
        "exec-arguments",
        'exec "./run --fast" has arguments',
        program(SHEBANG) | {"extension.json": manifest(exec="./run --fast")},
    ),
    "exec-not-on-path": Case(
        "exec-found", 'exec "pyhton3" was not found on PATH', {"extension.json": manifest(exec="pyhton3")}
    ),
    "exec-beside-without-dot": Case(
        "exec-found",
        'exec "run" was not found on PATH; for a file beside the manifest write "./run"',
        {"extension.json": manifest(exec="run"), "run": SHEBANG},
        modes=RUN,
    ),
    "exec-misspelt": Case(
        "exec-found",
        'exec "./rum": {dir}/rum is not there; is it run?',
        {**program(SHEBANG), "extension.json": manifest(exec="./rum")},
    ),
    "exec-a-directory": Case(
        "exec-found", "{dir}/bin is a directory", {"extension.json": manifest(exec="./bin"), "bin/x": ""}
    ),
    "exec-a-dangling-link": Case(
        "exec-found",
        'exec "./run": {dir}/run is a broken link',
        {"extension.json": manifest(exec="./run")},
        links={"run": "/opt/gone"},
    ),
    "exec-home-not-expanded": Case(
        "exec-found", 'exec "~/bin/x": {dir}/~/bin/x is not there', {"extension.json": manifest(exec="~/bin/x")}
    ),
    "exec-not-executable": Case("exec-executable", "{dir}/run has no executable bit", program(SHEBANG + GOOD)),
    "exec-crlf-shebang": Case(
        "exec-shebang",
        'run has Windows line ends: the system looks for a program named "/usr/bin/env python3\\r"',
        program((SHEBANG + GOOD).replace(b"\n", b"\r\n")),
        modes=RUN,
    ),
    "exec-mark-before-shebang": Case(
        "exec-shebang",
        "run begins with a byte order mark, which hides its #! from the system",
        program(b"\xef\xbb\xbf" + SHEBANG + GOOD),
        modes=RUN,
    ),
    "exec-no-shebang": Case("exec-shebang", "run begins without #!", program(GOOD), modes=RUN),
    "exec-blank-line-first": Case("exec-shebang", "run begins without #!", program(b"\n" + SHEBANG + GOOD), modes=RUN),
    "exec-empty-file": Case("exec-shebang", "run is empty", program(b""), modes=RUN),
    "exec-missing-interpreter": Case(
        "exec-shebang",
        "run begins with #!/usr/local/bin/pyhton, which is not there",
        program(b"#!/usr/local/bin/pyhton\n" + GOOD),
        modes=RUN,
    ),
    "exec-env-missing-interpreter": Case(
        "exec-shebang",
        'run asks env for "python4", which is not on PATH',
        program(b"#!/usr/bin/env python4\n"),
        modes=RUN,
    ),
    "exec-utf-16": Case(
        "exec-encoding", "run is UTF-16", program((SHEBANG + GOOD).decode().encode("utf-16")), modes=RUN
    ),
    "exec-wrong-machine": Case("exec-machine", "run is a program for riscv64, this is ", program(elf(243)), modes=RUN),
    "exec-windows-program": Case(
        "exec-machine", "run is a program for Windows, this is ", program(b"MZ" + bytes(200)), modes=RUN
    ),
    "exec-mac-program": Case(
        "exec-machine", "run is a program for macOS, this is ", program(b"\xcf\xfa\xed\xfe" + bytes(99)), modes=RUN
    ),
    "script-not-there": Case(
        "exec-script",
        "args names main.py, which is not beside extension.json; is it mian.py?",
        {"extension.json": manifest(), "mian.py": "x"},
    ),
    "script-utf-16": Case(
        "exec-encoding", "main.py is UTF-16", {"extension.json": manifest(), "main.py": GOOD.decode().encode("utf-16")}
    ),
    "script-shell-crlf": Case(
        "exec-encoding",
        "main.sh has Windows line ends: a shell takes the CR",
        {"extension.json": manifest(exec="sh", args=["main.sh"]), "main.sh": "#!/bin/sh\r\necho hello\r\n"},
    ),
    # --- the start
    "syntax-error": Case("start-syntax", ENDED + "SyntaxError: ", python("def broken(:\n    pass\n")),
    "indentation-error": Case("start-syntax", ENDED + "IndentationError: ", python("if True:\npass\n")),
    "node-syntax-error": Case(
        "start-syntax",
        ENDED + "SyntaxError: ",
        {"extension.json": manifest(exec="node", args=["main.mjs"]), "main.mjs": "const = 1;\n"},
    ),
    "shell-syntax-error": Case(
        "start-syntax",
        "before hello: the process ended (status 2): main.sh: ",
        {"extension.json": manifest(exec="sh", args=["main.sh"]), "main.sh": "if true; then\necho x\n"},
    ),
    "missing-module": Case(
        "start-modules", ENDED + "ModuleNotFoundError: No module named 'requestz'", python("import requestz\n")
    ),
    "missing-name-in-module": Case(
        "start-modules", ENDED + "ImportError: cannot import name 'nope'", python("from json import nope\n")
    ),
    "node-missing-module": Case(
        "start-modules",
        ENDED + "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'left-padd'",
        {"extension.json": manifest(exec="node", args=["main.mjs"]), "main.mjs": 'import "left-padd";\n'},
    ),
    "node-missing-require": Case(
        "start-modules",
        ENDED + "Error: Cannot find module 'left-padd'",
        {"extension.json": manifest(exec="node", args=["main.cjs"]), "main.cjs": 'require("left-padd");\n'},
    ),
    "crash-before-hello": Case("start-alive", ENDED + "KeyError: 'TOKEN'", python("import os\nos.environ['TOKEN']\n")),
    "chained-crash-before-hello": Case(
        "start-alive",
        ENDED + "RuntimeError: second",
        python("try:\n    1/0\nexcept Exception:\n    raise RuntimeError('second')\n"),
    ),
    "quiet-exit-before-hello": Case("start-alive", "before hello: the process ended (status 0)", python("")),
    "killed-before-hello": Case(
        "start-alive", "before hello: the process ended (signal 11)", python("import os\nos.kill(os.getpid(), 11)\n")
    ),
    "crash-after-hello": Case(
        "start-alive",
        "after hello: the process ended (status 1): ValueError: no",
        bent("def register(self): raise ValueError('no')"),
    ),
    "closes-its-stdout": Case(
        "start-alive", "before hello: it closed its stdout", python("import os,time\nos.close(1)\ntime.sleep(60)\n")
    ),
    "waits-for-the-ack": Case(
        "handshake-speaks-first",
        "no output for 6 s, then hello after hello_ack",
        bent("def run(self):\n    sys.stdin.readline(); super().run()"),
    ),
    "late-hello": Case(
        "handshake-hello-late",
        "hello came ",
        bent("def start(self):\n    time.sleep(3.1); super().start()"),
        warns=True,
    ),
    "too-late-hello": Case(
        "handshake-hello-in-time", "hello came ", bent("def start(self):\n    time.sleep(6.3); super().start()")
    ),
    "never-hello": Case("handshake-hello-in-time", "no hello within 6 s", python("import time\ntime.sleep(60)\n")),
    "hello-in-a-buffer": Case(
        "framing-flush", "hello came only when the process ended: stdout is buffered", script="no_flush"
    ),
    "hello-with-a-mark": Case(
        "framing-utf8",
        "begins with a byte order mark",
        bent("def start(self):\n    self.write('\\ufeff'); super().start()"),
    ),
    "hello-in-utf-16": Case(
        "framing-utf8",
        "not UTF-8 at byte 0",
        python(
            'import sys\nsys.stdout.buffer.write(\'{"type":"hello","name":"sample"}\\n\'.encode(\'utf-16\'))\n'
            "sys.stdout.flush()\nsys.stdin.read()\n"
        ),
    ),
    "hello-without-a-type": Case(
        "framing-known-types", "unknown frame type ''", bent('def start(self): self.write(\'{"name":"sample"}\\n\')')
    ),
    "hello-misspelt": Case(
        "framing-known-types",
        "unknown frame type 'helo'; did you mean hello?",
        bent("def start(self): self.send('helo', name='sample')"),
    ),
    "hello-capital-type": Case(
        "framing-known-types", "unknown frame type ''", bent('def start(self): self.write(\'{"Type":"hello"}\\n\')')
    ),
    "hello-python-quotes": Case(
        "framing-only-frames",
        "not JSON: Expecting property name enclosed in double quotes",
        bent("def start(self): self.write(str({'type': 'hello'}) + '\\n')"),
    ),
    # --- while it runs
    "slow-interceptor": Case(
        "interception-answered",
        "interception of tool_call: the answer took 3.",
        bent(
            "def intercepted(self, frame):\n    time.sleep(3 if frame['event'] == 'tool_call' else 0)\n"
            "    super().intercepted(frame)"
        ),
    ),
    "answers-in-a-buffer": Case(
        "framing-flush",
        "the answer to ",
        bent(
            "out = open(1, 'w', buffering=1 << 16, closefd=False)\n"
            "def tool(self, frame):\n"
            "    block = {'type': 'text', 'text': 'x'}\n"
            "    self.out.write(pack({'type': 'tool_result', 'id': frame['id'], 'content': [block]}) + '\\n')"
        ),
    ),
    "answer-misspelt": Case(
        "framing-known-types",
        "unknown frame type 'tool_results'; did you mean tool_result?",
        bent("def tool(self, frame): self.send('tool_results', id=frame['id'], content=[])"),
    ),
    "answer-content-a-string": Case(
        "framing-key-types",
        '"content": expected a list, got a string',
        bent("def tool(self, frame): self.send('tool_result', id=frame['id'], content='x')"),
    ),
    "answer-block-a-string": Case(
        "framing-key-types",
        '"content[0]": expected an object, got a string',
        bent("def tool(self, frame): self.send('tool_result', id=frame['id'], content=['x'])"),
    ),
    "answer-block-not-a-bool": Case(
        "framing-key-types",
        '"block": expected true or false, got a string',
        bent("def intercepted(self, frame): self.send('event_intercept_response', id=frame['id'], block='yes')"),
    ),
    "answer-without-an-id": Case(
        "answers-known-ids",
        "no question had the id ''",
        bent("def tool(self, frame): self.send('tool_result', content=[{'type': 'text', 'text': 'x'}])"),
    ),
    "answer-with-the-models-id": Case(
        "answers-known-ids",
        "no question had the id 'toolu_1'",
        bent(
            "def intercepted(self, frame): self.send('event_intercept_response', id=frame.get('tool_id', frame['id']))"
        ),
    ),
    "crash-in-a-command": Case(
        "commands-answered",
        "/sample: the process ended (status 1): ZeroDivisionError: ",
        bent("def command(self, frame): 1/0"),
    ),
    "crash-in-a-tool": Case(
        "tools-answered",
        "tool echo: the process ended (status 1): ZeroDivisionError: ",
        bent("def tool(self, frame): 1/0"),
    ),
    "crash-in-an-interceptor": Case(
        "interception-answered",
        "interception of tool_call: the process ended (status 1): ZeroDivisionError: ",
        bent("def intercepted(self, frame): 1/0"),
    ),
    "crash-in-an-event": Case(
        "events-survived", "the process ended (status 1): ZeroDivisionError: ", bent("def event(self, frame): 1/0")
    ),
    "crash-in-a-panel": Case(
        "panels-keys", "the process ended (status 1): ZeroDivisionError: ", bent("def panel_key(self, frame): 1/0")
    ),
    "crash-at-shutdown": Case(
        "lifecycle-exit-status",
        "told to end, the process ended (status 1): ZeroDivisionError: ",
        bent("def shutdown(self): 1/0"),
        warns=True,
    ),
    "flood": Case(
        "framing-flood",
        "more than 20000 lines in ",
        bent("def on_ack(self, ack):\n    while True: self.send('notify', level='info', message='again')"),
    ),
    "flood-without-line-feed": Case(
        "framing-size",
        "a line longer than 8 MiB",
        bent("def on_ack(self, ack):\n    self.write('x' * (9 << 20) + '\\n')"),
    ),
    # --- names and schemas
    "command-of-the-host": Case(
        "registration-builtin-command",
        "'help' is the name of a built-in one",
        bent("def register(self):\n    super().register(); self.send('register_command', name='help')"),
    ),
    "tool-of-the-host": Case(
        "registration-builtin-tool",
        "'bash' is the name of a built-in one",
        bent(
            "def register(self):\n    super().register(); self.send('register_tool', name='bash', schema=self.schema)"
        ),
        warns=True,
    ),
    "same-tool-twice": Case(
        "registration-twice",
        "tool 'echo' is registered twice",
        bent(
            "def register(self):\n    super().register(); self.send('register_tool', name='echo', schema=self.schema)"
        ),
    ),
    "same-command-in-capitals": Case(
        "registration-twice",
        "command 'sample' is registered twice",
        bent("def register(self):\n    super().register(); self.send('register_command', name='SAMPLE')"),
    ),
    "sdk-same-command-twice": Case(
        "start-alive",
        ENDED + 'ValueError: command "a" is registered twice, by first (main.py:3) and by second (main.py:5)',
        {
            "extension.json": manifest(exec="{python}"),
            "main.py": "from zot.ext import Extension\next = Extension('sample')\n@ext.command('a')\n"
            "def first(args): ...\n@ext.command('a')\ndef second(args): ...\next.run()\n",
        },
    ),
    "schema-not-an-object": Case(
        "registration-schemas",
        "tool x: the schema is not a JSON object",
        bent("def register(self):\n    super().register(); self.send('register_tool', name='x', schema='object')"),
    ),
    "schema-missing": Case(
        "registration-schemas",
        "tool x: the schema is missing",
        bent("def register(self):\n    super().register(); self.send('register_tool', name='x')"),
    ),
    "schema-required-misplaced": Case(
        "registration-schemas",
        "tool x: schema.properties.a.required is not a list",
        bent(
            "def register(self):\n    super().register(); self.send('register_tool', name='x', schema={'type': "
            "'object', 'properties': {'a': {'type': 'string', 'required': True}}})"
        ),
    ),
    "schema-of-python": Case(
        "registration-schemas",
        "tool x: schema.properties.a.type: 'str' is not a JSON type",
        bent(
            "def register(self):\n    super().register(); self.send('register_tool', name='x', schema={'type': "
            "'object', 'properties': {'a': {'type': 'str'}}})"
        ),
    ),
    "event-misspelt": Case(
        "registration-events", "there is no 'turn_started'", bent("events = ('turn_started',)"), warns=True
    ),
    # --- one thing of a sound extension, bent by a script of broken/
    **{
        name.replace("_", "-"): Case(rule, first, script=name, warns=warns)
        for name, rule, first, warns in (
            ("answers_twice", "answers-once", "a second answer to ", False),
            ("args_as_list", "interception-values", "modified_args is not an object", False),
            ("bad_base64", "tools-images", "tool echo: data is not base64", False),
            ("banner", "handshake-hello-first", "the first line is no frame, not a hello", False),
            ("blank_lines", "framing-no-blank-lines", "an empty line", False),
            ("choosy_interceptor", "interception-odd-input", "interception of tool_call: the process ended ", False),
            ("debug_prints", "framing-only-frames", "text that is not a frame", False),
            ("duplicate_keys", "framing-strict-json", "duplicate key 'action'", False),
            ("empty_result", "tools-content", "tool echo: no content", False),
            ("frames_on_stderr", "framing-stdout", "a frame on stderr", False),
            ("idle_guard", "registration-guard", "it declares a guard and does not intercept tool_call", False),
            ("ignores_shutdown", "lifecycle-shutdown", "still running after 2 s", False),
            ("late_ready", "handshake-ready", "ready came ", False),
            ("latin1", "framing-utf8", "not UTF-8 at byte ", False),
            ("leaves_orphans", "lifecycle-no-orphans", "still running: ", False),
            ("lives_on_without_input", "lifecycle-end-of-input", "still running after 2 s", False),
            ("nan", "framing-strict-json", "NaN is not JSON", False),
            ("no_name", "handshake-hello-name", "hello has no name, the manifest 'sample'", False),
            ("no_newline", "framing-newline", "output without a line feed at its end", False),
            ("numeric_ids", "answers-string-ids", "`id` is not a string", False),
            ("odd_block", "tools-content", "tool echo: unknown block type ", False),
            ("odd_level", "notes-level", "unknown level 'warning'", True),
            ("only_one", "lifecycle-two-at-once", "it did not start: ", False),
            ("other_name", "handshake-hello-name", "hello has the name ", True),
            ("oversize", "framing-size", "a line longer than 8 MiB", False),
            ("pretty_json", "framing-one-line", "a piece of a JSON object", False),
            (
                "registers_before_hello",
                "handshake-hello-first",
                "the first line is a register_command, not a hello",
                False,
            ),
            ("silent_command", "commands-answered", "/sample: no answer within 4 s", False),
            ("silent_interceptor", "interception-answered", "interception of tool_call: no answer within 2 s", False),
            ("silent_tool", "tools-answered", "tool echo: no answer within 8 s", False),
            ("slash_in_name", "registration-command-names", "'/other' cannot be used as a name", False),
            ("tool_with_spaces", "registration-tool-names", "'echo loudly' cannot be used as a name", False),
            ("starts_once", "lifecycle-restart", "it did not start: ", False),
            ("two_hellos", "handshake-hello-once", "a second hello", False),
            ("two_on_a_line", "framing-one-line", "a piece of a JSON object, or several on one line", False),
            ("unknown_action", "commands-action", "/sample: unknown action ", False),
            ("unknown_intercept", "registration-intercept", "there is no ", False),
            ("writes_beside_itself", "lifecycle-clean-directory", "", True),
            ("wrong_ids", "answers-known-ids", "no question had the id ", False),
            ("wrong_payload", "commands-payload", "/sample: action ", False),
        )
    },
}


def make(case: Case, to: Path, python_path: str) -> Path:
    """The extension as a directory."""
    if case.script:
        return install(next(BROKEN.glob(f"{case.script}.*")), to)
    to.mkdir(parents=True)
    for name, data in case.files.items():
        path = to / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = data.replace("{python}", python_path) if isinstance(data, str) else data
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(case.modes.get(name, 0o644))
    for name, target in case.links.items():
        (to / name).symlink_to(target)
    return to
