"""The extension host: `host` is its face, `loading` says what a run has, `process` keeps one extension going."""
