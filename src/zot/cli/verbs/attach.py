"""``zot attach``: join a running conversation from this terminal."""

from __future__ import annotations

import os

from zot.cli.arguments import parse
from zot.cli.verb_table import options
from zot.errors import UsageError, ZotError


def run(argv: list[str]) -> int:
    """Run ``zot attach ARGV`` and return its exit status."""
    try:
        typed = parse(argv, options("attach"), most=2, what="an address or a conversation")
    except UsageError as error:
        raise ZotError(f"{error}; see `zot attach --help`") from error
    words = [word for word in (typed.word(0), typed.word(1)) if word]
    address = words.pop(0) if words and "://" in words[0] else ""
    if len(words) > 1:
        raise UsageError(f"zot attach: unexpected {words[1]!r}; name one conversation")
    name = words[0] if words else ""
    if typed.has("--list"):
        if address or name:
            raise UsageError("zot attach --list takes no other argument: it lists the conversations of this machine")
        return _list()
    from zot.frontends.serve.attach import AttachOptions, run_attach

    directory = typed.values.get("--cwd") or ("" if address else os.getcwd())
    options_ = AttachOptions(address=address, conversation=name, directory=directory, watch=typed.has("--watch"))
    return run_attach(options_)


def _list() -> int:
    from zot.cli.output import print_notice, print_result
    from zot.frontends.serve.attach import running_conversations
    from zot.system.files import zot_home

    found = running_conversations(zot_home())
    if not found:
        print_notice("zot: no conversation is running; `zot attach new` starts one, /serve in a zot shares its own")
    for each in found:
        count = len(each.clients)
        state = "waits for an answer" if each.waiting else "works" if each.busy else "idle"
        clients = f"{count} client{'' if count == 1 else 's'}"
        print_result(f"{each.conversation}  {state:<19}  {clients:<10}  {each.cwd}  {each.title[:60]}".rstrip())
    return 0
