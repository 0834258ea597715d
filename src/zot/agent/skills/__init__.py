"""Skills: discovery, frontmatter and the manifest the model sees."""
