"""Prompt templates: Markdown files in ``commands/`` that a slash and their name turn into a prompt."""
