"""zot beside other agents' command lines, in one run: the same scripted server, the same prompt, a scratch home each.

They take turns, so that a slow minute is everyone's. A peer has its own defaults and no network: its first run, which
unpacks things into its home, is not counted, and whatever it wants from outside is refused at once (a proxy at which
nobody listens), which is quicker than an answer. Only the first byte of codex as it comes is a budget; codex without
what it looks for outside stands beside it, because that is the quickest it can be.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from benchmarks.install_peers import CODEX, LLM, PEERS, PI, Peer
from benchmarks.measure import peak_rss_mb, run, scratch_home
from benchmarks.row import Row
from tests.fakes.model_server import CallTools, FakeModelServer, Say, Timing

FIRST, GONE = "spawn → first byte of the request", "last byte of the answer → process gone"
MEMORY, STEP = "peak RSS, one short answer", "one tool step (true), median"
ROUNDS, STEPS = 12, 4
QUIET = ("--disable", "plugins", "--disable", "apps", "-c", "analytics.enabled=false")


@dataclass
class Agent:
    """One program in its home, and what was measured of it so far."""

    name: str
    command: Callable[[Path, str], list[str]]  # (home, the server's address) → argv; writes the settings it needs
    shell: tuple[str, dict[str, str]] | None  # its tool that runs `true`
    environment: dict[str, str] = field(default_factory=dict[str, str])
    cwd: Path = Path()
    first: list[float] = field(default_factory=list[float])
    gone: list[float] = field(default_factory=list[float])
    rss: list[float] = field(default_factory=list[float])
    steps: list[float] = field(default_factory=list[float])

    def settle(self, home: Path, cwd: Path) -> None:
        """Nothing of the user's environment but PATH: each of them has variables that name a configuration."""
        self.cwd = cwd
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
            "ANTHROPIC_API_KEY": "bench",
            "OPENAI_API_KEY": "bench",
        }

    def argv(self, server: FakeModelServer) -> list[str]:
        return self.command(Path(self.environment["HOME"]), server.url)

    def works(self) -> bool:
        """The run that is not counted. A peer that cannot run here is named and left out."""
        with FakeModelServer([Say("a short answer")]) as server:
            try:
                done = subprocess.run(
                    self.argv(server),
                    env=self.environment,
                    cwd=self.cwd,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=120,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                return self._left_out(str(error))
            if done.returncode != 0 or b"a short answer" not in done.stdout:
                return self._left_out(f"exit {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
        return True

    def _left_out(self, why: str) -> bool:
        print(f"        {self.name} does not run here and is left out: {why}", flush=True)
        return False

    def answer(self) -> None:
        with FakeModelServer([Say("a short answer")]) as server:
            process = run(self.argv(server), self.environment, self.cwd)
            asked = prompts(server)
        self.first.append(asked[0].first_byte - process.started)
        self.gone.append(process.ended - asked[-1].last_byte)

    def weigh(self) -> None:
        with FakeModelServer([Say("a short answer")]) as server:
            self.rss.append(peak_rss_mb(self.argv(server), self.environment, self.cwd))

    def work(self) -> None:
        if self.shell is None:
            return
        with FakeModelServer([*[CallTools([self.shell])] * STEPS, Say("done")]) as server:
            run(self.argv(server), self.environment, self.cwd)
            asked = prompts(server)
        if len(asked) != STEPS + 1:
            raise SystemExit(f"bench: {self.name} sent {len(asked)} requests for {STEPS} tool steps")
        self.steps += [after.first_byte - before.last_byte for before, after in pairwise(asked)]

    def rows(self) -> Iterator[Row]:
        yield Row(FIRST, min(self.first) * 1000, None, "ms", whose=self.name)
        yield Row(GONE, min(self.gone) * 1000, None, "ms", whose=self.name)
        yield Row(MEMORY, min(self.rss), None, "MB", whose=self.name)
        if self.steps:
            yield Row(STEP, sorted(self.steps)[len(self.steps) // 2] * 1000, None, "ms", whose=self.name)


def prompts(server: FakeModelServer) -> list[Timing]:
    """The model's requests alone: some ask for the list of models too."""
    return [timing for seen, timing in zip(server.requests, server.timings, strict=True) if seen.method == "POST"]


def rows(p: float) -> Iterator[Row]:
    if not any(peer.command for peer in PEERS):
        print("        nobody to compare with: `make peers` installs codex, pi and llm into .cache/peers", flush=True)
        return
    with ExitStack() as stack:
        zot = Agent("zot -p", zot_command, ("bash", {"command": "true"}))
        if not settled(zot, stack):
            raise SystemExit("bench: there is nothing to compare")
        others = [peer for peer in peers() if settled(peer, stack)]
        for number in range(ROUNDS):
            for agent in (zot, *others):
                agent.answer()
                if number < 3:
                    agent.work()
                    agent.weigh()
    for other in others:
        if other.name == title(CODEX):
            yield against(zot, other, p)
    for agent in (zot, *others):
        yield from agent.rows()


def settled(agent: Agent, stack: ExitStack) -> bool:
    environment, cwd = stack.enter_context(scratch_home())
    agent.settle(Path(environment["HOME"]), cwd)
    return agent.works()


def against(zot: Agent, codex: Agent, p: float) -> Row:
    ours, theirs = min(zot.first), min(codex.first)
    note = f"{ours * 1000:.0f} ms, {theirs * 1000:.0f} ms ({ours / p:.1f} P, {theirs / p:.1f} P)"
    return Row("zot -p: first byte, over codex's", ours / theirs, 1, "×", note=note)


def peers() -> Iterator[Agent]:
    if path := CODEX.command:
        shell = ("exec_command", {"cmd": "true"})
        yield Agent(title(CODEX), lambda _, url, path=path: codex_command(path, url), shell)
        yield Agent(f"{title(CODEX)}, quiet", lambda _, url, path=path: codex_command(path, url, *QUIET), shell)
    if path := PI.command:
        yield Agent(title(PI), lambda home, url, path=path: pi_command(path, home, url), ("bash", {"command": "true"}))
    if path := LLM.command:
        yield Agent(title(LLM), lambda home, url, path=path: llm_command(path, home, url), None)


def title(peer: Peer) -> str:
    return f"{peer.name} {peer.version}"


def zot_command(home: Path, url: str) -> list[str]:
    return [f"{sys.prefix}/bin/zot", "-p", "hi", "--base-url", url]


def codex_command(path: Path, url: str, *switches: str) -> list[str]:
    """Without its sandbox, as zot has none unless asked: it would cost codex time at every step."""
    provider = f'{{name = "bench", base_url = "{url}/v1", wire_api = "responses"}}'
    settings = ["-c", f"model_providers.bench={provider}", "-c", 'model_provider="bench"', "-m", "bench"]
    free = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return [str(path), "exec", *free, *settings, *switches, "hi"]


def pi_command(path: Path, home: Path, url: str) -> list[str]:
    provider = {"baseUrl": url, "api": "anthropic-messages", "apiKey": "bench", "models": [{"id": "bench"}]}
    write(home / ".pi" / "agent" / "models.json", json.dumps({"providers": {"bench": provider}}))
    return [str(path), "-p", "--provider", "bench", "--model", "bench", "hi"]


def llm_command(path: Path, home: Path, url: str) -> list[str]:
    model = f"- model_id: bench\n  model_name: bench\n  api_base: {url}/v1\n"
    write(home / ".config" / "io.datasette.llm" / "extra-openai-models.yaml", model)
    return [str(path), "-m", "bench", "hi"]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
