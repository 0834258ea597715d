"""The editor: what the user types becomes ``Submitted``. ``editor.py`` is the door; the rest is behind it."""
