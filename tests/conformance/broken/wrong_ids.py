"""Loses the zeros of an id."""
# breaks: answers-known-ids

from good import Good


class Broken(Good):
    def tool(self, frame):
        super().tool({**frame, "id": frame["id"].lstrip("0")})


Broken().run()
