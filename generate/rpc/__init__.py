"""Generated from the structs of the RPC wire: schema, reference page, client types."""

from generate.rpc import go, python, reference, shapes, typescript

__all__ = ["go", "python", "reference", "shapes", "typescript"]
