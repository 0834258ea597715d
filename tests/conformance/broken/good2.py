"""A correct extension of the second edition without an SDK; ``tests/conformance/second_corpus.py`` bends it."""

import json
import sys

from good import Good


class Second(Good):
    capabilities = (*Good.capabilities, "edition2")
    events2 = ("idle", "bus")
    intercept2 = ("input", "context", "tool_result", "session_before")
    models = ({"id": "small", "context_window": 8000},)
    names = 0

    def __init__(self):
        self.features, self.count, self.waiting, self.work = (), 0, {}, {}

    # --- sending

    def ask(self, method, params, parent, then):
        self.count += 1
        self.send("request", id=f"r{self.count}", method=method, params=params, parent_id=parent)
        self.waiting[f"r{self.count}"] = then

    def contribute(self, kind, name, feature, **value):
        if feature in self.features:
            self.send("contribute", id=f"c-{kind}-{name}", kind=kind, name=name, value=value)

    def progress(self, id, text, fraction):
        if "progress" in self.features:
            self.send("progress", id=id, text=text, fraction=fraction)

    def result(self, id, text, error=False):
        self.work.pop(id, None)
        self.send("tool_result", id=id, content=[{"type": "text", "text": text}], is_error=error)

    # --- registration

    def on_ack(self, ack):
        self.features = ack.get("features", ())
        self.register()
        self.send("ready")

    def register(self):
        super().register()
        self.send("register_tool", name="deploy", description="Deploys.", schema={"type": "object"})
        self.send("register_command", name="pick", description="asks")
        if "intercept2" in self.features:
            self.send("subscribe", events=self.events2, intercept=self.intercept2)
        self.contribute("status", "env", "surfaces", line="idle")
        self.contribute("key", "toggle", "keys", keys=["ctrl+alt+p"], description="plan mode")
        self.contribute("completion", "issues", "completion", triggers=["#"])
        self.contribute("provider", "corp", "providers", stream=True, models=list(self.models), key={"login": True})

    def run(self):
        self.start()
        self.serve()

    # --- questions of zot

    def tool(self, frame):
        if frame["name"] != "deploy":
            super().tool(frame)
            return
        self.work[frame["id"]] = frame
        if "dialogs" in self.features:
            self.confirm(frame["id"], lambda yes: self.deploy(frame["id"]) if yes else self.refuse(frame["id"]))
        else:
            self.deploy(frame["id"])

    def confirm(self, id, then):
        params = {"kind": "confirm", "title": "Deploy?", "default": False}
        self.ask("ui.ask", params, id, lambda frame: then((frame.get("result") or {}).get("value") is True))

    def refuse(self, id):
        self.result(id, "the user said no", error=True)

    def deploy(self, id):
        self.contribute("status", "env", "surfaces", line="deploying")
        self.progress(id, "build", 0.5)
        self.progress(id, "push", 1)
        self.contribute("status", "env", "surfaces", line="idle")
        self.result(id, "deployed")

    def command(self, frame):
        if frame["name"] != "pick" or "dialogs" not in self.features:
            super().command(frame)
            return
        self.work[frame["id"]] = frame
        params = {"kind": "select", "title": "Which?", "options": [{"value": "a"}, {"value": "b"}]}
        self.ask("ui.ask", params, frame["id"], lambda answer: self.picked(frame["id"], answer))

    def picked(self, id, frame):
        self.work.pop(id, None)
        chosen = (frame.get("result") or {}).get("value")
        self.send("command_response", id=id, action="display" if chosen else "noop", display=chosen or "")

    def intercepted(self, frame):
        data, id = frame.get("data") or {}, frame["id"]
        if frame["event"] == "input":
            self.decide(id, value={"text": data["text"] + "!"} if data["text"] else None)
        elif frame["event"] == "context":
            self.decide(id, value={"drop": [message["entry_id"] for message in data["messages"][:1]]})
        elif frame["event"] == "session_before" and "dialogs" in self.features:
            self.work[id] = frame
            self.confirm(id, lambda yes: self.decide(id, block=not yes))
        else:
            self.decide(id)

    def decide(self, id, **keys):
        self.work.pop(id, None)
        self.send("event_intercept_response", id=id, **keys)

    # --- requests

    def request(self, frame):
        methods = {
            "key": lambda _: {"action": "noop"},
            "complete": lambda _: {"items": [{"value": "#1"}]},
            "state.save": lambda _: {"state": 1},
            "provider.renew": lambda _: {"access": "b"},
        }
        if frame["method"] == "provider.stream":
            self.stream(frame)
        elif frame["method"] in methods:
            self.respond(frame["id"], methods[frame["method"]](frame))
        else:
            self.unknown_request(frame)

    def respond(self, id, result):
        self.send("response", id=id, result=result)

    def fail(self, id, code):
        self.send("response", id=id, error={"code": code, "message": code})

    def unknown_request(self, frame):
        self.fail(frame["id"], "unknown_method")

    def emit(self, id, **event):
        self.send("progress", id=id, data={"events": [event]})

    def stream(self, frame):
        if frame["params"]["model"] not in [model["id"] for model in self.models]:
            self.fail(frame["id"], "not_found")
            return
        self.emit(frame["id"], text="hello")
        self.emit(frame["id"], tool_start={"id": "t", "name": "read"})
        self.emit(frame["id"], tool_args={"id": "t", "delta": "{}"})
        self.emit(frame["id"], tool_end={"id": "t"})
        self.respond(frame["id"], {"stop": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}})

    def response(self, frame):
        if then := self.waiting.pop(frame["id"], None):
            then(frame)

    def cancel(self, frame):
        asked = self.work.pop(frame["id"], None)
        if asked is None:
            return
        self.waiting.clear()
        if asked["type"] == "tool_call":
            self.result(frame["id"], "cancelled", error=True)
        elif asked["type"] == "command_invoked":
            self.send("command_response", id=frame["id"], action="noop", error="cancelled")
        else:
            self.decide(frame["id"], block=True, reason="cancelled")

    def handle(self, frame):
        handlers = {"request": self.request, "response": self.response, "cancel": self.cancel}
        handlers.get(frame["type"], super().handle)(frame)

    def serve(self):
        for line in sys.stdin.buffer:
            self.handle(json.loads(line))


if __name__ == "__main__":
    Second().run()
