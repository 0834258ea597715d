"""What is on the screen: when it is painted, in which colours, and the rows of the conversation."""
