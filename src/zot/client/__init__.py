"""Drives `zot rpc` from Python."""
