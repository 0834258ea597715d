"""Clients for model APIs. No package above this one knows HTTP, SSE or the JSON of a vendor."""
