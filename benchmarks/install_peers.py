"""``make peers``: other agents' command lines, at the versions named here, into ``.cache/peers`` and nowhere else.

Each has a directory of its own named after its version, so a new pin is a new directory, and a mark in it once it is
whole. No package's install scripts are run. Only ``make peers`` downloads them; no test and no CI job does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).parent.parent / ".cache" / "peers"


def npm(package: str, directory: Path) -> list[list[str]]:
    quiet = ["--ignore-scripts", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--no-update-notifier"]
    return [["npm", "install", "--prefix", str(directory), *quiet, "--progress=true", package]]


def pip(package: str, directory: Path) -> list[list[str]]:
    install = [str(directory / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
    return [[sys.executable, "-m", "venv", str(directory)], [*install, "--progress-bar", "on", package]]


@dataclass(frozen=True)
class Peer:
    name: str
    version: str
    package: str
    needs: str  # the command that must be there to install it
    steps: Callable[[str, Path], list[list[str]]]
    executable: str  # a pattern below its directory
    megabytes: int

    @property
    def directory(self) -> Path:
        return CACHE / f"{self.name}-{self.version}"

    @property
    def whole(self) -> Path:
        return self.directory / ".whole"

    @property
    def command(self) -> Path | None:
        """The program to start, None when it is not installed."""
        return next(self.directory.glob(self.executable), None) if self.whole.exists() else None


# The binary itself: the script in front of it starts Node first, which would only flatter us.
_CODEX = "node_modules/@openai/codex-*/vendor/*/bin/codex"

CODEX = Peer("codex", "0.166.0", "@openai/codex@0.166.0", "npm", npm, _CODEX, 440)
# For `make first-hour`; `make bench` compares with the version that the README names.
CODEX_NEXT = Peer("codex", "0.169.0", "@openai/codex@0.169.0", "npm", npm, _CODEX, 440)
_CLAUDE = "node_modules/@anthropic-ai/claude-code-*/claude"
CLAUDE_CODE = Peer("claude-code", "2.1.328", "@anthropic-ai/claude-code@2.1.328", "npm", npm, _CLAUDE, 360)
# The newest under this name, which runs on Node 20; its successor's newest release asks for Node 22.
PI = Peer("pi", "0.73.1", "@mariozechner/pi-coding-agent@0.73.1", "npm", npm, "node_modules/.bin/pi", 210)
LLM = Peer("llm", "0.36", "llm==0.36", sys.executable, pip, "bin/llm", 85)
PEERS = (CODEX, PI, LLM)
FIRST_HOUR = (CLAUDE_CODE, CODEX_NEXT)


def install(peer: Peer) -> None:
    if peer.command:
        print(f"==> {peer.name} {peer.version} is here", flush=True)
        return
    if not shutil.which(peer.needs):
        print(f"==> {peer.name} skipped, there is no {peer.needs}", flush=True)
        return
    print(f"==> installing {peer.name} {peer.version} into .cache/peers, about {peer.megabytes} MB", flush=True)
    peer.directory.mkdir(parents=True, exist_ok=True)
    for step in peer.steps(peer.package, peer.directory):
        subprocess.run(step, check=True)
    peer.whole.touch()
    if not peer.command:
        sys.exit(f"peers: {peer.name} {peer.version} came without {peer.executable}; is this platform one of its own?")


def main() -> None:
    for peer in (*PEERS, *FIRST_HOUR):
        try:
            install(peer)
        except subprocess.CalledProcessError as error:
            sys.exit(f"peers: {peer.name} {peer.version}: {error}")
    print("==> `make bench ONLY=peers` and `make first-hour` compare zot with them")


if __name__ == "__main__":
    main()
