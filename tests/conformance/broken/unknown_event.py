"""Subscribes to an event that never comes."""
# warns: registration-events

from good import Good


class Broken(Good):
    events = ("turn_finished",)


Broken().run()
