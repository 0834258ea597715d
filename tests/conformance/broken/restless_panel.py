"""Continues to draw a closed panel."""
# warns: panels-quiet-after-close

import threading
import time

from good import PANEL, Good


class Broken(Good):
    def panel_close(self, frame):
        threading.Thread(target=self.tick, daemon=True).start()

    def tick(self):
        while True:
            time.sleep(0.25)
            self.send("panel_render", panel_id=PANEL, lines=["tick"])


Broken().run()
