"""Writes the generated files, or with ``--check`` fails when one is stale. One line per file in FILES."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from generate import acp_registry, api, extension, jail, man_page, rpc, rules, user_pages
from generate.models import page as models
from generate.page import check_page
from zot.cli.verbs import completions
from zot.frontends.docs_index import check_index

ROOT = Path(__file__).parent.parent
FILES: dict[str, Callable[[], str]] = {
    "docs/reference/command-line.md": user_pages.command_line,
    "docs/reference/settings.md": user_pages.settings,
    "docs/reference/slash-commands.md": user_pages.slash_commands,
    "docs/reference/models.md": models.page,
    "src/zot/provider/models/index.tsv": models.index,
    "docs/reference/rules.md": rules.page,
    "docs/concepts/jail.md": jail.page,
    "docs/concepts/safety.md": jail.safety,
    "docs/schema/extension-child.json": extension.shapes.child_schema,
    "docs/schema/extension-host.json": extension.shapes.host_schema,
    "docs/schema/golden-frames.jsonl": extension.golden_frames.lines,
    "docs/reference/extension-protocol.md": extension.reference.page,
    "docs/reference/extension-requests.md": extension.second_edition.page,
    "src/zot/ext/frames.py": extension.python.module,
    "sdks/typescript/src/frames.ts": extension.typescript.module,
    "sdks/go/internal/wire/frames.go": extension.go.module,
    "sdks/go/version.go": extension.go.version,
    "docs/reference/python-sdk.md": api.python.sdk,
    "docs/reference/python-client.md": api.python.client,
    "docs/reference/python-extensions.md": api.python.extension,
    "docs/reference/typescript-sdk.md": api.typescript.page,
    "docs/reference/go-sdk.md": api.go.page,
    "docs/schema/rpc.json": rpc.shapes.schema,
    "docs/reference/rpc.md": rpc.reference.page,
    "src/zot/client/methods.py": rpc.python.client,
    "src/zot/sdk/methods.py": rpc.python.sdk,
    "sdks/typescript/src/rpc.ts": rpc.typescript.module,
    "sdks/go/client/wire.go": rpc.go.module,
    "share/acp/agent.json": acp_registry.entry,
    "share/acp/icon.svg": acp_registry.icon,
    "share/man/man1/zot.1": man_page.page,
    "share/bash-completion/completions/zot": lambda: completions.BASH,
    "share/zsh/site-functions/_zot": lambda: completions.ZSH,
    "share/fish/vendor_completions.d/zot.fish": lambda: completions.FISH,
}


def main() -> int:
    stale = {name: text for name, make in FILES.items() if not _current(ROOT / name, text := make())}
    if "--check" not in sys.argv:
        for name, text in stale.items():
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"wrote {name}")
        return 0
    problems = [*(f"{name} is stale: run `make generate`" for name in stale), *check_index(), *check_page()]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def _current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
