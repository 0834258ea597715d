"""A tool name no provider accepts."""
# breaks: registration-tool-names

from good import Good


class Broken(Good):
    def register(self):
        super().register()
        self.send("register_tool", name="echo loudly", description="", schema=self.schema)


Broken().run()
