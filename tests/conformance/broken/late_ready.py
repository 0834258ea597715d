"""Keeps the start waiting for more than three seconds."""
# breaks: handshake.ready

import time

from good import Good


class Broken(Good):
    def register(self):
        super().register()
        for _ in range(17):
            time.sleep(0.2)
            self.send("clear_notes")


Broken().run()
