"""Logins for ``/login``, ``zot auth`` and the browser page."""
