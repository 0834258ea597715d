"""Every program on the page about pi's examples, run as it stands there."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.examples.example_stage import EXAMPLES, FakeScreen, running
from tests.conformance.examples.test_python_examples import git, http
from tests.fakes.client import calls, says
from tests.fakes.http_server import FakeHttpServer
from zot.agent.session_change import SessionChange
from zot.agent.slash_commands import Display, FailedCommand
from zot.errors import SessionChangeDenied
from zot.features.extensions.loader.extension_settings import secret_place
from zot.features.extensions.loader.manifest import read_manifest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/guides/pi-examples.md").read_text()
SECTIONS = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
ROWS = dict(re.findall(r"^\| ([a-z-]+) \| (.+) \|$", PAGE, re.MULTILINE))
MORE: dict[str, dict[str, Any]] = {
    "preset": {"flags": {"preset": {"type": "string"}}},
    "custom-provider-gitlab-duo": {"provides": {"providers": ["duo"]}},
    "antigravity-image-gen": {"settings": {"key": {"type": "string", "secret": True}, "url": {"type": "string"}}},
}
# The names of pi's examples, as the specification lists them.
NAMES = frozenset(
    """
    antigravity-image-gen auto-commit-on-exit bash-spawn-hook bookmark built-in-tool-renderer claude-rules commands
    confirm-destructive custom-compaction custom-footer custom-header custom-provider-anthropic
    custom-provider-gitlab-duo custom-provider-qwen-cli dirty-repo-guard doom-overlay dynamic-resources dynamic-tools
    event-bus file-trigger git-checkpoint handoff hello inline-bash input-transform interactive-shell mac-system-theme
    message-renderer minimal-mode modal-editor model-status notify overlay-qa-tests overlay-test permission-gate pirate
    plan-mode preset protected-paths provider-payload qna question questionnaire rainbow-editor reload-runtime rpc-demo
    sandbox send-user-message session-name shutdown-command snake space-invaders ssh status-line subagent summarize
    system-prompt-header timed-confirm titlebar-spinner todo tool-override tools trigger-compact truncated-tool
    widget-placement with-deps
    """.split()  # noqa: SIM905  a list of words
)


def program(name: str) -> str:
    found = re.search(r"```python\n(.*?)```", SECTIONS[name], re.DOTALL)
    assert found, name
    return found[1]


def uses(name: str) -> list[str]:
    found = re.search(r"`uses`:\s*((?:`[\w.]+`,?\s*)+)", SECTIONS[name])
    return re.findall(r"`([\w.]+)`", found[1]) if found else []


def write(parent: Path, name: str, called: str = "") -> Path:
    """The program with its manifest and the SDK."""
    directory = parent / (called or name)
    (directory / "zot").mkdir(parents=True)
    (directory / "zot" / "ext").symlink_to(ROOT / "src/zot/ext")
    (directory / "main.py").write_text(program(name))
    fields: dict[str, Any] = {
        "name": called or name,
        "exec": sys.executable,
        "args": ["-S", "main.py"],
        "uses": uses(name),
    }
    (directory / "extension.json").write_text(json.dumps(fields | MORE.get(name, {})))
    return directory


# --- the page


def test_page_names_all_66_examples() -> None:
    assert len(NAMES) == 66 and set(ROWS) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_row_leads_to_a_program(name: str) -> None:
    row = ROWS[name]
    for path in re.findall(r"`(examples/extensions/[\w-]+)`", row):
        assert read_manifest(ROOT / path).name
    for section in re.findall(r"\(#([\w-]+)\)", row):
        assert section in SECTIONS
    assert "(#" in row or "`examples/" in row


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_program_is_short(name: str) -> None:
    """Issue: 10 to 60 lines each."""
    assert 4 <= len(program(name).splitlines()) <= 60
    assert name in DRIVERS


# --- drivers: each makes its program do what pi's example does


Driver = Callable[[Path], Awaitable[None]]
DRIVERS: dict[str, Driver] = {}


def drives(name: str) -> Callable[[Driver], Driver]:
    def register(driver: Driver) -> Driver:
        DRIVERS[name] = driver
        return driver

    return register


def project(tmp: Path) -> Path:
    made = tmp / "project"
    made.mkdir(exist_ok=True)
    return made


@pytest.mark.parametrize("name", sorted(SECTIONS))
async def test_program_does_it(name: str, tmp_path: Path) -> None:
    write(tmp_path, name)
    await DRIVERS[name](tmp_path)


@drives("antigravity-image-gen")
async def _(tmp: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(64)
    async with FakeHttpServer([http(png)]) as server:
        (tmp / "home").mkdir()
        settings = {"extensions": {"antigravity-image-gen": {"url": server.url}}}
        (tmp / "home" / "config.json").write_text(json.dumps(settings))
        draw = calls(("make_image", {"prompt": "a cat"}))
        async with running("antigravity-image-gen", tmp, draw, says("done")) as run:
            run.conversation.auth.set_api_key(secret_place("antigravity-image-gen", "key"), "s3cret")
            await run.conversation.prompt("go")
            block = run.client.requests[1].messages[-1].tool_results()[-1]
            assert not block.is_error and "image/png" in str(block.content)
        assert b"Bearer s3cret" in server.requests[0]


@drives("auto-commit-on-exit")
async def _(tmp: Path) -> None:
    where = project(tmp)
    git(where, "init", "-q")
    git(where, "config", "user.email", "a@example.com")
    git(where, "config", "user.name", "a")
    async with running("auto-commit-on-exit", tmp, says("a")) as run:
        (where / "new.txt").write_text("x")
        await run.conversation.prompt("go")
    assert "Work of an agent" in git(where, "log", "--oneline")


@drives("bash-spawn-hook")
async def _(tmp: Path) -> None:
    async with running("bash-spawn-hook", tmp, calls(("bash", {"command": "echo $FROM_HOOK"})), says("a")) as run:
        await run.conversation.prompt("go")
        assert "1" in run.result()[0].splitlines()


@drives("bookmark")
async def _(tmp: Path) -> None:
    async with running("bookmark", tmp, says("a")) as run:
        await run.conversation.prompt("go")
        assert (await run.command("/bookmark good")).text == "labelled: good"
        assert run.conversation.session is not None
        run.conversation.session.flush()
        assert '"good"' in run.conversation.session.path.read_text()


@drives("claude-rules")
async def _(tmp: Path) -> None:
    rules = project(tmp) / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "style.md").write_text("tabs")
    async with running("claude-rules", tmp, says("a")) as run:
        await run.conversation.prompt("go")
        assert ".claude/rules/style.md" in run.client.requests[0].system


@drives("commands")
async def _(tmp: Path) -> None:
    async with running("commands", tmp, answers=["commands"]) as run:
        assert (await run.command("/commands extension")).text == "/commands"
        assert [option.value for option in run.dialogs[0].params.options] == ["commands"]


@drives("confirm-destructive")
async def _(tmp: Path) -> None:
    async with running("confirm-destructive", tmp, answers=[False, True]) as run:
        with pytest.raises(SessionChangeDenied, match="you stayed"):
            await run.conversation.allow(SessionChange("clear"))
        await run.conversation.allow(SessionChange("clear"))


@drives("custom-header")
async def _(tmp: Path) -> None:
    async with running("custom-header", tmp, answers=[]) as run:
        await run.until(lambda: run.screen.texts("header", "header") == ["▲ my project", "tests: make test"])


@drives("custom-provider-gitlab-duo")
async def _(tmp: Path) -> None:
    async with running("custom-provider-gitlab-duo", tmp, answers=[True, "c0de"]) as run:
        await run.until(lambda: [item.name for item in run.host.contributions.of_kind("provider")] == ["duo"])
        child = run.host.children.find("custom-provider-gitlab-duo")
        from zot.features.extensions.child import new_request_id
        from zot.wire.extension_frames import Request

        assert child is not None
        login = Request(id=new_request_id(), method="provider.login", params={"provider": "duo"})
        given = (await child.ask(login, 10)).result
        assert given["access_token"] == "token-for-c0de"
        params = {"provider": "duo", "credential": given}
        renewed = (await child.ask(Request(id=new_request_id(), method="provider.renew", params=params), 10)).result
        assert renewed["refresh_token"] == "c0de"


@drives("dirty-repo-guard")
async def _(tmp: Path) -> None:
    where = project(tmp)
    git(where, "init", "-q")
    async with running("dirty-repo-guard", tmp, answers=[False]) as run:
        await run.conversation.allow(SessionChange("new"))
        (where / "a.txt").write_text("x")
        with pytest.raises(SessionChangeDenied, match="commit first"):
            await run.conversation.allow(SessionChange("new"))
        assert run.dialogs[0].params.title == "1 uncommitted files. Go on?"


@drives("doom-overlay")
async def _(tmp: Path) -> None:
    async with running("doom-overlay", tmp, answers=[]) as run:
        await run.command("/keys")
        await run.until(lambda: "keys" in run.screen.panels)
        assert run.screen.panels["keys"].keys == "release" and run.screen.panels["keys"].place == {"mode": "full"}
        run.host.panel_key("doom-overlay", "keys", "up")
        await run.until(lambda: run.screen.panels["keys"].rows == ["1. up"])


@drives("dynamic-tools")
async def _(tmp: Path) -> None:
    async with running("dynamic-tools", tmp, calls(("ahoy", {"who": "Ada"})), says("a")) as run:
        await run.command("/add-tool ahoy")
        await run.until(lambda: any(tool.name == "ahoy" for tool in run.conversation.agent.tools))
        await run.conversation.prompt("go")
        assert run.result() == ("ahoy greets Ada", False)
        assert "Greet with ahoy." in run.client.requests[0].system


@drives("event-bus")
async def _(tmp: Path) -> None:
    other = write(tmp, "event-bus", "other")
    ext = (str(tmp / "event-bus"), str(other))
    async with running("event-bus", tmp, answers=[], ext=ext) as run:
        names = {command.name for command in run.host.commands()}
        assert names == {"greet"}
        await run.until(lambda: all("bus" in child.events for child in run.host.children))
        assert await run.command("/greet hello") == Display("event-bus", "1 heard it")
        await run.until(lambda: [note[2] for note in run.screen.notes] == ["event-bus says hello"])


@drives("input-transform")
async def _(tmp: Path) -> None:
    async with running("input-transform", tmp, says("a"), answers=[]) as run:
        assert (await run.conversation.prompt("ping")).handled and not run.client.requests
        await run.conversation.prompt("?quick why")
        assert run.prompt_texts() == "Answer in one sentence: why"
        assert run.screen.notes[0][2].startswith("pong at")


@drives("interactive-shell")
async def _(tmp: Path) -> None:
    lent: list[tuple[str, ...]] = []

    def lend(extension: str, argv: tuple[str, ...], run: object) -> Awaitable[int]:
        lent.append(tuple(argv))
        return asyncio.sleep(0, 4)

    async with running("interactive-shell", tmp, answers=[]) as run:
        run.screen.run_in_terminal = lend  # type: ignore[assignment, method-assign]
        verdict = await run.host.interceptor.late.user_shell("less 'a file'", False, str(tmp))
        assert verdict.handled and verdict.code == 4 and lent == [("less", "a file")]
        assert not (await run.host.interceptor.late.user_shell("ls", False, str(tmp))).handled


@drives("mac-system-theme")
async def _(tmp: Path) -> None:
    chosen: list[str] = []
    tools = tmp / "bin"
    tools.mkdir()
    (tools / "defaults").write_text("#!/bin/sh\necho Dark\n")
    (tools / "defaults").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        import os

        patch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
        patch.setattr(FakeScreen, "theme_info", lambda self: {"name": "", "base": "", "roles": {}, "themes": []})
        patch.setattr(FakeScreen, "set_theme", lambda self, name: chosen.append(name) or "")
        async with running("mac-system-theme", tmp, answers=[]) as run:
            await run.until(lambda: chosen == ["dark"])


@drives("message-renderer")
async def _(tmp: Path) -> None:
    from zot.core.events import EntryAdded

    drawn: list[EntryAdded] = []
    async with running("message-renderer", tmp, answers=[]) as run:
        run.conversation.subscribe(
            lambda event: drawn.append(event) if isinstance(event, EntryAdded) else None, EntryAdded
        )
        await run.command("/build-state")
        await run.until(lambda: drawn)
        assert drawn[0].view["title"] and not run.conversation.messages


@drives("minimal-mode")
async def _(tmp: Path) -> None:
    from zot.features.extensions.child import new_request_id
    from zot.wire.extension_frames import Request

    async with running("minimal-mode", tmp, answers=[]) as run:
        child = run.host.children.find("minimal-mode")
        assert child is not None
        result = {"content": [{"type": "text", "text": "a\nb"}]}
        params = {"for": "tool", "name": "read", "partial": False, "expanded": True, "width": 80, "result": result}
        answer = await child.ask(Request(id=new_request_id(), method="render", params=params), 5)
        assert answer.result["lines"] == [] and answer.result["expanded"] == ["a", "b"]


@drives("overlay-qa-tests")
async def _(tmp: Path) -> None:
    async with running("overlay-qa-tests", tmp, answers=[]) as run:
        await run.command("/overlays")
        await run.until(lambda: len(run.screen.panels) == 8)
        assert run.screen.panels["top-left"].place["anchor"] == "top-left"


@drives("overlay-test")
async def _(tmp: Path) -> None:
    async with running("overlay-test", tmp, answers=[]) as run:
        await run.command("/field")
        await run.until(lambda: "field" in run.screen.panels)
        for letter in "Adx":
            run.host.panel_key("overlay-test", "field", "rune", letter)
        run.host.panel_key("overlay-test", "field", "backspace")
        run.host.panel_key("overlay-test", "field", "rune", "a")
        await run.until(lambda: run.screen.panels["field"].cursor == {"row": 1, "col": 3})
        run.host.panel_key("overlay-test", "field", "enter")
        await run.until(lambda: [note[2] for note in run.screen.notes] == ["hello Ada"])


@drives("pirate")
async def _(tmp: Path) -> None:
    async with running("pirate", tmp, says("a"), says("b")) as run:
        await run.conversation.prompt("go")
        assert (await run.command("/pirate")).text == "aye"
        await run.conversation.prompt("go")
        assert ["Talk like a pirate" in request.system for request in run.client.requests] == [False, True]


@drives("preset")
async def _(tmp: Path) -> None:
    async with running("preset", tmp, answers=["careful"], extension_flags={"preset": {"preset": "fast"}}) as run:
        await run.until(lambda: run.conversation.agent.reasoning == "low")
        await run.until(lambda: {tool.name for tool in run.conversation.agent.tools} == {"read", "edit", "bash"})
        assert (await run.command("/preset")).text == "preset careful"
        assert run.conversation.agent.reasoning == "high"


@drives("provider-payload")
async def _(tmp: Path) -> None:
    async with running("provider-payload", tmp, answers=[]) as run:
        child = run.host.children.find("provider-payload")
        await run.until(lambda: child is not None and "provider_payload" in child.intercepts)
        from zot.provider.model_call import Request

        asked = Request(model=run.conversation.model, system="", messages=())
        edited = await run.conversation.agent.reviewed_request(asked, "step")
        assert edited.edit_payload is not None
        assert await edited.edit_payload({"model": "x"}, "api") == {"model": "x"}
        kept = list((tmp / "home").rglob("payloads.jsonl")) + list(tmp.rglob("payloads.jsonl"))
        assert json.loads(kept[0].read_text())["payload"] == {"model": "x"}


@drives("qna")
async def _(tmp: Path) -> None:
    async with running("qna", tmp, says("Which port? Which host?"), says("Q: Which port?\nA:"), answers=[]) as run:
        await run.conversation.prompt("set it up")
        await run.command("/qna")
        assert run.screen.editor == "Q: Which port?\nA:" and "Which host?" in run.prompt_texts(1)


@drives("reload-runtime")
async def _(tmp: Path) -> None:
    async with running("reload-runtime", tmp, answers=[]) as run:
        assert (await run.command("/reloads")).text == "0"
        await run.command("/reload-runtime")
        for _ in range(200):
            answer = await run.command("/reloads")
            if not isinstance(answer, FailedCommand) and answer.text == "1":
                break
            await asyncio.sleep(0.02)
        assert answer.text == "1"
        left: list[str] = []
        run.screen.leave = lambda extension: left.append(extension) or asyncio.sleep(0, True)  # type: ignore[assignment, method-assign, func-returns-value]
        await run.command("/leave")
        await run.until(lambda: left == ["reload-runtime"])


@drives("rpc-demo")
async def _(tmp: Path) -> None:
    async with running("rpc-demo", tmp, answers=["Bob", "red", False]) as run:
        assert (await run.command("/demo")).text == "Bob red False"
        assert run.screen.texts("status", "demo") == ["Bob red"]
        await run.until(lambda: run.screen.texts("widget", "demo") == ["Bob is not sure"])
    async with running("rpc-demo", tmp) as run:
        assert (await run.command("/demo")).text == "Ada green True"


@drives("sandbox")
async def _(tmp: Path) -> None:
    tools = tmp / "bin"
    tools.mkdir()
    # a stand-in for `zot jail -- COMMAND`, so that the test does not depend on what this machine can confine
    (tools / "zot").write_text('#!/bin/sh\n[ "$1 $2" = "jail --" ] || exit 9\nshift 2\necho jailed\nexec "$@"\n')
    (tools / "zot").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        import os

        patch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
        async with running("sandbox", tmp, calls(("bash", {"command": "echo inside"})), says("a")) as run:
            await run.conversation.prompt("go")
            assert run.result() == ("jailed\ninside\n", False)


@drives("send-user-message")
async def _(tmp: Path) -> None:
    async with running("send-user-message", tmp, answers=[]) as run:
        await run.command("/ask now")
        await run.command("/after later")
        assert [prompt.text for prompt in run.conversation.queued] == ["now", "later"]
        assert isinstance(await run.command("/steer more"), object)


@drives("session-name")
async def _(tmp: Path) -> None:
    async with running("session-name", tmp, says("a")) as run:
        assert (await run.command("/name")).text == "it has no name"
        assert (await run.command("/name parser work")).text == "parser work"


@drives("status-line")
async def _(tmp: Path) -> None:
    async with running("status-line", tmp, says("a"), answers=[]) as run:
        await run.conversation.prompt("go")
        await run.until(lambda: run.screen.texts("status", "turns") == ["✓ 1 turns"])


@drives("summarize")
async def _(tmp: Path) -> None:
    async with running("summarize", tmp, says("the port is 80"), says("It is about a port.")) as run:
        await run.conversation.prompt("go")
        assert (await run.command("/summarize")).text == "It is about a port."
        assert "the port is 80" in run.prompt_texts(1) and len(run.conversation.messages) == 2


@drives("system-prompt-header")
async def _(tmp: Path) -> None:
    async with running("system-prompt-header", tmp, answers=[]) as run:
        await run.until(lambda: "characters" in "".join(run.screen.texts("header", "header")))


@drives("timed-confirm")
async def _(tmp: Path) -> None:
    async with running("timed-confirm", tmp, answers=[True]) as run:
        assert (await run.command("/timed")).text == "go"
        assert run.dialogs[0].params.timeout_s == 5
    async with running("timed-confirm", tmp) as run:
        assert (await run.command("/timed")).text == "not now"


@drives("titlebar-spinner")
async def _(tmp: Path) -> None:
    async with running("titlebar-spinner", tmp, says("a"), answers=[]) as run:
        await run.conversation.prompt("go")
        await run.until(lambda: run.screen.drawn.get(("title", "title")) == {"text": "zot"})
        titles = [value["text"] for kind, _, value in run.screen.history if kind == "title"]
        assert titles[-1] == "zot"


@drives("tool-override")
async def _(tmp: Path) -> None:
    (project(tmp) / "a.txt").write_text("hello")
    reads = calls(("read", {"path": "a.txt"})), calls(("read", {"path": "x.env"}))
    async with running("tool-override", tmp, *reads, says("a")) as run:
        await run.conversation.prompt("go")
        assert "hello" in run.result(1)[0] and run.result(2) == ("that file is not for you", True)


@drives("tools")
async def _(tmp: Path) -> None:
    async with running("tools", tmp, answers=[["read", "bash"]]) as run:
        answer = (await run.command("/tools")).text
        assert sorted(answer.removeprefix("active: ").split(", ")) == ["bash", "read"]
        assert {tool.name for tool in run.conversation.agent.tools} == {"read", "bash"}


@drives("trigger-compact")
async def _(tmp: Path) -> None:
    from zot.core.events import CompactionEnded
    from zot.provider.messages import Usage

    ended: list[object] = []
    model = says("a", usage=Usage(input_tokens=150_000, output_tokens=5)), says("the summary")
    async with running("trigger-compact", tmp, *model) as run:
        # without the word the extension may not: pi's needs none, zot shows it at install
        run.conversation.subscribe(ended.append, CompactionEnded)
        await run.conversation.prompt("go")
        await run.until(lambda: ended)
        assert "keep file names" in str(run.client.requests[1].messages)


@drives("truncated-tool")
async def _(tmp: Path) -> None:
    (project(tmp) / "a.txt").write_text("match\n" * 1000)
    async with running("truncated-tool", tmp, calls(("search_lines", {"pattern": "match"})), says("a")) as run:
        await run.conversation.prompt("go")
        text = run.result()[0]
        assert len(text) < 2_300
        assert Path(text.rsplit(": ", 1)[1].rstrip("]")).read_text().count("match") == 1000


@drives("widget-placement")
async def _(tmp: Path) -> None:
    async with running("widget-placement", tmp, answers=[]) as run:
        await run.until(lambda: run.screen.texts("widget", "below") == ["below the prompt"])
        assert run.screen.drawn["widget", "above"]["place"] == "above"


def test_examples_named_by_the_page_are_those_of_the_repository() -> None:
    named = set(re.findall(r"`examples/extensions/([\w-]+)`", PAGE))
    assert named <= {path.name for path in EXAMPLES.iterdir()}
