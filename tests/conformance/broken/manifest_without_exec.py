"""The manifest has no exec."""
# breaks: manifest.valid
# manifest: {"name": "sample"}
