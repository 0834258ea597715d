"""Wants to intercept what can only be watched."""
# breaks: registration-intercept

from good import Good


class Broken(Good):
    intercept = ("tool_result",)


Broken().run()
