"""Exports a conversation as Markdown or as a self-contained HTML page."""
