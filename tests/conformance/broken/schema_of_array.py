"""A schema that is no object."""
# breaks: registration-schemas

from good import Good


class Broken(Good):
    schema = {"type": "array", "items": {"type": "string"}}  # noqa: RUF012


Broken().run()
