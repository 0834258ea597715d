"""POSIX platform code: processes, files, locks."""
