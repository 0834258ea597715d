"""A correct extension without an SDK. Each file beside it changes one thing, and names the checks that must fail."""

import json
import sys

PANEL = "sample-panel"


def pack(frame):
    return json.dumps(frame, separators=(",", ":"), ensure_ascii=False)


class Good:
    name = "sample"
    capabilities = ("commands", "tools", "events", "panels", "tool_cancel", "call_tool")
    events = ("session_start", "assistant_message", "turn_end")
    intercept = ("tool_call", "assistant_message")
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}  # noqa: RUF012

    def write(self, text):
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()

    def send(self, type, **keys):
        self.write(pack({"type": type, **keys}) + "\n")

    def start(self):
        self.send("hello", name=self.name, version="1.0.0", capabilities=self.capabilities)

    def register(self):
        self.send("register_command", name="sample", description="opens a panel")
        self.send("register_tool", name="echo", description="Echo a text.", schema=self.schema)
        self.send("subscribe", events=self.events, intercept=self.intercept)

    def on_ack(self, ack):
        pass

    def command(self, frame):
        panel = {"id": PANEL, "title": "Sample", "lines": ["one", "two"]}
        self.send("command_response", id=frame["id"], action="open_panel", open_panel=panel)

    def tool(self, frame):
        text = frame["args"].get("text")
        content = [{"type": "text", "text": text or "say what to echo in `text`"}]
        self.send("tool_result", id=frame["id"], content=content, is_error=not text)

    def intercepted(self, frame):
        self.send("event_intercept_response", id=frame["id"])

    def event(self, frame):
        if frame["event"] == "session_start":
            self.send("notify", level="info", message="here")

    def panel_key(self, frame):
        self.send("panel_render", panel_id=frame["panel_id"], lines=[frame["key"]])

    def panel_close(self, frame):
        pass

    def tool_cancel(self, frame):
        pass

    def shutdown(self):
        self.send("shutdown_ack")
        sys.exit()

    def unknown(self, frame):
        pass

    def handle(self, frame):
        handlers = {
            "hello_ack": self.on_ack,
            "command_invoked": self.command,
            "tool_call": self.tool,
            "event_intercept": self.intercepted,
            "event": self.event,
            "panel_key": self.panel_key,
            "panel_close": self.panel_close,
            "tool_cancel": self.tool_cancel,
            "shutdown": lambda _: self.shutdown(),
        }
        handlers.get(frame["type"], self.unknown)(frame)

    def serve(self):
        for line in sys.stdin.buffer:
            self.handle(json.loads(line))

    def run(self):
        self.start()
        self.register()
        self.send("ready")
        self.serve()


if __name__ == "__main__":
    Good().run()
