"""From argv to a mode: verbs first, then flags, then the mode they ask for. Modes load behind this door.

Every expected failure ends here as one ``zot:`` line on stderr and exit code 1; 2 is for something named by hand that
is not there.
"""

from __future__ import annotations

import sys

from zot.cli.flags import Flags, parse
from zot.errors import NotThere, UsageError, ZotError, in_words
from zot.system.gc_pause import rest
from zot.system.process_setup import claim, open_missing_streams

TYPE_CHECKING = False  # importing `typing` for it would cost more than all of this
if TYPE_CHECKING:
    from typing import NoReturn

VERBS = {
    "auth": "zot.cli.verbs.auth",
    "completions": "zot.cli.verbs.completions",
    "cost": "zot.cli.verbs.cost",
    "docs": "zot.cli.verbs.docs",
    "doctor": "zot.cli.verbs.doctor",
    "ext": "zot.cli.verbs.ext.dispatch",
    "jail": "zot.cli.verbs.jail",
    "local": "zot.local_model.cli.main",
    "mcp": "zot.cli.verbs.mcp",
    "hooks": "zot.cli.verbs.hooks",
    "plugin": "zot.cli.verbs.plugin",
    "replay": "zot.devkit.cli.replay",
    "report": "zot.devkit.cli.report",
    "sessions": "zot.cli.verbs.sessions",
    "swarm": "zot.swarm.cli.main",
    "update": "zot.cli.verbs.update",
}

# First words that have, or will have, a meaning of their own: never taken for a prompt.
RESERVED = (
    *("telegram-bot", "tg", "matrix-bot", "mx", "continuous"),
    *("run", "pack", "inspect", "verify"),
)


def run(argv: list[str]) -> int:
    """The exit code of one command line."""
    try:
        if sys.stdout is None and argv[:1] != ["rpc"]:  # pyright: ignore[reportUnnecessaryComparison]  `zot >&-`
            _fail_to_write()
        code = _dispatch(argv)
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]  `zot rpc >&-` has none
            sys.stdout.flush()  # what cannot be written is told here, not by Python while it shuts down
        return code
    except NotThere as error:
        return _fail(str(error), 2)
    except UsageError as error:
        verb = f" {argv[0]}" if argv and argv[0] in (*VERBS, "rpc") else ""
        return _fail(f"{error} (see zot{verb} --help)")
    except ZotError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _silence_stdout()
        return 141
    except OSError as error:
        return _refused_by_the_system(error)
    except ExceptionGroup as group:
        return _refused_by_the_system(_only_os_error(group))


def _fail_to_write() -> None:
    """A stream that cannot be written, in place of none: printing to it is an error like any other."""
    import os

    open_missing_streams(os.O_RDONLY)
    sys.stdout = os.fdopen(1, "w", closefd=False)


def _dispatch(argv: list[str]) -> int:
    word = argv[0] if argv else ""
    if word in VERBS:
        return 0 if _helped(argv) else _verb(word, argv[1:])
    if word in RESERVED:
        raise ZotError(f"`zot {word}` is not available in this version")
    if word == "help" and (len(argv) == 1 or argv[1] in (*VERBS, "rpc")):  # `zot help me …` is a prompt
        argv = [*argv[1:3], "--help"]
        return _dispatch(argv)
    if argv[:2] == ["rpc", "--config-fd"] and len(argv) == 3:  # a worker of a swarm: not for people, in no help
        rest()
        claim()
        return _rpc(argv[2])
    if word == "rpc":
        flags = parse(["--rpc", *argv[1:]])
        return 0 if flags.help and _helped(argv) else _flags(flags)
    return _flags(parse(argv))


def _helped(argv: list[str]) -> bool:
    """Whether a page was asked for, and shown."""
    if argv[0] != "rpc" and not {"-h", "--help", "help"} & set(argv):
        return False  # the table is for those who ask
    from zot.cli.verb_help import page_asked_for

    text = page_asked_for(argv)
    sys.stdout.write(text)
    return bool(text)


def _verb(word: str, argv: list[str]) -> int:
    from importlib import import_module

    return import_module(VERBS[word]).run(argv)


def _flags(flags: Flags) -> int:
    if flags.help:
        from zot.cli.help import write_help

        write_help(sys.stdout)
        return 0
    if flags.version:
        from zot import __version__

        print(f"zot {__version__}")
        return 0
    if flags.list_models:
        from zot.cli.list_models import run as list_models

        return list_models()
    return _mode(flags)


def _mode(flags: Flags) -> int:
    if flags.theme:
        from zot.cli.named_theme import check

        check(flags)
    rest()
    claim()
    if flags.mode == "rpc":
        return _rpc(flags)
    import os

    from zot.frontends.console import is_piped

    open_missing_streams(os.O_RDONLY)
    mode = flags.mode or ("print" if is_piped() else "")
    if mode:
        from zot.frontends.headless.runner import run_headless

        leave(run_headless(flags, mode))
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        raise ZotError('the interactive mode needs a terminal; for pipes and files use zot -p "PROMPT"')
    from zot.frontends.terminal.lifecycle import run as run_interactive

    return run_interactive(flags)


def _rpc(given: Flags | str) -> int:
    """``given`` are flags, or the descriptor of a worker's configuration."""
    from zot.frontends.rpc.early_ping import EarlyDoor, heed_signals

    open_missing_streams()
    heed_signals()
    door = EarlyDoor()
    door.open()
    # Imported after the door is open: it answers pings meanwhile.
    from zot.frontends.rpc.runner import run_rpc, run_worker

    return run_worker(given, door) if isinstance(given, str) else run_rpc(given, door)


def leave(code: int) -> NoReturn:
    """End now: everything is closed, and taking the interpreter apart module by module would only cost time."""
    import os

    if "zot.system.processes" in sys.modules:
        from zot.system.processes import kill_all

        kill_all()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # pyright: ignore[reportUnnecessaryComparison]  `zot >&-` has none
            stream.flush()
    os._exit(code)


def _fail(text: str, code: int = 1) -> int:
    from zot.frontends.console import say

    say(text)
    return code


def _refused_by_the_system(error: OSError) -> int:
    """A disk, a limit or a device: told by the file, or else by the part of zot that could not go on."""
    if isinstance(error, FileNotFoundError) and _directory_is_gone():
        return _fail("the directory zot was started in is gone; change to one that is there, or name one with --cwd")
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    module = str(innermost.tb_frame.f_globals.get("__name__", "")) if innermost is not None else ""
    if error.filename is not None:
        return _fail(in_words(error))
    if ".cli." in module:  # what happens there is printing
        _silence_stdout()
        return _fail(f"cannot write to stdout: {in_words(error)}")
    return _fail(f"cannot go on: {in_words(error)} ({module})")


def _directory_is_gone() -> bool:
    import os

    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _only_os_error(group: ExceptionGroup[Exception]) -> OSError:
    """The first of what tasks side by side met; anything but an OSError is a mistake of ours, and raised."""
    if group.split(OSError)[1] is not None:
        raise group
    first: Exception = group.exceptions[0]
    # pyright loses the type of a group it has narrowed to
    return _only_os_error(first) if isinstance(first, ExceptionGroup) else first  # pyright: ignore


def _silence_stdout() -> None:
    """Python would complain about the closed pipe again while it shuts down."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
