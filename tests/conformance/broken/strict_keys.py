"""Rejects frames with unknown keys."""
# breaks: input-unknown-keys

from good import Good


class Broken(Good):
    def handle(self, frame):
        if frame["type"] == "event_intercept" and "zot_other" in frame:
            raise ValueError("unexpected key")
        super().handle(frame)


Broken().run()
