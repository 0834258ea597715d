"""exec is a bare name that is not on PATH."""
# breaks: manifest.exec
# manifest: {"name": "sample", "exec": "zot-no-such-program"}
