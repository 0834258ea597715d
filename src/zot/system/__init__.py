"""The platform seam: everything POSIX-only, and how files are written so that nothing is lost."""
