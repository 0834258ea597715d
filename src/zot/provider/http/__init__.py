"""HTTP/1.1 client for streams. Only `provider` imports it (decision 002)."""
