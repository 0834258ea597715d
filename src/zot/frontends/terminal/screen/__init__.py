"""The screen: when to paint, colours, and the rows of the conversation."""
