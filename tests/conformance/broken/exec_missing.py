"""exec is a bare name that is not on PATH."""
# breaks: exec-found
# manifest: {"name": "sample", "exec": "zot-no-such-program"}
