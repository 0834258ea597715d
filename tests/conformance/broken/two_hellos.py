"""Sends hello again after the acknowledgement."""
# breaks: handshake-hello-once

from good import Good


class Broken(Good):
    def on_ack(self, ack):
        self.start()


Broken().run()
