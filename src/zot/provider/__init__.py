"""Clients for model APIs. Packages above this one use no HTTP, SSE or vendor JSON."""
