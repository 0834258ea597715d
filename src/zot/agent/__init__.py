"""The product: tools, skills, settings and modes are wired together here."""
