"""Redraws a panel that was never opened."""
# warns: panels-ids

from good import Good


class Broken(Good):
    def panel_key(self, frame):
        self.send("panel_render", panel_id="panel-1", lines=[frame["key"]])


Broken().run()
