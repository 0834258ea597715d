"""Session files somebody else wrote, damaged or put beside other things, and what opening them must not do."""

from __future__ import annotations

import json
import os
from pathlib import Path

from attack.place import Place
from attack.table import attack

META = {"type": "meta", "meta": {"id": "0123456789ab", "model": "m", "provider": "script"}}
ASKED = {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "hello"}]}}


def session_file(path: Path, *rows: object) -> Path:
    """Rows as given; bytes stay as they are."""
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in (META, ASKED, *rows)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@attack("sessions", "talk.jsonl.bad is a link to ../.bashrc", expect="not written; reported")
def aside_through_a_link(scratch: Path) -> str:
    place = Place(scratch)
    victim = place.user / ".bashrc"
    victim.write_text("export A=1\n")
    session_file(place.clone / "talk.jsonl", b"touch /tmp/pwned")
    (place.clone / "talk.jsonl.bad").symlink_to("../.bashrc")
    ran = place.ask("--session", "talk.jsonl")
    if victim.read_text() != "export A=1\n":
        return "a line of the session file is now in .bashrc"
    if ran.unclean or "the answer" not in ran.out:
        return ran.unclean or f"the rest did not open: {ran.told}"
    return "" if "talk.jsonl.bad: is a link" in ran.err else f"not a word about it: {ran.err}"


@attack("sessions", "talk.jsonl.bad is a second name of .bashrc", expect="not written; reported")
def aside_through_a_hard_link(scratch: Path) -> str:
    place = Place(scratch)
    victim = place.user / ".bashrc"
    victim.write_text("export A=1\n")
    session_file(place.clone / "talk.jsonl", b"touch /tmp/pwned")
    os.link(victim, place.clone / "talk.jsonl.bad")
    ran = place.ask("--session", "talk.jsonl")
    if victim.read_text() != "export A=1\n":
        return "a line of the session file is now in .bashrc"
    return ran.unclean or ("" if "talk.jsonl.bad" in ran.err else f"not a word about it: {ran.err}")


@attack("sessions", "talk.jsonl.bad is a dangling link", expect="nothing created; reported")
def aside_through_a_dangling_link(scratch: Path) -> str:
    place = Place(scratch)
    session_file(place.clone / "talk.jsonl", b"touch /tmp/pwned")
    (place.clone / "talk.jsonl.bad").symlink_to("../.profile")
    ran = place.ask("--session", "talk.jsonl")
    return ran.unclean or ("a file was made where the link points" if (place.user / ".profile").exists() else "")


@attack("sessions", "talk.jsonl.bad is a pipe", expect="does not block; reported")
def aside_is_a_pipe(scratch: Path) -> str:
    place = Place(scratch)
    session_file(place.clone / "talk.jsonl", b"not a row")
    os.mkfifo(place.clone / "talk.jsonl.bad")
    ran = place.ask("--session", "talk.jsonl")
    return ran.unclean or ("" if "talk.jsonl.bad" in ran.err else f"not a word about it: {ran.err}")


@attack("sessions", "the session itself is a pipe, a device, a directory", expect="refused")
def session_is_no_file(scratch: Path) -> str:
    place = Place(scratch)
    os.mkfifo(place.clone / "pipe.jsonl")
    (place.clone / "zero.jsonl").symlink_to("/dev/zero")
    (place.clone / "directory.jsonl").mkdir()
    for name in ("pipe.jsonl", "zero.jsonl", "directory.jsonl"):
        for words in (["sessions", "import", name], ["sessions", "export", name, "out"], ["sessions", "fork", name]):
            if (ran := place.run(*words)).unclean or ran.code != 1:
                return f"{' '.join(words)}: {ran.unclean or ran.told}"
        if (ran := place.ask("--session", name)).unclean or ran.code != 1:
            return f"--session {name}: {ran.unclean or ran.told}"
    return ""


@attack("sessions", "a file that cannot be read to its end is imported, exported, forked", expect="one line")
def session_that_cannot_be_read(scratch: Path) -> str:
    place = Place(scratch)
    for verb in ("import", "export", "fork"):
        ran = place.run("sessions", verb, "/proc/self/mem")  # opens, and then fails to be read
        if ran.unclean or ran.code != 1 or not ran.err.startswith("zot: cannot read /proc/self/mem"):
            return f"sessions {verb}: {ran.unclean or ran.told}"
    return ""


@attack("sessions", "one flipped byte in the arguments of a call", expect="skipped; the rest opens")
def flipped_byte_in_a_call(scratch: Path) -> str:
    place = Place(scratch)
    block = {"type": "tool_call", "id": "t1", "name": "read", "arguments": {"path": "A"}}
    called = {"type": "message", "message": {"role": "assistant", "content": [block]}}
    later = {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "and then"}]}}
    session_file(place.clone / "talk.jsonl", json.dumps(called).encode().replace(b'"A"', b'"\xc1"'), later)
    for words in (["sessions", "fork", "talk.jsonl"], ["sessions", "export", "talk.jsonl", "out"]):
        if (ran := place.run(*words)).unclean or ran.code:
            return f"{' '.join(words)}: {ran.unclean or ran.told}"
    ran = place.ask("--session", "talk.jsonl")
    if ran.unclean or "the answer" not in ran.out:
        return ran.unclean or f"it does not open: {ran.told}"
    return "" if "1 unreadable line" in ran.err else f"not a word about it: {ran.err}"


@attack("sessions", "export where .NAME.tmp is a link to ../.bashrc", expect="not written through")
def export_through_a_planted_link(scratch: Path) -> str:
    place = Place(scratch)
    victim = place.user / ".bashrc"
    victim.write_text("export A=1\n")
    session_file(place.clone / "talk.jsonl")
    (place.clone / ".out.zotsession.tmp").symlink_to("../.bashrc")
    ran = place.run("sessions", "export", "talk.jsonl", "out.zotsession")
    if victim.read_text() != "export A=1\n":
        return "the session was written over .bashrc"
    return ran.unclean or ("" if (place.clone / "out.zotsession").stat().st_size else "nothing was exported")


@attack("sessions", "20,000 calls in one message", expect="opened in linear time")
def many_calls_in_one_message(scratch: Path) -> str:
    place = Place(scratch)
    calls = [{"type": "tool_call", "id": f"t{n}", "name": "read", "arguments": {}} for n in range(20_000)]
    results = [{"type": "tool_result", "call_id": f"t{n}", "content": []} for n in reversed(range(19_000))]
    rows = [
        {"type": "message", "message": {"role": "assistant", "content": calls}},
        {"type": "message", "message": {"role": "tool", "content": results}},
    ]
    session_file(place.clone / "talk.jsonl", *rows)
    ran = place.ask("--session", "talk.jsonl")
    return ran.unclean or ("" if "1000 tool calls had no recorded result" in ran.err else ran.told[-300:])
