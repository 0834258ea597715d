"""Dialogs: one file each, opened with ``app.dialogs.ask``. The contract and the stack are in ``dialog.py``."""
