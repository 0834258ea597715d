"""The jail: what a command may touch, held by the operating system. ``policy`` says it, ``jail`` starts commands."""
