"""Readers of what guests bring: settings with hooks, what hooks answer, conditions, plugins, prompt templates."""

from __future__ import annotations

import random
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

from fuzz.reader import holds, reader, text_of
from zot.errors import ConfigError, ZotError
from zot.features.hooks.claude_format import (
    LONGEST,
    UnsupportedInput,
    from_claude_input,
    parse_hook_output,
    to_claude_input,
)
from zot.features.hooks.conditions import matches_condition
from zot.features.hooks.config import EVENTS, Hook, HookSource, hooks_of
from zot.features.hooks.hook_process import HookResult
from zot.features.hooks.host import argv_of, parse_exports
from zot.features.mcp.config import decode
from zot.features.plugins.components import parts_of
from zot.features.plugins.manifest import read_manifest
from zot.features.skills.discovery import parse, split
from zot.features.templates.discovery import Template, name_and_arguments
from zot.features.templates.expansion import fill_arguments

SETTINGS = (
    '{"hooks":{"PreToolUse":[{"matcher":"Write|Edit","hooks":[{"type":"command","command":"sh a.sh","timeout":5}]}]}}',
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"node","args":["${CLAUDE_PROJECT_DIR}/x"],"async":true}]}],'
    '"PreCompact":[{"matcher":"auto","hooks":[{"command":"x","if":"Bash(git *)","onFailure":"block"}]}]},"model":"m"}',
    '{"disableAllHooks":true,"hooks":{"Notification":[{"hooks":[{"type":"prompt","prompt":"?"}]}]}}',
)


@reader(
    "settings with hooks",
    SETTINGS,
    '{ } [ ] , : " "hooks": "matcher": "command": "args": "if": "type":"command" "Stop": "PreToolUse": ( | * null 1e99',
)
def _settings(data: bytes, rng: random.Random) -> None:
    try:
        value = decode(Path("f"), data)
    except ConfigError:
        return
    problems: list[str] = []
    found = hooks_of(value, "f", problems)
    source = HookSource(
        name="f", file="f", origin="project", root=Path("/nowhere"), project=Path("/nowhere"), hooks=found
    )
    msgspec.json.decode(source.content())
    for hook in found:
        holds(hook.event in EVENTS and bool(hook.command.strip()) and hook.timeout_s > 0, "something to run", hook)
        holds("\0" in hook.line() or bool(argv_of(hook, {})), "a command", hook)
        hook.matches("Bash", "bash")
        hook.shown()


ANSWERS = (
    '{"continue":false,"stopReason":"enough","systemMessage":"m"}',
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"r",'
    '"updatedInput":{"command":"x"},"additionalContext":"c"}}',
    '{"hookSpecificOutput":{"decision":{"behavior":"allow","updatedInput":{"file_path":"/a"}}},"decision":"block"}',
    "export A='b c' D=e\nF=g # h\n",
)


@reader(
    "answers of hooks",
    ANSWERS,
    '{ } [ ] , : " "decision": "block" "continue": false null "hookSpecificOutput": "updatedInput": export = \'',
)
def _answer(data: bytes, rng: random.Random) -> None:
    text = text_of(data)
    ran = HookResult(rng.choice((0, 0, 0, 1, 2)), text, text_of(data[::-1]), "", rng.random() < 0.1)
    answer = parse_hook_output(Hook(event=rng.choice(EVENTS), command="x"), ran)
    holds(answer.decision in ("deny", "defer", "ask", "allow", ""), "a decision there is", answer)
    longest = max(map(len, (answer.reason, answer.context, answer.message)))
    holds(longest <= LONGEST, "no more than anybody reads", longest)
    if answer.updated is not None:
        args = {"path": "a", "edits": [{"oldText": "a", "newText": "b"}], "command": "x"}
        for tool in ("edit", "bash", "write", "other"):
            with suppress(UnsupportedInput):
                msgspec.json.encode(to_claude_input(tool, from_claude_input(tool, answer.updated, args, str), str))
    for name in parse_exports(text):
        holds(name.isidentifier(), "a variable's name", name)


CONDITIONS = (
    "Bash(git push *)\nFOO=bar git push origin main && echo $(date) | tee `x`",
    "Edit(/src/**/*.ts)\n/p/src/a/b.ts",
    "mcp__files__*\nx",
    "Read(~/.ssh/)\n(cd a; if true; then cat <(b) >c 2>&1; fi)",
)


@reader(
    "conditions of hooks",
    CONDITIONS,
    "Bash( Edit( ) * ** / // ~/ ./ :* git rm && || ; | & $( ` \" ' \\ < > ( { if then FOO=a timeout \n [ ] !",
)
def _condition(data: bytes, rng: random.Random) -> None:
    rule, _, said = text_of(data).partition("\n")
    for names in (("Bash", "bash"), ("Write", "write"), ("mcp__files__read",), ("Skill", "skill")):
        given = {"command": said, "file_path": said.replace("\0", ""), "skill": said}
        holds(isinstance(matches_condition(rule, names, given, Path("/p"), Path("/p")), bool), "yes or no", rule, said)


MANIFESTS = (
    '{"name":"tidy","version":"1","commands":["./more"],"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]},'
    '"mcpServers":{"a":{"command":"${CLAUDE_PLUGIN_ROOT}/x"}}}',
    '{"$schema":"s","name":"a.b-c","keywords":["k"],"author":{"name":"n"},"repository":"r","extensions":{}}',
    '{"name":"../x","skills":"../..","hooks":"/etc/passwd","mcpServers":"a/../../b"}',
)


@cache
def _root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="zot-fuzz-"))
    (root / ".claude-plugin").mkdir()
    return root


@reader(
    "manifests of plugins",
    MANIFESTS,
    '{ } [ ] , : " "name": "hooks": "mcpServers": "commands": "skills": ../ ./ / a null \\u0000',
)
def _manifest(data: bytes, rng: random.Random) -> None:
    root = _root()
    plain, claude = root / "plugin.json", root / ".claude-plugin" / "plugin.json"
    for path in (plain, claude):
        path.unlink(missing_ok=True)
    rng.choice((plain, claude)).write_bytes(data)
    try:
        manifest = read_manifest(root)
    except ZotError:
        return
    holds("/" not in manifest.name and not manifest.name.startswith("."), "a name for a directory", manifest.name)
    parts = parts_of(manifest, root / "data")
    for place in parts.commands:
        holds(place.root.resolve().is_relative_to(root.resolve()), "inside the plugin", place)
    parts.lines()
    parts.digest()


TEMPLATES = (
    "---\ndescription: tidies\nargument-hint: [file]\nmodel: fast\nallowed-tools: Read, Bash(git *)\n---\n"
    "Tidy $1 and $ARGUMENTS.\n",
    "# Plain\n\n!`git status` @file $2 $10 $ARGUMENTSX\n",
    "/git:tidy 'a b' c",
)


@reader(
    "prompt templates",
    TEMPLATES,
    "--- \n description: allowed-tools: model: argument-hint: [ ] , ' \" $1 $9 $10 $ARGUMENTS !` ` / : - # > |",
)
def _template(data: bytes, rng: random.Random) -> None:
    text = text_of(data)
    head, body = split(text)
    read = parse(head)
    template = Template("t", Path("t"), "l", read.description, read.argument_hint, read.model, read.allowed_tools, body)
    said = fill_arguments(template, "one 'two three' four")
    filled = said.rpartition("\n\nAllowed tools: ")[0] if template.allowed_tools else said  # not part of the body
    holds("$ARGUMENTS " not in filled.replace(text, "") or "$ARGUMENTS " in body, "places are filled once", said)
    if (named := name_and_arguments(text)) is not None:
        holds(".." not in named[0].split(":") and "/" not in named[0], "a name that leads nowhere else", named)
