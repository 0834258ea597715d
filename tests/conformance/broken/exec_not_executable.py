"""The script lacks its executable bit."""
# breaks: exec-executable
# manifest: {"name": "sample", "exec": "./main.py"}
