"""The conformance kit: plays the host against an extension and says which line of the protocol it breaks.

``kit.check_extension`` is the door; ``checks/`` holds one file per group, ``script_host`` the host that is played.
"""
