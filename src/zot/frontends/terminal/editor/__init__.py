"""The editor: typed text becomes ``Submitted``. Start at ``editor.py``."""
