"""Faults of extensions of the second edition: each bends ``broken/good2.py`` in one place, and names what must fail."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import NamedTuple

from zot.devkit.conformance.second_edition import Less

BROKEN = Path(__file__).parent / "broken"
USES = ("ui", "dialogs", "input", "context", "results", "session.hold", "keys", "editor", "provider")


class Fault(NamedTuple):
    """``evidence`` begins the finding; ``body`` is that of a subclass; ``also`` fails as its consequence."""

    check: str
    evidence: str
    body: str = ""
    uses: tuple[str, ...] = USES
    manifest: dict[str, object] = {}  # noqa: RUF012  a constant
    warns: bool = False
    also: tuple[str, ...] = ()
    less: Less = Less()


_TOOL = """
    def tool(self, frame):
        if frame["name"] == "deploy":
            {}
        else:
            super().tool(frame)
"""


def _deploy(*lines: str) -> str:
    return _TOOL.format("\n            ".join(lines))


FAULTS: dict[str, Fault] = {
    # --- compat
    "contributes-before-the-greeting": Fault(
        "compat-no-new-frames",
        "contribute to a zot whose hello_ack has no features",
        """
    def on_ack(self, ack):
        super().on_ack(ack)
        if not self.features:
            self.send("contribute", kind="title", name="title", value={"text": "x"})
""",
    ),
    "observes-late-events-everywhere": Fault(
        "compat-no-new-frames", "subscribe to 'idle'", 'events = (*Good.events, "idle")'
    ),
    "only-contributes": Fault(
        "compat-registrations",
        "command 'modern' is not there",
        """
    def register(self):
        super().register()
        self.contribute("command", "modern", "contribute", description="only here")
""",
    ),
    "needs-dialogs": Fault(
        "compat-features",
        "without dialogs: it did not start",
        """
    def on_ack(self, ack):
        if ack.get("features") and "dialogs" not in ack["features"]:
            sys.exit(1)
        super().on_ack(ack)
""",
    ),
    "needs-a-screen": Fault(
        "compat-modes",
        "mode ",
        """
    def on_ack(self, ack):
        if ack.get("mode", "terminal") != "terminal":
            sys.exit(1)
        super().on_ack(ack)
""",
        less=Less(modes=True),
    ),
    # --- requests
    "reuses-ids": Fault(
        "requests-well-formed",
        "a request with the id 'r1' a second time",
        """
    def ask(self, *args):
        self.count = 0
        super().ask(*args)
""",
        also=("requests-matched",),
    ),
    "request-without-method": Fault(
        "requests-well-formed",
        "a request with no method",
        """
    def on_ack(self, ack):
        super().on_ack(ack)
        if self.features:
            self.send("request", id="x", method="")
""",
    ),
    "asks-after-its-answer": Fault(
        "requests-parent",
        "session.append belongs to the tool deploy, which is already answered",
        _deploy(
            'self.result(frame["id"], "deployed")',
            'if "session" in self.features:',
            '    self.ask("session.append", {"type": "t"}, frame["id"], lambda _: None)',
        ),
    ),
    "asks-without-parent": Fault(
        "requests-parent",
        "a dialog without parent_id while the ",
        """
    def ask(self, method, params, parent, then):
        super().ask(method, params, "", then)
""",
        warns=True,
    ),
    "ignores-completions": Fault(
        "requests-answered",
        "request complete: no answer",
        """
    def request(self, frame):
        if frame["method"] != "complete":
            super().request(frame)
""",
        also=("contributions-conflicts", "compat-features"),
    ),
    "completes-with-a-list": Fault(
        "requests-answered",
        "complete: the result has no items",
        """
    def request(self, frame):
        if frame["method"] == "complete":
            self.respond(frame["id"], ["#1"])
        else:
            super().request(frame)
""",
    ),
    "invents-methods": Fault(
        "requests-unknown-method",
        "the answer is a result",
        """
    def unknown_request(self, frame):
        self.respond(frame["id"], {})
""",
        also=(),
    ),
    "silent-about-methods": Fault(
        "requests-unknown-method",
        "request zot.future: no answer",
        """
    def unknown_request(self, frame):
        pass
""",
    ),
    "ignores-cancel": Fault(
        "requests-cancel",
        "the cancelled ",
        """
    def cancel(self, frame):
        pass

    def response(self, frame):
        if (frame.get("error") or {}).get("code") != "cancelled":
            super().response(frame)
""",
    ),
    "answers-twice-after-cancel": Fault(
        "answers-once",
        "a second answer to ",
        """
    def cancel(self, frame):
        asked = self.work.get(frame["id"])
        super().cancel(frame)
        if asked and asked["type"] == "tool_call":
            self.result(frame["id"], "cancelled again", error=True)
""",
    ),
    "takes-the-next-response": Fault(
        "requests-matched",
        "the response to the ",
        """
    def response(self, frame):
        if frame["id"] in self.waiting:
            self.waiting.pop(next(iter(self.waiting)))(frame)
""",
        also=("framing-key-types",),
    ),
    "dies-of-late-responses": Fault(
        "requests-harmless",
        "",
        """
    def response(self, frame):
        if frame["id"] == "zot-never-asked":
            sys.exit(1)
        super().response(frame)
""",
    ),
    # --- progress
    "goes-back": Fault(
        "progress-fraction",
        "0.2 after 0.7",
        _deploy(
            'self.progress(frame["id"], "a", 0.7)', 'self.progress(frame["id"], "b", 0.2)', 'self.deploy(frame["id"])'
        ),
    ),
    "counts-in-percent": Fault(
        "progress-fraction",
        "a fraction of 50",
        _deploy('self.progress(frame["id"], "a", 50)', 'self.result(frame["id"], "done")'),
    ),
    "reports-after-the-answer": Fault(
        "progress-open",
        "progress of the tool deploy after its answer",
        _deploy('self.result(frame["id"], "done")', 'self.progress(frame["id"], "more", 1)'),
    ),
    "tells-everything": Fault(
        "progress-text",
        "a text of several lines",
        _deploy('self.progress(frame["id"], "one\\ntwo", 1)', 'self.result(frame["id"], "done")'),
    ),
    "floods-content": Fault(
        "progress-pace",
        "21 frames within ",
        _deploy(
            'for number in range(40 if "progress" in self.features else 0):',
            '    self.send("progress", id=frame["id"], content=[{"type": "text", "text": str(number)}])',
            'self.result(frame["id"], "done")',
        ),
        warns=True,
    ),
    # --- dialogs
    "selects-from-nothing": Fault(
        "dialogs-parameters",
        "options: expected 1 to 1000",
        """
    def confirm(self, id, then):
        params = {"kind": "select", "title": "Which?"}
        self.ask("ui.ask", params, id, lambda frame: then((frame.get("result") or {}).get("value") is not None))
""",
    ),
    "asks-for-a-password": Fault(
        "dialogs-secret",
        "it asks for 'Password'",
        """
    def confirm(self, id, then):
        params = {"kind": "input", "title": "Password"}
        self.ask("ui.ask", params, id, lambda frame: then(bool((frame.get("result") or {}).get("value"))))
""",
        warns=True,
    ),
    "waits-for-a-yes": Fault(
        "dialogs-answered",
        "",
        """
    def confirm(self, id, then):
        super().confirm(id, lambda yes: then(yes) if yes else None)
""",
        also=("requests-harmless",),
    ),
    "guards-only-with-a-user": Fault(
        "dialogs-guard",
        "the interception of session_before did not block without a user",
        """
    def confirm(self, id, then):
        params = {"kind": "confirm", "title": "Go on?"}
        self.ask("ui.ask", params, id, lambda frame: then((frame.get("result") or {"value": True}).get("value", False)))
""",
    ),
    # --- contributions
    "unknown-kind": Fault(
        "contributions-values",
        "statuss env: unknown kind; did you mean status?",
        """
    def register(self):
        super().register()
        self.contribute("statuss", "env", "surfaces", line="x")
""",
    ),
    "status-without-line": Fault(
        "contributions-values",
        "status other: value.line: missing",
        """
    def register(self):
        super().register()
        self.contribute("status", "other", "surfaces", text="x")
""",
    ),
    "dies-of-a-conflict": Fault(
        "contributions-conflicts",
        "with conflicts: ",
        """
    def response(self, frame):
        if (frame.get("error") or {}).get("code") == "conflict":
            sys.exit(1)
        super().response(frame)
""",
    ),
    "leaves-a-status-per-call": Fault(
        "contributions-surfaces",
        "",
        """
    def deploy(self, id):
        self.contribute("status", f"call-{id}", "surfaces", line="deploying")
        super().deploy(id)
""",
    ),
    "names-by-chance": Fault(
        "contributions-names",
        "status ",
        """
    def register(self):
        super().register()
        self.contribute("status", f"p{id(self)}-{os.getpid()}", "surfaces", line="x")
""",
    ),
    # --- interceptions
    "silent-about-context": Fault(
        "intercept2-answered",
        "interception of context: no answer",
        """
    def intercepted(self, frame):
        if frame["event"] != "context":
            super().intercepted(frame)
""",
    ),
    "needs-messages": Fault(
        "intercept2-odd-data",
        "interception of context: ",
        """
    def intercepted(self, frame):
        if frame["event"] == "context":
            frame["data"]["messages"][0]
        super().intercepted(frame)
""",
    ),
    "number-as-text": Fault(
        "intercept2-values",
        "input: value.text is not a string",
        """
    def intercepted(self, frame):
        if frame["event"] == "input":
            self.decide(frame["id"], value={"text": 7})
        else:
            super().intercepted(frame)
""",
    ),
    "misspelt-value": Fault(
        "intercept2-values",
        "tool_result: value has no 'contents'; did you mean 'content'?",
        """
    def intercepted(self, frame):
        if frame["event"] == "tool_result":
            self.decide(frame["id"], value={"contents": []})
        else:
            super().intercepted(frame)
""",
    ),
    "drops-strange-entries": Fault(
        "intercept2-entries",
        "drop: there is no entry '0'",
        """
    def intercepted(self, frame):
        if frame["event"] == "context":
            self.decide(frame["id"], value={"drop": ["0"]})
        else:
            super().intercepted(frame)
""",
    ),
    "speaks-for-the-model": Fault(
        "intercept2-entries",
        "insert: a message of role 'assistant'; expected user",
        """
    def intercepted(self, frame):
        if frame["event"] == "context":
            message = {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}
            self.decide(frame["id"], value={"insert": [{"after": "", "message": message}]})
        else:
            super().intercepted(frame)
""",
    ),
    "guard-that-acts": Fault(
        "intercept2-guard",
        "handled in an answer about input",
        """
    capabilities = (*Second.capabilities, "guard")

    def register(self):
        self.features = [name for name in self.features if name != "providers"]
        super().register()

    def intercepted(self, frame):
        if frame["event"] == "input":
            self.decide(frame["id"], handled=True)
        else:
            super().intercepted(frame)
""",
        uses=tuple(word for word in USES if word != "provider"),
        manifest={"guard": True, "provides": {}},
    ),
    # --- provider
    "model-without-window": Fault(
        "provider-models", "the model 'small' has no context_window", 'models = ({"id": "small"},)'
    ),
    "provider-without-a-name": Fault(
        "provider-named",
        "'corp' is not in provides.providers",
        manifest={"provides": {}},
        warns=True,
    ),
    "arguments-without-a-call": Fault(
        "provider-order",
        "tool_args of 't' without tool_start",
        """
    def emit(self, id, **event):
        if "tool_start" not in event and "tool_end" not in event:
            super().emit(id, **event)
""",
    ),
    "stream-without-usage": Fault(
        "provider-result",
        "usage without input_tokens",
        """
    def respond(self, id, result):
        super().respond(id, {key: value for key, value in result.items() if key != "usage"})
""",
    ),
    "any-model-will-do": Fault(
        "provider-error",
        "an unknown model was answered without an error",
        """
    def stream(self, frame):
        frame["params"]["model"] = "small"
        super().stream(frame)
""",
    ),
    "streams-on": Fault(
        "provider-cancel",
        "the cancelled stream: no answer",
        """
    streams = 0

    def stream(self, frame):
        self.streams += 1
        if self.streams < 3:
            super().stream(frame)
        else:
            self.emit(frame["id"], text="hello")
""",
    ),
    "renews-nothing": Fault(
        "provider-renewal",
        "the answer is no credential object",
        """
    def request(self, frame):
        if frame["method"] == "provider.renew":
            self.respond(frame["id"], "b")
        else:
            super().request(frame)
""",
    ),
    # --- uses
    "undeclared-word": Fault(
        "uses-declared",
        'ui.ask needs "dialogs", which is not in uses',
        uses=tuple(word for word in USES if word != "dialogs"),
    ),
    "unused-word": Fault("uses-needed", '"exec" was not used in any run', uses=(*USES, "exec"), warns=True),
    "dies-when-denied": Fault(
        "uses-denied",
        "denied dialogs: ",
        """
    def response(self, frame):
        if (frame.get("error") or {}).get("code") == "denied":
            sys.exit(1)
        super().response(frame)
""",
        less=Less(denied=("dialogs",)),
    ),
}


def make(fault: Fault, to: Path) -> Path:
    """The extension as a directory."""
    to.mkdir(parents=True)
    for name in ("good.py", "good2.py"):
        shutil.copy(BROKEN / name, to / name)
    body = fault.body if "\n" in fault.body else f"\n    {fault.body or 'pass'}\n"
    imports = "import os\nimport sys\n\nfrom good import Good\nfrom good2 import Second\n"
    program = f"{imports}\n\nclass Broken(Second):{body}\n\nBroken().run()\n"
    (to / "main.py").write_text(program)
    started = {"name": "sample", "exec": "python3", "args": ["main.py"]}
    manifest = {**started, "uses": list(fault.uses), "provides": {"providers": ["corp"]}, **fault.manifest}
    (to / "extension.json").write_text(json.dumps(manifest))
    return to
