"""A model that runs on this machine: weights that are fetched once, and a server of our own that zot processes share.

Nothing here is imported by a run that talks to somebody else, and nothing here imports the runtime: that is done in
the server's process alone (``serving``).
"""
