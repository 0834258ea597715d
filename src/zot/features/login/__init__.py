"""Logging in, for whoever asks the person: ``/login``, ``zot auth`` and the page in the browser."""
