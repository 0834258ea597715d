"""A small HTTP/1.1 client for streams. Nothing outside `provider` imports it (decision 002)."""
