"""File contents before the agent changed them, for ``/rewind`` and ``/diff``."""
