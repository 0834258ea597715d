"""``zot hooks …``: lists hooks and what each runs, and trusts those of a project or of Claude Code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from zot.cli.arguments import ParsedArguments, parse, verb_of
from zot.cli.output import print_escaped, print_notice, print_result
from zot.cli.verb_table import options
from zot.errors import NotThere, UsageError, ZotError
from zot.features.hooks.config import HookSource, load
from zot.features.trust import TrustStore
from zot.frontends.hook_states import hook_state
from zot.system.files import zot_home


class HooksContext:
    """Services shared by all ``zot hooks`` commands: the hooks of the user and the current directory."""

    def __init__(self) -> None:
        self.home, self.cwd = zot_home(), Path.cwd()
        self.trust = TrustStore(self.home)
        self.problems: list[str] = []
        self.sources = load(self.home, self.cwd, self.problems)

    def state(self, source: HookSource) -> str:
        return hook_state(self.trust, source)

    def named(self, words: tuple[str, ...] | list[str]) -> list[HookSource]:
        """The hooks of the named files; without names all that need trust."""
        if not words:
            return [source for source in self.sources if source.needs_trust]
        found: list[HookSource] = []
        for word in words:
            hits = [source for source in self.sources if word in (source.name, source.file)]
            if not hits:
                there = ", ".join(source.name for source in self.sources) or "none"
                raise NotThere(f'no hooks in "{word}"; files with hooks: {there}')
            found += hits
        return found


def run(argv: list[str]) -> int:
    """Run ``zot hooks ARGV`` and return its exit status."""
    verb, rest = verb_of("hooks", argv, _VERBS)
    command, most = _VERBS[verb]
    try:
        arguments = parse(rest, options(f"hooks {verb}"), least=0, most=most, what="FILE")
    except UsageError as error:
        raise ZotError(f"{error}; see `zot hooks {verb} --help`") from error
    context = HooksContext()
    for problem in context.problems:
        print_notice(f"zot: {problem}")
    return command(context, arguments)


def _list(context: HooksContext, arguments: ParsedArguments) -> int:
    if arguments.has("--json"):
        rows = [
            {"file": source.file, "origin": source.origin, "state": context.state(source), "event": hook.event}
            | {"matcher": hook.matcher, "command": hook.command, "timeout": hook.timeout_s}
            | {"async": hook.is_async, "strict": hook.strict}
            for source in context.sources
            for hook in source.hooks
        ]
        print_escaped(json.dumps({"hooks": rows}))
        return 0
    if not context.sources:
        print_notice("no hooks found in hooks.json of the zot home, .zot/hooks.json and Claude Code's settings files")
    for source in context.sources:
        print_result(f"{source.name}: {context.state(source)}")
        for hook in source.hooks:
            print_result(f"  {hook.shown()}")
        for line in source.covered().lines() if source.needs_trust else ():
            print_result(f"  {line}")
    return 0


def _trust(context: HooksContext, arguments: ParsedArguments) -> int:
    wanted = context.named(arguments.words)
    for source in wanted:
        if not source.needs_trust:
            print_notice(f"{source.name} is your own and needs no trust")
            continue
        if unreadable := source.covered().unreadable():
            raise ZotError(f"{source.name} cannot be trusted: cannot read {', '.join(unreadable)}")
        context.trust.trust(source.project, "hooks", source.name, source.content())
        print_notice(f"trusted in its current state: {source.name}")
        for line in (*(hook.shown() for hook in source.hooks), *source.covered().lines()):
            print_notice(f"  {line}")
    if not wanted:
        print_notice("no hooks need trust")
    return 0


def _untrust(context: HooksContext, arguments: ParsedArguments) -> int:
    for source in context.named(arguments.words):
        known = context.trust.untrust(source.project, "hooks", source.name)
        print_notice(f"{source.name}: trust revoked" if known else f"{source.name} was not trusted")
    return 0


_Command = Callable[[HooksContext, ParsedArguments], int]
_VERBS: dict[str, tuple[_Command, int | None]] = {
    "list": (_list, 0),
    "trust": (_trust, None),
    "untrust": (_untrust, None),
}
