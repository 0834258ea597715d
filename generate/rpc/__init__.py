"""Made from the structs of the RPC wire: its schema, the reference page, the types of the client libraries."""

from generate.rpc import go, python, reference, shapes, typescript

__all__ = ["go", "python", "reference", "shapes", "typescript"]
