"""The script lacks its executable bit."""
# breaks: manifest.exec
# manifest: {"name": "sample", "exec": "./main.py"}
