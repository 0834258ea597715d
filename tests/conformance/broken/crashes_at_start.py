"""Ends before hello."""
# breaks: start-alive

raise SystemExit("no configuration found")
