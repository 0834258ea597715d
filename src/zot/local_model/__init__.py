"""A model on this machine: downloaded weights and a server that zot processes share.

Only the server's process imports the runtime (``server_process``).
"""
