"""Where zot keeps its files: ``ZOT_HOME``, else ``$XDG_STATE_HOME/zot``, else the platform's place."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def zot_home() -> Path:
    """The directory, absolute and not created; whoever writes there makes it 0700."""
    if explicit := os.environ.get("ZOT_HOME"):
        return Path(explicit).expanduser().absolute()
    if state := os.environ.get("XDG_STATE_HOME"):
        return Path(state).absolute() / "zot"
    home = os.path.expanduser("~")
    if home == "~":
        return Path(".zot").absolute()
    if sys.platform == "darwin":
        return Path(home) / "Library" / "Application Support" / "zot"
    return Path(home) / ".local" / "state" / "zot"
