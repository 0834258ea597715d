"""Credentials: lookup, storage and OAuth. Logs and errors never contain secrets."""
