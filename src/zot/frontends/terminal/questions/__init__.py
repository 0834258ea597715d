"""Dialogs of the model's questions and plans."""
