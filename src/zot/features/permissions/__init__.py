"""Permissions: call classification, saved answers, plan mode."""
