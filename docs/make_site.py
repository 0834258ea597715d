"""Builds the documentation site of this version into ``site/VERSION``: run it with ``make docs``.

Broken links and pages that are missing from the navigation of ``zensical.toml`` fail the build. ``site/versions.json``
lists all versions in ``site/`` for the selector of the page, newest first; ``site/index.html`` leads to the newest.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from zot import __version__

ROOT = Path(__file__).parents[1]
SITE = ROOT / "site"
BUILD = SITE / "build"  # `site_dir` of zensical.toml
INDEX = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}/"><a href="{0}/">{0}</a>\n'


def main() -> int:
    shutil.rmtree(BUILD, ignore_errors=True)
    if subprocess.run([sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=ROOT).returncode:
        print("the site was not built: fix the links above", file=sys.stderr)
        return 1
    for program in BUILD.glob("make_*.py"):
        program.unlink()
    shutil.rmtree(SITE / __version__, ignore_errors=True)
    BUILD.rename(SITE / __version__)
    write_versions(SITE)
    print(f"built {(SITE / __version__).relative_to(ROOT)}/index.html")
    return 0


def write_versions(site: Path) -> None:
    """The list that the version selector reads, in the format of mike."""
    found = sorted((path.name for path in site.iterdir() if path.is_dir()), key=_sort_key, reverse=True)
    rows = [{"version": name, "title": name, "aliases": ["latest"] * (name == found[0])} for name in found]
    (site / "versions.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    (site / "index.html").write_text(INDEX.format(found[0]), "utf-8")


def _sort_key(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


if __name__ == "__main__":
    sys.exit(main())
