"""Greets people before it greets the host."""
# breaks: handshake-hello-first framing-only-frames

from good import Good


class Broken(Good):
    def start(self):
        print("sample 1.0 starting", flush=True)
        super().start()


Broken().run()
