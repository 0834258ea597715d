"""Session files: append-only JSONL; everything else can be rebuilt from it."""
