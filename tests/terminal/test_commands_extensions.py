"""``/reload-ext`` and trust: only allowed extensions run, and a reload asks at most once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.extensions import seen_of, write_extension
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot

TOOL = """
hello(); tool("greet"); ready()
serve(tool_call=lambda f: text(f["id"], "greetings from the tool"))
"""
COMMAND = """
hello(); send(type="register_command", name="{name}"); ready()
serve(command_invoked=lambda f: send(type="command_response", id=f["id"], action="display", display="{says}"))
"""


def test_a_newly_registered_tool_is_callable_after_a_reload(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-216: a tool registered since the start can be called after `/reload-ext`."""
    server = serve([CallTools([("greet", {})]), Say("it greeted")])
    directory = write_extension(zot.home / "zot" / "extensions", "greeter")
    terminal = open_zot()
    write_extension(directory.parent, "greeter", TOOL)
    terminal.submit("/reload-ext")
    terminal.wait_for("extensions: 1 stopped, 1 loaded, 1 ready")
    terminal.submit("greet me")
    terminal.wait_for("it greeted")
    assert "greetings from the tool" in str(server.requests[1].json)


def test_reload_includes_extensions_named_by_flag(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    """iface-217: `/reload-ext` also reloads what `--ext` named."""
    serve([])
    directory = write_extension(tmp_path, "byhand", COMMAND.format(name="say", says="old words"))
    terminal = open_zot("--ext", str(directory))
    terminal.submit("/say")
    terminal.wait_for("[byhand] old words")
    write_extension(tmp_path, "byhand", COMMAND.format(name="say", says="new words"))
    terminal.submit("/reload-ext")
    terminal.wait_for("1 loaded, 1 ready")
    terminal.submit("/SAY")
    terminal.wait_for("[byhand] new words")


def test_the_first_extension_is_found_without_a_restart(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-216: `/reload-ext` finds the first extension without a restart."""
    serve([])
    terminal = open_zot()
    terminal.submit("/reload-ext")
    terminal.wait_for("no extensions are installed")
    write_extension(zot.home / "zot" / "extensions", "late", COMMAND.format(name="say", says="here I am"))
    terminal.submit("/reload-ext")
    terminal.wait_for("1 loaded, 1 ready")
    terminal.submit("/say")
    terminal.wait_for("[late] here I am")


def test_help_and_doctor_list_extensions(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-174: `/help` lists the commands of extensions, and `/doctor` lists the ready extensions."""
    serve([])
    write_extension(zot.home / "zot" / "extensions", "sayer", COMMAND.format(name="say", says="x"))
    terminal = open_zot(rows=120)
    terminal.submit("/help")
    terminal.wait_for("/say ")
    terminal.wait_for("(sayer)")
    terminal.submit("/doctor")
    terminal.wait_for("sayer: ready")


def test_load_error_is_reported_and_stays_readable(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """§4.17: an error in a manifest is counted in the report of `/reload-ext` and stays readable."""
    serve([])
    directory = write_extension(zot.home / "zot" / "extensions", "greeter", COMMAND.format(name="say", says="hello"))
    terminal = open_zot()
    terminal.submit("/say")
    terminal.wait_for("[greeter] hello")
    (directory / "extension.json").write_text("{")
    terminal.submit("/reload-ext")
    terminal.wait_for("1 with errors")
    assert "greeter" in terminal.everything


def test_project_extension_runs_only_after_trust(serve: Any, open_zot: OpenZot, zot: Zot, project: Path) -> None:
    """A project extension needs trust before it runs; after a no it is skipped, after a yes its command works."""
    serve([])
    directory = write_extension(project / ".zot" / "extensions", "local", COMMAND.format(name="say", says="I run"))
    terminal = open_zot()
    terminal.wait_for("wants to run")
    terminal.wait_for("main.py")
    assert seen_of(directory, "hello_ack") == []
    terminal.press("esc")
    terminal.wait_gone("wants to run")
    terminal.submit("/say")
    terminal.wait_for("unknown command /say")
    terminal.press("esc")
    terminal.wait_gone("unknown command /say")
    terminal.submit("/exit")
    terminal.wait_exit()
    again = open_zot()
    again.wait_for("wants to run")
    again.press("down", "enter")
    again.wait_for("1 loaded, 1 ready")
    again.submit("/say")
    again.wait_for("[local] I run")
    assert json.loads((zot.home / "zot" / "trust.json").read_text())["extensions"]


DAWDLING = "hello(); ready(); serve(shutdown=lambda f: time.sleep(1.5))"
GUARDING = """
hello(); subscribe(intercept=["tool_call"]); ready()
serve(event_intercept=lambda f: answer(f, block=True))
"""


def test_a_guard_that_was_just_trusted_guards_at_once(serve: Any, open_zot: OpenZot, zot: Zot, project: Path) -> None:
    """While the others are being stopped for it to be started, nothing runs that it might refuse."""
    server = serve([CallTools([("write", {"path": "written", "content": "x"})]), Say("that is all")])
    write_extension(zot.home / "zot" / "extensions", "slow", DAWDLING)
    write_extension(project / ".zot" / "extensions", "keeper", GUARDING, guard=True)
    terminal = open_zot()
    terminal.wait_for("keeper (a guard)")
    terminal.press("down", "enter")
    terminal.wait_gone("keeper (a guard)")
    terminal.submit("write it")
    terminal.wait_for("that is all")
    assert not (project / "written").exists()
    assert "denied" in str(server.requests[1].json)


def test_wider_permissions_of_user_extension_need_consent(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """Closing the dialog grants nothing and the question returns; a yes grants the shown permissions for good."""
    serve([Say("ok")])
    says = COMMAND.format(name="say", says="I run")
    directory = write_extension(zot.home / "zot" / "extensions", "mine", says, permissions={})
    program, manifest = directory / "main.py", directory / "extension.json"
    program.write_text(program.read_text().replace('os.path.join(HERE, "seen.jsonl")', "os.devnull"))
    assert zot("-p", "go").err == ""  # what it asks for at its first start is granted
    asking = {**json.loads(manifest.read_text()), "permissions": {"net": True, "env": ["MY_TOKEN"]}}
    manifest.write_text(json.dumps(asking))
    terminal = open_zot(columns=120, rows=40)
    terminal.wait_for("your extension requests more than you granted")
    terminal.wait_for("new: it connects to the network")
    assert "new: it gets the variables MY_TOKEN" in terminal.screen
    terminal.press("enter")  # the first answer is no
    terminal.wait_gone("your extension requests more")
    terminal.submit("/say")
    terminal.wait_for("unknown command /say")
    terminal.press("esc")
    terminal.wait_gone("unknown command /say")
    terminal.submit("/reload-ext")
    terminal.wait_for("your extension requests more than you granted")
    manifest.write_text(json.dumps({**asking, "permissions": {"exec": True}}))
    terminal.press("down", "enter")  # and a yes is not for what came after it
    terminal.wait_for("extension mine: its permissions were not granted: changed during the review")
    terminal.submit("/reload-ext")
    terminal.wait_for("new: it runs any program")
    terminal.press("down", "enter")
    terminal.wait_for("1 loaded, 1 ready")
    terminal.submit("/say")
    terminal.wait_for("[mine] I run")
    terminal.submit("/exit")
    terminal.wait_exit()
    assert zot("ext", "doctor", model=False).code == 0


def test_edits_ask_once_and_trust_while_editing_is_not_stored(
    serve: Any, open_zot: OpenZot, zot: Zot, project: Path
) -> None:
    """ext-139: two edited directories ask once; trusting while editing lasts for this run and stores nothing."""
    serve([])
    root = project / ".zot" / "extensions"
    for name in ("one", "two"):
        write_extension(root, name, COMMAND.format(name=name, says=f"{name} before"))
    zot("ext", "trust", model=False)
    stored = (zot.home / "zot" / "trust.json").read_text()
    terminal = open_zot()
    terminal.submit("/reload-ext")  # once it is over, the start has looked, too: it will not ask about the edits
    terminal.wait_for("2 loaded, 2 ready")
    for number, edit in enumerate(("after", "again"), 2):
        for name in ("one", "two"):
            write_extension(root, name, COMMAND.format(name=name, says=f"{name} {edit}"))
        terminal.submit("/reload-ext")
        if edit == "after":
            terminal.wait_for("changed since you trusted")
            terminal.press("down", "down", "enter")
        terminal.wait_until(lambda wanted=number: terminal.raw.count(b"reloading extensions") == wanted)
        terminal.wait_for("2 loaded, 2 ready")
        terminal.submit("/two")
        terminal.wait_for(f"[two] two {edit}")
        terminal.press("esc")
        terminal.wait_gone(f"[two] two {edit}")
    assert (zot.home / "zot" / "trust.json").read_text() == stored
    terminal.submit("/exit")
    terminal.wait_exit()
    again = open_zot()
    again.wait_for("changed since you trusted")


def test_a_reload_typed_over_the_question_does_not_ask_again(
    serve: Any, open_zot: OpenZot, zot: Zot, project: Path
) -> None:
    """With the question of the start still open, `/reload-ext` uses the same answer."""
    serve([])
    write_extension(project / ".zot" / "extensions", "mine", COMMAND.format(name="say", says="I run"))
    terminal = open_zot()
    terminal.wait_for("wants to run")
    terminal.submit("/reload-ext")
    terminal.press("tab", "down", "enter")
    terminal.wait_for("1 loaded, 1 ready")
    terminal.wait_idle(0.5)
    assert "wants to run" not in terminal.screen
    terminal.submit("/say")
    terminal.wait_for("[mine] I run")


def test_reload_requested_by_extension_does_not_ask(serve: Any, open_zot: OpenZot, zot: Zot, project: Path) -> None:
    """ext-140: a reload that an extension requested skips changed content without asking."""
    serve([])
    asks = """
hello(); send(type="register_command", name="again"); ready()
def run(f):
    send(type="command_response", id=f["id"], action="noop")
    send(type="submit_slash", text="/reload-ext")
serve(command_invoked=run)
"""
    write_extension(zot.home / "zot" / "extensions", "asker", asks)
    write_extension(project / ".zot" / "extensions", "local", COMMAND.format(name="say", says="I run"))
    zot("ext", "trust", model=False)
    terminal = open_zot()
    terminal.submit("/say")
    terminal.wait_for("[local] I run")
    write_extension(project / ".zot" / "extensions", "local", COMMAND.format(name="say", says="changed"))
    terminal.submit("/again")
    terminal.wait_for("2 stopped, 1 loaded")
    assert "trust them as they are now" not in terminal.screen
