"""Prints a banner before its hello."""
# breaks: handshake-hello-first framing-only-frames

from good import Good


class Broken(Good):
    def start(self):
        print("sample 1.0 starting", flush=True)
        super().start()


Broken().run()
