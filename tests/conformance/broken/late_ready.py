"""Delays the start for more than three seconds."""
# breaks: handshake-ready

import time

from good import Good


class Broken(Good):
    def register(self):
        super().register()
        for _ in range(68):
            time.sleep(0.05)  # never the 250 ms of silence that would count as ready
            self.send("clear_notes")


Broken().run()
