"""The reference pages of the SDKs and client libraries: every public name, from its source."""

from generate.api import go, python, typescript

__all__ = ["go", "python", "typescript"]
