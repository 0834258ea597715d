"""Shell commands: parsed with a grammar of bash, split into programs and words, matched with rules."""
