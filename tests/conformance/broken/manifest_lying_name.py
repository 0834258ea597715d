"""The name leads out of the directory."""
# breaks: manifest-name
# manifest: {"name": "../sample", "exec": "python3"}
