"""Ends before hello."""
# breaks: handshake.starts

raise SystemExit("no configuration found")
