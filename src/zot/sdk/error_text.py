"""What zot says to a person at a command line, said to a program: options of ``Runtime`` instead of flags."""

from __future__ import annotations

import re

# Each flag that a sentence may name, and what a program writes; "" where there is nothing a program could write.
OPTIONS = {
    "--provider": "provider=",
    "--model": "model=",
    "--api-key": "api_key=",
    "--base-url": "base_url=",
    "--reasoning": "reasoning=",
    "--temperature": "temperature=",
    "--fallback-model": "fallback_model=",
    "--retries": "retries=",
    "--max-cost": "max_cost_usd=",
    "--max-steps": "max_steps=",
    "--insecure": "insecure=True",
    "--script": "script=",
    "--cwd": "cwd=",
    "--tools": "allowed_tools=",
    "--no-tools": "allowed_tools=[]",
    "--no-yolo": "approve=",
    "--permission-mode": "permission_mode=",
    "--jail": "jail=",
    "--jail-read": "jail_read=",
    "--jail-write": "jail_write=",
    "--approve": "approve_outside=",
    "--session": "session=",
    "--continue": "continue_session=True",
    "--system-prompt": "system_prompt=",
    "--append-system-prompt": "append_system_prompt=",
    "--no-context-files": "context_files=False",
    "--no-skill": "skills=False",
    "--ext": "extensions=",
    "--no-ext": "installed_extensions=False",
    "--mcp-config": "mcp_config=",
    "--no-mcp": "mcp=False",
}
_FLAG = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)(?: ([A-Z]{2,}|[a-z](?:[\w./:-]*\w)?))?")
_NEXT_WORDS = frozenset({"and", "or", "goes", "has", "needs", "asks", "with", "to", "is", "on", "for", "in"})
_LIST_MODELS = re.compile(r"zot --list-models")
_LOG_IN = re.compile(r"with /login\b")


def for_programs(text: str) -> str:
    """
    >>> for_programs("set OPENAI_API_KEY, pass --api-key, or log in with /login")
    'set OPENAI_API_KEY, pass api_key=, or log in with `zot` and /login'
    >>> for_programs("no key needed: --provider ollama --model NAME")
    "no key needed: provider='ollama' model=NAME"
    """

    def said(found: re.Match[str]) -> str:
        flag, value = found[1], found[2] or ""
        option = OPTIONS.get(flag)
        if option is None:
            return found[0]
        if not value or not option.endswith("=") or value in _NEXT_WORDS:
            return f"{option} {value}".rstrip()
        return f"{option}{value}" if value.isupper() else f"{option}{value!r}"

    kept = _LIST_MODELS.sub("`zot --list\0models`", text)
    return _LOG_IN.sub("with `zot` and /login", _FLAG.sub(said, kept)).replace("\0", "-")
