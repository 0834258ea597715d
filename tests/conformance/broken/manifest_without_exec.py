"""The manifest has no exec."""
# breaks: manifest-no-exec
# manifest: {"name": "sample"}
