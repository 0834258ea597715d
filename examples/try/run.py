"""``make try``: zot fixes a failing test in a scratch project, with a model on this machine.

The first run downloads the runtime and the small model; later ones start at once. ``PROVIDER=… MODEL=…`` selects
another model. If no model can be downloaded, it plays the recorded demonstration, labelled as such. It runs the test
to check the fix. It changes only the scratch directory, which it keeps for the user.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib.util
import itertools
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from screen import TERMINAL, Watching, changed_lines, command, dim, green, quote, red, say, tell

HERE = Path(__file__).parent
PROJECT = HERE / "project"
RUNTIME = HERE.parent.parent / "requirements" / "local.txt"
PROMPT = "The tests in this directory fail. Find out why, fix the code (not the tests), and run them again."
ZOT = (sys.executable, "-m", "zot")
SMALL = ["--provider", "local", "--model", "small"]
RECORDED = ["--provider", "script", "--script", str(HERE / "script.json")]


def main() -> int:
    asked = arguments()
    if asked.provider:
        flags = ["--provider", asked.provider, *(["--model", asked.model] if asked.model else [])]
        return until_fixed(f"{asked.model or 'the default model'} of {asked.provider}", flags)
    if missing := without_model():
        return play_recording(missing)
    return until_fixed("a small model that runs on this machine (no key, no network)", SMALL)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make try", description="zot fixes a failing test in a scratch project.")
    parser.add_argument("--provider", default="", help="a provider as zot knows it, in place of the local model")
    parser.add_argument("--model", default="", help="its model")
    return parser.parse_args()


def without_model() -> str:
    """Why there is no local model to run; empty when there is one. What is missing is fetched."""
    if importlib.util.find_spec("xllamacpp") is None:
        say("fetching the runtime of local models, about 34 MB")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--retries", "1"]
        if subprocess.run([*pip, "--timeout", "10", "-r", str(RUNTIME)]).returncode != 0:
            return "the runtime of local models could not be fetched"
    listed = subprocess.run([*ZOT, "local", "list", "--json"], capture_output=True, check=True)
    if any(model["name"] == "small" and model["path"] for model in json.loads(listed.stdout)["models"]):
        return ""
    say("fetching a small model, once")
    done = subprocess.run([*ZOT, "local", "install", "small"])
    return "" if done.returncode == 0 else "the model could not be fetched"


def until_fixed(who: str, flags: list[str]) -> int:
    while not attempt(who, flags):
        if not (TERMINAL and sys.stdin.isatty()):
            tell("Small models do not always manage. Try again: make try")
            return 1
        if input("    Small models do not always manage. Try again? [Y/n] ").strip().lower() not in ("", "y", "yes"):
            return 1
    tell("Now in a project of your own:")
    command(f"{Path(sys.executable).parent / 'zot'} {' '.join(flags)}")
    tell("It is good for small jobs like this one. With a key or a login (zot auth login) zot does the big ones.")
    return 0


def play_recording(missing: str) -> int:
    say(red(f"{missing}: is there no network?"))
    tell(
        "What follows is RECORDED: the answers were written down beforehand; the tools, files and tests are real. "
        "With a network, `make try` lets a real model do the work."
    )
    attempt("the recording", RECORDED)
    tell(red("This was the recorded demonstration: no model was asked."))
    return 0


def attempt(who: str, flags: list[str]) -> bool:
    """Whether the test passes afterwards."""
    jailed = subprocess.run([*ZOT, "jail", "--check"], capture_output=True).returncode == 0
    scratch = new_project(jailed)
    say(f"zot is asked to fix it. Answering: {who}{', in the jail' if jailed else ''}")
    flags = [*flags, *(["--jail"] if jailed else [])]
    command(f"zot {' '.join(flags)} {shlex.quote(PROMPT)}")
    print()
    started = time.monotonic()
    watching = watch([*flags, "--cwd", str(scratch), PROMPT])
    return verdict(scratch, jailed, watching, time.monotonic() - started)


def watch(flags: list[str]) -> Watching:
    argv = [*ZOT, "--json", *flags]
    with Watching() as watching, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as zot:
        assert zot.stdout is not None
        for line in zot.stdout:
            watching.show(line)
    return watching


def new_directory() -> Path:
    """Numbered: a small model reads the name in every traceback, and letters drawn by lot make it see other things."""
    places = (Path(tempfile.gettempdir(), f"zot-try-{number}") for number in itertools.count(1))
    return next(place for place in places if _made(place))


def _made(place: Path) -> bool:
    with contextlib.suppress(FileExistsError):
        place.mkdir(mode=0o700)
        return True
    return False


def new_project(jailed: bool) -> Path:
    scratch = new_directory()
    for file in PROJECT.glob("*.py"):
        shutil.copy(file, scratch)
    say(f"a scratch project with a failing test: {scratch}")
    quote((PROJECT / "prices.py").read_text("utf-8").splitlines())
    said = run_tests(scratch, jailed).stderr.splitlines()
    command("python3 -m unittest")
    quote(red(line) for line in said if line.startswith(("FAIL:", "AssertionError", "FAILED")))
    return scratch


def run_tests(scratch: Path, jailed: bool) -> subprocess.CompletedProcess[str]:
    """Run the original tests, since changing them fixes nothing, and in the jail, since a model wrote the rest."""
    shutil.copy(PROJECT / "test_prices.py", scratch)
    argv = [*([*ZOT, "jail", "--"] if jailed else []), "python3", "-B", "-m", "unittest"]
    return subprocess.run(argv, cwd=scratch, capture_output=True, text=True, errors="replace")


def verdict(scratch: Path, jailed: bool, watching: Watching, seconds: float) -> bool:
    before, after = ((place / "prices.py").read_text("utf-8").splitlines() for place in (PROJECT, scratch))
    print()
    if diff := list(difflib.unified_diff(before, after, "before/prices.py", "after/prices.py", lineterm="", n=1)):
        say("what was changed")
        quote(changed_lines(diff))
    tests = run_tests(scratch, jailed)
    fixed = tests.returncode == 0
    say(green("fixed: the tests pass now") if fixed else red("not fixed: the tests still fail"))
    quote(dim(line) for line in tests.stderr.strip().splitlines()[-3:] if line)
    read, written = watching.tokens
    tell(f"{watching.turns} turns, {seconds:.0f} s, {read:,} tokens read, {written:,} written; kept in {scratch}")
    return fixed


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
