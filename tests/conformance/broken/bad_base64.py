"""An image as a data URL."""
# breaks: tools-images

from good import Good


class Broken(Good):
    def tool(self, frame):
        image = {"type": "image", "mime_type": "image/png", "data": "data:image/png;base64,AAAA"}
        self.send("tool_result", id=frame["id"], content=[image])


Broken().run()
