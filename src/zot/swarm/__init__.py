"""Background workers in their own processes and worktrees, under one supervisor and one budget."""
