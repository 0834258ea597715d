"""Made from the frames of the extension wire: schemas, golden frames, the reference page, the types of the SDKs."""

from generate.extension import go, golden_frames, python, reference, shapes, typescript

__all__ = ["go", "golden_frames", "python", "reference", "shapes", "typescript"]
