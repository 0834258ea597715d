"""``make try``: a scratch project with a failing test, and zot asked to mend it.

Uses the key or local server it finds; without either, the scripted model answers and the output says so. The
only thing this changes is the scratch directory, which is left for you to look at.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PROMPT = "The tests in this directory fail. Find out why, fix the code (not the tests), and run them again."

CODE = '''\
def discounted(price: float, percent: float) -> float:
    """The price after a discount."""
    return price + price * percent / 100
'''

TEST = """\
import unittest

from prices import discounted


class Discounts(unittest.TestCase):
    def test_ten_percent_off(self):
        self.assertEqual(discounted(50, 10), 45)

    def test_nothing_off(self):
        self.assertEqual(discounted(50, 0), 50)
"""


def main() -> int:
    scratch = Path(tempfile.mkdtemp(prefix="zot-try-"))
    (scratch / "prices.py").write_text(CODE, encoding="utf-8")
    (scratch / "test_prices.py").write_text(TEST, encoding="utf-8")
    say(f"a project with a failing test: {scratch}")
    who, flags = choose_model()
    say(f"answering: {who}")
    say(f"running: zot --stream {' '.join(flags)} {PROMPT!r}\n")
    zot = [sys.executable, "-m", "zot", "--stream", "--cwd", str(scratch), *flags, PROMPT]
    code = subprocess.run(zot, stdin=subprocess.DEVNULL).returncode
    return verdict(scratch) if code == 0 else code


def choose_model() -> tuple[str, list[str]]:
    """The first of: a provider with a key in the environment, a model server on this machine, the script."""
    from zot.provider.providers import builtin_providers

    for provider in builtin_providers().values():
        variable = next((name for name in provider.env if os.environ.get(name)), "")
        if variable and provider.default_model:
            return f"{provider.id}, with the key in {variable}", ["--provider", provider.id]
    if local := local_server():
        provider, model = local
        return f"{model} on your {provider} server", ["--provider", provider, "--model", model]
    return (
        "the scripted model (no key and no local server found): its answers are written down beforehand,\n"
        "    the tools and the session are real",
        ["--provider", "script", "--script", str(HERE / "script.json")],
    )


def local_server() -> tuple[str, str] | None:
    from zot.provider.discovery import find_local_servers
    from zot.provider.http.pool import HttpPool

    async def look() -> tuple[str, str] | None:
        pool = HttpPool()
        try:
            for server in await find_local_servers(pool, timeout=0.5):
                if server.models:
                    return server.provider, server.models[0]
            return None
        finally:
            await pool.aclose()

    return asyncio.run(look())


def verdict(scratch: Path) -> int:
    tests = subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=scratch, capture_output=True, text=True)
    passed = tests.returncode == 0
    print()
    say("the tests pass now" if passed else "the tests still fail; small models often need another try")
    say(f"look around: cat {scratch}/prices.py; cd {scratch} && {Path(sys.executable).parent}/zot sessions")
    return 0 if passed else 1


def say(text: str) -> None:
    print(f"==> {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
