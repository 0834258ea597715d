"""Talks to models. Nothing above this package knows HTTP, SSE or a vendor's JSON."""
