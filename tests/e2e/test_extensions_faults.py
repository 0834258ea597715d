"""The fault matrix: a failing guard never permits the side effect, in every mode.

The model asks for one command that leaves a file behind. Each fault runs under ``-p`` and ``--json`` at once.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say

ASKED = "hello(); subscribe(intercept=['tool_call']); ready()\ndef ask(f):\n    {}\nserve(event_intercept=ask)"

FAULTS = {
    "cannot be started": "",
    "crashes before hello": "sys.exit(1)",
    "crashes after hello": "hello(); os._exit(1)",
    "crashes when asked": ASKED.format("os._exit(1)"),
    "is killed when asked": ASKED.format("os.kill(os.getpid(), 9)"),
    "never says hello": "time.sleep(300)",
    "says something else first": "print('Loading...', flush=True); hello(); time.sleep(300)",
    "hangs": ASKED.format("time.sleep(300)"),
    "floods 100 MB": ASKED.format("[raw(b'x' * 9999 + b'\\n') for _ in range(10000)]; answer(f)"),
    "answers invalid UTF-8": ASKED.format("raw(b'\\xff\\xfe\\n'); answer(f)"),
    "sends a 10 MB line": ASKED.format("raw(b'x' * (10 << 20) + b'\\n'); answer(f)"),
    "sends no newline": ASKED.format('raw(b\'{"type":"event_intercept_response"\'); time.sleep(300)'),
    "stops reading stdin": "hello(); subscribe(intercept=['tool_call']); ready(); time.sleep(300)",
    "closes stdout only": ASKED.format("os.close(1); time.sleep(300)"),
    "answers other ids": ASKED.format("[answer({'id': i}) for i in ('', '0', 'x', '999')]"),
    "answers a wrong type": ASKED.format("answer(f, block='no')"),
    "subscribes to nothing": "hello(); ready(); serve()",
    "never says that it is ready": "hello(); time.sleep(300)",
    "ends quietly": "hello(); subscribe(intercept=['tool_call']); ready(); time.sleep(0.1)",
    "leaves a grandchild holding the pipe": "import subprocess\nhello(); ready(); subprocess.Popen(['sleep', '300'])",
}
SLOW = 15  # seconds: the longest is a 5 s answer after a 3 s start, on a busy machine


def run_both(zot: Zot, *flags: str) -> list[tuple[int, str, str]]:
    """The exit code, stdout and stderr of print and JSON mode, run side by side."""
    running = [zot.start(mode, "go", *flags) for mode in ("-p", "--json")]
    ended = [(process.communicate(timeout=60), process.returncode) for process in running]
    return [(code, out.decode(), err.decode()) for (out, err), code in ended]


def script(zot: Zot) -> list[Any]:
    touch = CallTools([("bash", {"command": "touch side-effect"})])

    def answer(request: Any) -> Any:
        return Say("done") if "tool_result" in request.body.decode() else touch

    return [answer] * 4


@pytest.mark.parametrize("fault", FAULTS)
def test_failing_guard_denies_everything(zot: Zot, serve: Any, fault: str) -> None:
    """ext-079, ext-080: a guard that fails in any way denies every tool and reports it; the run continues."""
    server = serve(script(zot))
    options = {"exec": "./missing"} if fault == "cannot be started" else {}
    write_extension(zot.home / "zot" / "extensions", "g", FAULTS[fault], guard=True, **options)
    began = time.monotonic()
    both = run_both(zot)
    assert time.monotonic() - began < SLOW
    assert not (zot.project / "side-effect").exists()
    for code, out, err in both:
        assert code == 0 and "done" in out
        told = [line for line in err.splitlines() if "g" in line and "ext" in line]
        assert told and "Traceback" not in err
    told_model = [request for request in server.requests if "tool_result" in request.body.decode()]
    assert len(told_model) == 2
    for request in told_model:
        assert "denied: the guard" in json.dumps(request.json["messages"][-1])


def test_same_faults_in_ordinary_extensions_are_harmless(zot: Zot, serve: Any) -> None:
    """ext-006, ext-066, ext-080: all quick ones at once, beside one that works."""
    server = serve(script(zot))
    slow = ("hangs", "sends no newline", "stops reading stdin", "answers other ids", "answers a wrong type")
    slow += ("subscribes to nothing", "never says that it is ready")
    quick = [name for name in FAULTS if name not in (*slow, "never says hello")]
    for name in quick:
        options = {"exec": "./missing"} if name == "cannot be started" else {}
        write_extension(zot.home / "zot" / "extensions", name.replace(" ", "-"), FAULTS[name], **options)
    write_extension(zot.home / "zot" / "extensions", "fine", 'hello(); tool("fine"); ready(); serve()')
    for code, out, _ in run_both(zot):
        assert code == 0 and "done" in out
    assert (zot.project / "side-effect").exists()
    assert all("fine" in [tool["name"] for tool in request.json["tools"]] for request in server.requests)


def test_a_working_guard_refuses_and_allows(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """The matrix can fail: the same run with an allowing guard leaves the file."""
    serve(script(zot))
    directory = write_extension(tmp_path, "g", ASKED.format("answer(f)"), guard=True)
    run_both(zot, "-e", str(directory))
    assert (zot.project / "side-effect").exists()
