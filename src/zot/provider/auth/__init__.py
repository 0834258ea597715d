"""Credentials: where a key comes from and how it is kept. Secrets never leave in a log or an error."""
