"""Claude Code hooks: commands that run on events of a conversation."""
