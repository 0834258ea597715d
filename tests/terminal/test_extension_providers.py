"""A model of an extension in the terminal: chosen with ``/model``, logged in to with dialogs."""

from __future__ import annotations

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.terminal.conftest import OpenZot

DEAF = 0.4  # a dialog takes no key in its first 250 ms

BODY = """
import threading

hello("edition2")
send(type="contribute", kind="provider", name="corp", value={"title": "Corp", "stream": True,
    "key": {"login": True}, "models": [{"id": "corp-one"}, {"id": "corp-two"}]})
ready()
logins, waiting = [0], {}

def asked(f):
    if f["method"] == "provider.login":
        logins[0] += 1
        waiting["d%d" % logins[0]] = f["id"]
        send(type="request", id="d%d" % logins[0], method="ui.ask", parent_id=f["id"],
             params={"kind": "input", "title": "Code of the day"})
    elif f["method"] == "provider.stream":
        text = f["params"]["model"] + " knows " + f["params"]["credential"]["access_token"][:4]
        send(type="progress", id=f["id"], data={"events": [{"text": text}]})
        send(type="response", id=f["id"], result={"stop": "end_turn"})

def answered(f):
    send(type="response", id=waiting[f["id"]], result={"access_token": f["result"]["value"]})

serve(request=asked, response=answered)
"""


def test_login_by_dialog_then_model_answers(open_zot: OpenZot, zot: Zot) -> None:
    """ext2-123, ext2-124: `/login corp` asks with the extension's dialog; `/model` has its models; they answer."""
    manifest = {"uses": ["provider"], "provides": {"providers": ["corp"]}}
    directory = write_extension(zot.home / "more", "corp-ext", BODY, **manifest)
    terminal = open_zot("-e", str(directory))
    terminal.submit("/login corp")
    terminal.wait_for("extension corp-ext asks")
    terminal.wait_for("Code of the day")
    terminal.pump(DEAF)
    terminal.type("abcd-efgh-ijkl")
    terminal.press("enter")
    terminal.wait_for("logged in to corp")
    terminal.submit("/model corp/corp-two")
    terminal.wait_for("(corp) corp-two")
    terminal.submit("who is there")
    terminal.wait_for("corp-two knows abcd")
