"""Subscribes to intercept an event that can only be observed."""
# breaks: registration-intercept

from good import Good


class Broken(Good):
    intercept = ("tool_result",)


Broken().run()
