"""The conversation, how it is built, settings and built-in tools."""
