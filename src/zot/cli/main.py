"""Dispatches argv to a verb or a mode. Expected errors become one ``zot:`` line and exit code 1 (2: not found)."""

from __future__ import annotations

import sys

from zot.cli.flags import NO_SCHEMA, Flags, UnknownFlag, parse
from zot.errors import NotThere, OutputFailed, UsageError, ZotError, describe_error
from zot.system.process_setup import harden_process, open_missing_streams, pause_gc

TYPE_CHECKING = False  # importing `typing` takes longer than this module
if TYPE_CHECKING:
    from typing import NoReturn


VERBS = {
    "acp": "zot.cli.verbs.acp",
    "auth": "zot.cli.verbs.auth",
    "completions": "zot.cli.verbs.completions",
    "cost": "zot.cli.verbs.cost",
    "docs": "zot.cli.verbs.docs",
    "doctor": "zot.cli.verbs.doctor",
    "ext": "zot.cli.verbs.ext.dispatch",
    "jail": "zot.cli.verbs.jail",
    "local": "zot.local_model.cli.main",
    "mcp": "zot.cli.verbs.mcp_dispatch",
    "models": "zot.cli.verbs.models",
    "hooks": "zot.cli.verbs.hooks",
    "permissions": "zot.cli.verbs.permissions",
    "plugin": "zot.cli.verbs.plugin",
    "replay": "zot.devkit.cli.replay",
    "report": "zot.devkit.cli.report",
    "serve": "zot.cli.verbs.serve",
    "attach": "zot.cli.verbs.attach",
    "sessions": "zot.cli.verbs.sessions",
    "swarm": "zot.swarm.cli.main",
    "update": "zot.cli.verbs.update",
}
_NEARLY = 0.75  # likeness of a mistyped verb: "sesions", "auht", "swam"; not "code", "tests"


def run(argv: list[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        if sys.stdout is None and argv[:1] != ["rpc"]:  # pyright: ignore[reportUnnecessaryComparison]  `zot >&-`
            import os

            open_missing_streams(os.O_RDONLY)  # printing to it fails like any other write
            sys.stdout = os.fdopen(1, "w", closefd=False)
        code = _dispatch(argv)
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]  `zot rpc >&-` has none
            sys.stdout.flush()  # report write errors here, not by Python during shutdown
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _silence_stdout()
        return 141
    except (ZotError, OSError, ExceptionGroup) as error:
        from zot.frontends.console import print_notice

        text = _explain(error, argv)
        code = 2 if isinstance(error, NotThere) else 1
        print_notice(text)
        if isinstance(error, OutputFailed) or not _is_json_run(argv):
            return code
        from zot.frontends.headless.json_mode import write_failure

        return write_failure(text, code)


def _dispatch(argv: list[str]) -> int:
    word = argv[0] if argv else ""
    if word in VERBS:
        if _helped(argv):
            return 0
        from importlib import import_module

        return import_module(VERBS[word]).run(argv[1:])
    if argv == ["help", "all"]:
        return _flags(parse(["--help-all"]))
    if word == "help" and (len(argv) == 1 or argv[1] in (*VERBS, "rpc")):  # `zot help me …` is a prompt
        argv = [*argv[1:3], "--help"]
        return _dispatch(argv)
    if argv[:2] == ["rpc", "--config-fd"] and len(argv) == 3:  # a swarm worker: internal, not in the help
        pause_gc()
        harden_process()
        return _rpc(argv[2])
    if word == "rpc":
        flags = _parse(["--rpc", *argv[1:]])
        return 0 if flags.help and _helped(argv) else _flags(flags)
    return _flags(_parse(argv))


def _parse(argv: list[str]) -> Flags:
    try:
        return parse(argv)
    except UnknownFlag:
        from zot.cli.extension_flags import parse_with_extensions  # most command lines have none

        return parse_with_extensions(argv)


def _helped(argv: list[str]) -> bool:
    """Print the requested help page; False if none is requested."""
    if argv[0] != "rpc" and not {"-h", "--help", "help"} & set(argv):
        return False  # the table is needed only for help
    from zot.cli.help import write_page_asked_for

    return write_page_asked_for(argv, sys.stdout)


def _flags(flags: Flags) -> int:
    if flags.help or flags.help_all:
        from zot.cli.help import write_help

        write_help(sys.stdout, all=flags.help_all)
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
        _check_theme(flags)
    pause_gc()
    harden_process()
    if flags.mode == "rpc":
        return _rpc(flags)
    import os

    from zot.frontends.console import is_piped

    open_missing_streams(os.O_RDONLY)
    mode = flags.mode or ("print" if is_piped() else "")
    if mode:
        from zot.frontends.headless.runner import run_headless

        config = flags.config(patient_with_ext=True)
        leave(run_headless(config, mode, flags.prompt, stats=flags.stats, resume=flags.resume))
    if flags.output_schema:
        raise UsageError(NO_SCHEMA)
    _check_verb(flags.prompt)
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        raise ZotError('the interactive mode requires a terminal; for pipes and files use zot -p "PROMPT"')
    from zot.frontends.terminal.lifecycle import run
    from zot.frontends.terminal.options import TerminalOptions

    return run(
        TerminalOptions(
            create_config=flags.config,
            cwd=flags.cwd,
            prompt=flags.prompt,
            theme=flags.theme,
            keep_session=not flags.no_session,
            resume=flags.resume and not flags.session and not flags.continue_,
        )
    )


def _check_verb(prompt: str) -> None:
    """Raise UsageError for one word that is nearly a verb, also before one of that verb's own (``mpc list``)."""
    word, _, rest = prompt.partition(" ")
    if not word.isalpha():
        return
    from zot.errors import closest

    known, following = (*VERBS, "rpc", "help"), rest.split()[:1]
    if following:  # a prompt, unless the second word is a verb of the first
        meant = [f"{near} {following[0]}" for near in closest(word, known, count=3)]
        meant = [path for path in meant if _has_verb(path)]
    else:
        meant = closest(word, known, count=1, likeness=_NEARLY)
    if meant:
        raise UsageError(f'unknown command "{prompt}"; did you mean zot {meant[0]}? Type it inside zot to send it')


def _has_verb(path: str) -> bool:
    from zot.cli.verb_table import VERBS as TABLE

    return any(verb.path == path for verb in TABLE)


def _check_theme(flags: Flags) -> None:
    """Raise NotThere if --theme names no theme; reads extensions only if no other theme has the name."""
    from zot.frontends.themes import Themes
    from zot.system.files import zot_home

    home = zot_home()
    if Themes(home).has(flags.theme):
        return
    from pathlib import Path

    from zot.agent.build import working_directory
    from zot.features.extensions.loader.discovery import discover
    from zot.features.extensions.loader.extension_trust import ExtensionTrust

    themes = Themes(
        home,
        discover(
            explicit=[Path(path) for path in flags.ext],
            cwd=working_directory(flags.cwd),
            home=home,
            scan=not flags.no_ext,
            trust=ExtensionTrust(home),
            trust_project=flags.trust_project,
        ).entries,
    )
    if not themes.has(flags.theme):
        names = ", ".join(choice.label for choice in themes.choices())
        raise NotThere(f"--theme {flags.theme}: no such theme; use one of {names}, or the path of a .json file")


def _rpc(given: Flags | str) -> int:
    """``given``: flags, or the descriptor of a worker's configuration."""
    from zot.frontends.rpc.early_ping import EarlyPingServer, exit_on_signal

    open_missing_streams()
    exit_on_signal()
    pings = EarlyPingServer()
    pings.open()
    # Imported afterwards: the server answers pings meanwhile.
    from zot.frontends.rpc.runner import run_rpc, run_worker

    if isinstance(given, str):
        return run_worker(given, pings)
    # Sessions are off unless one is named.
    keep = not given.no_session and bool(given.session or given.session_file or given.continue_)
    return run_rpc(given.config(keep_session=keep), pings)


def leave(code: int) -> NoReturn:
    """Exit at once: everything is closed, and interpreter shutdown would only take time."""
    import os

    if "zot.system.processes" in sys.modules:
        from zot.system.processes import kill_all

        kill_all()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # pyright: ignore[reportUnnecessaryComparison]  `zot >&-` has none
            stream.flush()
    os._exit(code)


def _is_json_run(argv: list[str]) -> bool:
    """True if the command line has --json, even if other flags are wrong."""
    if argv and argv[0] in (*VERBS, "rpc"):
        return False
    try:
        flags = _parse(argv)
    except UsageError:
        return "--json" in argv
    return flags.mode == "json" and not (flags.help or flags.version or flags.list_models)


def _explain(error: ZotError | OSError | ExceptionGroup[Exception], argv: list[str]) -> str:
    """The error in one line, without the program name."""
    if isinstance(error, ExceptionGroup):
        return _explain_os_error(_only_os_error(error))
    if isinstance(error, OSError):
        return _explain_os_error(error)
    if isinstance(error, UsageError) and not isinstance(error, NotThere):
        verb = f" {argv[0]}" if argv and argv[0] in (*VERBS, "rpc") else ""
        return f"{error} (see zot{verb} --help)"
    return str(error)


def _explain_os_error(error: OSError) -> str:
    """A disk, limit or device error: names the file, or else the module that failed."""
    if isinstance(error, FileNotFoundError) and _directory_is_gone():
        return "the current directory no longer exists; change to another one, or pass --cwd DIR"
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    module = str(innermost.tb_frame.f_globals.get("__name__", "")) if innermost is not None else ""
    if error.filename is not None:
        return describe_error(error)
    if ".cli." in module:  # only printing happens there
        _silence_stdout()
        return f"cannot write to stdout: {describe_error(error)}"
    return f"cannot continue: {describe_error(error)} ({module})"


def _directory_is_gone() -> bool:
    import os

    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _only_os_error(group: ExceptionGroup[Exception]) -> OSError:
    """The first error of a task group; anything but an OSError is a bug and is raised."""
    if group.split(OSError)[1] is not None:
        raise group
    first: Exception = group.exceptions[0]
    # pyright loses the type of a group it has narrowed to
    return _only_os_error(first) if isinstance(first, ExceptionGroup) else first  # pyright: ignore


def _silence_stdout() -> None:
    """Otherwise Python reports the closed pipe again at shutdown."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
