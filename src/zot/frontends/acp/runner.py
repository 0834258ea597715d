"""``zot acp``: serves one editor on stdin and stdout."""

from __future__ import annotations

import asyncio
import signal
import sys

from zot.agent.config import RunConfig
from zot.frontends.acp.server import AcpServer
from zot.frontends.console import EXIT_CODES, print_notice, run_loop
from zot.system.process_setup import resume_gc


def run_acp(config: RunConfig, early: bytes, capabilities: object) -> int:
    """Returns the exit code. Nothing but messages may reach stdout: what a library prints goes to stderr."""
    sys.stdout = sys.stderr
    return run_loop(_serve(config, early, capabilities))


async def _serve(config: RunConfig, early: bytes, capabilities: object) -> int:
    server, code = AcpServer(config, early, capabilities), 0

    def stop(number: signal.Signals) -> None:
        nonlocal code
        code = EXIT_CODES[number]
        server.end()

    loop = asyncio.get_running_loop()
    for number in EXIT_CODES:
        loop.add_signal_handler(number, stop, number)
    resume_gc()
    if reason := await server.run():
        print_notice(reason)
        return code or 1
    return code
