"""``zot serve``: the server, its devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zot.cli import flags
from zot.cli.arguments import parse
from zot.cli.verb_table import options
from zot.cli.verbs.mcp_serve import own_switches
from zot.errors import UsageError, ZotError

if TYPE_CHECKING:
    from zot.frontends.serve.access import Access

_COMMANDS = ("devices", "revoke", "stop")
_PORT, _IDLE, _HOST, _LAN, _CERT, _KEY = "--port", "--idle", "--host", "--lan", "--tls-cert", "--tls-key"
_WITH_VALUE = (_PORT, _IDLE, _HOST, _CERT, _KEY)
_QUIET = "--quiet"
_DEFAULT_IDLE = 30.0  # minutes
# Flags that belong to one conversation, or to another mode.
_MODES = "a flag such as -p, --json or --rpc"
_NOT_HERE = ("mode", "session", "session_file", "continue_", "resume", "no_session", "record", "ext_trace", "theme")


def run(argv: list[str]) -> int:
    """Run ``zot serve ARGV`` and return its exit status."""
    if argv and argv[0] in _COMMANDS:
        return _devices(argv[0], argv[1:])
    from zot.system.process_setup import harden_process

    harden_process()
    own, of_run = _split(argv)
    given = flags.parse(of_run, own_switches("serve"))  # a typo may be of either
    if given.prompt:
        raise UsageError(f"zot serve: unexpected {given.prompt.split()[0]!r}; expected devices, revoke or stop")
    if wrong := [name for name in _NOT_HERE if getattr(given, name)]:
        name = _MODES if wrong[0] == "mode" else "--" + wrong[0].strip("_").replace("_", "-")
        raise UsageError(f"zot serve: {name} is for one conversation; clients choose conversations")
    port, idle = _number(_PORT, own.get(_PORT, "0"), 65_535), _number(_IDLE, own.get(_IDLE, f"{_DEFAULT_IDLE}"), 10_000)
    if port != int(port):
        raise UsageError(f'{_PORT} "{own[_PORT]}": expected a whole number')
    _check_network(own)
    from zot.agent.build import working_directory
    from zot.frontends.serve.runner import ServeOptions, run_serve

    return run_serve(
        ServeOptions(
            working_directory(given.cwd),
            of_run,
            int(port),
            idle * 60,
            host=own.get(_HOST, ""),
            lan=_LAN in own,
            tls_cert=own.get(_CERT, ""),
            tls_key=own.get(_KEY, ""),
            quiet=_QUIET in own,
        )
    )


def _split(argv: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The switches of the server, and the flags of a run."""
    own: dict[str, str] = {}
    of_run: list[str] = []
    rest = iter(argv)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument in (_LAN, _QUIET):
            own[name] = "on"
            continue
        if name not in _WITH_VALUE:
            of_run.append(argument)
            continue
        own[name] = value if equals else next(rest, "")
        if not own[name]:
            raise UsageError(f"{name} needs a value")
    return own, of_run


def _check_network(own: dict[str, str]) -> None:
    if _HOST in own and _LAN in own:
        raise UsageError("--lan finds the address itself; pass it or --host")
    if (_CERT in own) != (_KEY in own):
        raise UsageError("--tls-cert and --tls-key belong together")
    if _CERT in own and not (_HOST in own or _LAN in own):
        raise UsageError("--tls-cert is for --host or --lan: this machine is served without TLS")


def _number(name: str, typed: str, most: int) -> float:
    try:
        number = float(typed)
    except ValueError:
        number = -1.0
    if not 0 <= number <= most:
        raise UsageError(f'{name} "{typed}": expected a number from 0 to {most}')
    return number


def _devices(verb: str, argv: list[str]) -> int:
    from zot.frontends.serve.access import Access
    from zot.system.files import zot_home

    access = Access(zot_home())
    if verb == "stop":
        return _stop(argv)
    try:
        if verb == "devices":
            parse(argv, options("serve devices"), most=0)
            return _list(access)
        typed = parse(argv, options("serve revoke"), most=1, what="the name of a device")
    except UsageError as error:
        raise ZotError(f"{error}; see `zot serve {verb} --help`") from error
    return _revoke(access, typed.word(0) or "", all=typed.has("--all"))


def _stop(argv: list[str]) -> int:
    from zot.cli.output import print_notice, print_result
    from zot.frontends.serve.running_server import stop_server
    from zot.system.files import zot_home

    parse(argv, options("serve stop"), most=0)
    if (pid := stop_server(zot_home())) == 0:
        print_notice("zot: zot serve is not running")
    else:
        print_result(f"ended zot serve (process {pid}); its conversations are saved")
    return 0


def _list(access: Access) -> int:
    from zot.cli.output import print_notice, print_result

    devices = access.load().devices
    if not devices:
        print_notice("zot: no devices; `zot serve` prints an address that adds one")
    for device in devices:
        seen = device.seen[:16].replace("T", " ") or "never"
        where = f" from {device.address}" if device.address else ""
        print_result(f"{device.name:<40}  added {device.added[:10]}  seen {seen}{where}")
    return 0


def _revoke(access: Access, name: str, *, all: bool) -> int:
    from zot.cli.output import print_result

    if bool(name) == all:
        raise ZotError("name one device, or pass --all; `zot serve devices` lists them")
    if all:
        count = access.revoke_all()
        print_result(f"revoked {count} device{'' if count == 1 else 's'}, and addresses that were not used")
        return 0
    access.revoke(name)
    print_result(f"revoked {name}; its connections are closed")
    return 0
