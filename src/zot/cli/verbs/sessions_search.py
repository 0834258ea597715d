"""``zot sessions search``: finds words in titles, prompts, answers and tool calls, as ``/sessions`` does."""

from __future__ import annotations

import json

from zot.cli.arguments import ParsedArguments
from zot.cli.output import print_escaped, print_notice, print_result
from zot.core.session.search import MessageExcerpt, search
from zot.core.session.store import SessionStore
from zot.core.session.summary import Summary
from zot.errors import UsageError
from zot.frontends.session_picker import row, shorten

_SNIPPET = 300  # characters


def search_sessions(store: SessionStore, arguments: ParsedArguments) -> int:
    """Print each session that contains all words, newest first; 1 if there is none."""
    typed = " ".join(arguments.words)
    if not typed.strip():
        raise UsageError("search needs words")
    summaries = store.summaries(everywhere=arguments.has("--all"))
    said = {hit.path: hit.said for hit in search([summary.path for summary in summaries], typed, lambda: False)}
    found = 0
    for number, summary in enumerate(summaries, 1):
        if (excerpt := said.get(summary.path) or _in_title(summary, typed)) is not None:
            _print(number, summary, excerpt, as_json=arguments.has("--json"), everywhere=arguments.has("--all"))
            found += 1
    if not found:
        everywhere = "" if arguments.has("--all") else f" in {store.cwd}; --all searches all directories"
        print_notice(f"no session contains {typed!r}{everywhere}")
    return 0 if found else 1


def _in_title(summary: Summary, typed: str) -> MessageExcerpt | None:
    title = summary.title.lower()
    return MessageExcerpt("title", summary.title) if all(word in title for word in typed.lower().split()) else None


def _print(number: int, summary: Summary, excerpt: MessageExcerpt, *, as_json: bool, everywhere: bool) -> None:
    snippet = shorten(" ".join(excerpt.text.split()), _SNIPPET)
    if as_json:
        fields = {"id": summary.id, "parent": summary.parent, "path": summary.path, "cwd": summary.cwd}
        print_escaped(json.dumps({**fields, "title": summary.label, "role": excerpt.role, "snippet": snippet}))
        return
    print_result(row(number, summary) + (f"  ({summary.cwd})" if everywhere else ""))
    print_result(f"     {excerpt.role}: {snippet}")
