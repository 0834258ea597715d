"""What a permission mode has to know about zot's own tools, and the rules a person keeps for a project."""
