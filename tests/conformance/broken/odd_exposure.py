"""Uses an unknown exposure value."""
# breaks: registration-tool-options

from good import Good


class Broken(Good):
    def register(self):
        super().register()
        self.send("register_tool", name="other", schema=self.schema, exposure="sideways")


Broken().run()
