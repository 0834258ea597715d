"""The extension host."""
