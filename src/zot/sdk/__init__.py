"""The in-process Python API."""
