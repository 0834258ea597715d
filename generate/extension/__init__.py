"""Generated from the frames of the extension wire: schemas, golden frames, reference page, SDK types."""

from generate.extension import go, golden_frames, python, reference, second_edition, shapes, typescript

__all__ = ["go", "golden_frames", "python", "reference", "second_edition", "shapes", "typescript"]
