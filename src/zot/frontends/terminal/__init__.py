"""``zot`` in a terminal: keys in, one ordered stream of events to a screen. Start at ``app.py``."""
