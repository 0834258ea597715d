"""``python -m zot.system.jail.cleanup ROOT…``: run by the watching shell after a jailed zot was killed."""

from __future__ import annotations

import sys

from zot.system.jail.git_config import named_paths
from zot.system.jail.policy import PROTECTED
from zot.system.jail.protected_paths import sweep


def main() -> None:
    for root in sys.argv[1:]:
        sweep(root, (*PROTECTED, *named_paths(root)))


if __name__ == "__main__":
    main()
