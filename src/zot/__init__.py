"""zot, a coding agent for the terminal. Importing this package does no work."""

__version__ = "0.2.0"
