"""``zot mcp …``: `serve` starts without what the other commands need, because other agents wait for it."""

from __future__ import annotations

from zot.errors import NotThere, UsageError, ZotError


def run(argv: list[str]) -> int:
    """Run ``zot mcp ARGV`` and return its exit status."""
    if argv[:1] != ["serve"]:
        from zot.cli.verbs import mcp

        return mcp.run(argv)
    from zot.cli.verbs import mcp_serve

    try:
        return mcp_serve.run(argv[1:])
    except NotThere:
        raise
    except UsageError as error:
        raise ZotError(f"{error}; see `zot mcp serve --help`") from error
