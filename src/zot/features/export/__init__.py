"""A conversation as a page for people: Markdown, or HTML that needs nothing but itself."""
