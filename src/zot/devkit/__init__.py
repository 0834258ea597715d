"""The conformance kit: plays the host against an extension and says which line of the protocol it breaks.

``kit.check_extension`` is the door; ``checks/`` holds one file per part of the protocol, ``script_host`` the host that
is played. ``trace`` and ``replay`` use the same host. No run of zot imports any of it.
"""
