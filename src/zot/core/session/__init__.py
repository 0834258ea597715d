"""Sessions on disk: append-only JSONL is the truth, everything else can be rebuilt from it."""
