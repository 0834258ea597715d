"""Prompt templates: Markdown files in ``commands/``, used as ``/name``."""
