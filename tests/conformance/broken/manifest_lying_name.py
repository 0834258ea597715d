"""The name leads out of the directory."""
# breaks: manifest.valid
# manifest: {"name": "../sample", "exec": "python3"}
