"""A type that does not exist."""
# breaks: registration-schemas

from good import Good


class Broken(Good):
    schema = {"type": "object", "properties": {"text": {"type": "text"}}, "required": "text"}  # noqa: RUF012


Broken().run()
