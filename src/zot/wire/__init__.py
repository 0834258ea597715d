"""Frames of the extension protocol and of RPC: the single source of the wire formats."""
