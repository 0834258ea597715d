"""``zot`` in a terminal: keys in, one ordered stream of events out to a screen. ``app.py`` is the table of contents."""
