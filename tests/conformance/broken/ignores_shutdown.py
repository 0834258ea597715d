"""Acknowledges and stays."""
# breaks: lifecycle-shutdown lifecycle-end-of-input

import time

from good import Good


class Broken(Good):
    def shutdown(self):
        self.send("shutdown_ack")

    def run(self):
        super().run()
        time.sleep(60)


Broken().run()
