"""Every place of the source that starts a process or a worker, and how a session's limits hold there.

A new place fails this test until it has a row: either it passes the session's jail, or it runs a fixed program of zot
or of the user and says why no limit of a session is widened.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "zot"
STARTS = {
    *("subprocess.Popen", "subprocess.run", "subprocess.check_output", "subprocess.check_call", "subprocess.call"),
    *("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "os.fork", "os.forkpty", "os.system"),
    *("os.popen", "os.posix_spawn", "os.posix_spawnp", "pty.spawn", "pty.fork", "spawn", "start_process", "run_hook"),
    *("StartWorker", "multiprocessing.Process"),
}

# Calls that take the session's jail as ``jail=``; what each of them starts is what the session allowed.
JAILED = {
    "agent/tools/workspace.py Workspace._start spawn": "commands of tools",
    "features/hooks/host.py HookHost._run run_hook": "hooks",
    "features/hooks/hook_process.py run_hook spawn": "hooks",
    "features/mcp/stdio_transport.py StdioTransport.start start_process": "MCP servers",
    "features/extensions/program.py _started spawn": "exec.run of extensions",
    "features/extensions/methods/programs.py _lent spawn": "terminal.run of extensions, in a jail",
    "features/web/conversion.py _start spawn": "the converter of fetched pages",
    "features/child_process.py start_process spawn": "MCP servers and extensions",
    "swarm/git/merge.py CommandCheck.__call__ spawn": "the check of a merge, in a jail of the merged files",
    "cli/verbs/jail.py _run spawn": "zot jail",
    "devkit/scripted_host.py _start spawn": "zot ext check, with the extension's own permissions",
}
# A worker gets its limits from its configuration; tests/e2e/test_swarm_limits.py and `make attack` prove each of them.
WORKERS = {
    "swarm/client.py SupervisorClient.start StartWorker": "the specification is made by worker_config.worker_spec",
    "swarm/engines/local.py spawn_worker spawn": "zot rpc --config-fd, with that configuration",
}
# Fixed programs that no model, tool, project or extension chooses.
FIXED = {
    "features/checkpoints/command_watcher.py GitIndex.contents subprocess.run": "git cat-file, reads objects",
    "features/extensions/bytecode_cache.py compile_ahead subprocess.run": "python, compiles trusted files",
    "features/extensions/install/source.py _clone subprocess.run": "git clone, for the user's zot ext install",
    "features/extensions/install/source.py _commit subprocess.run": "git rev-parse of that clone",
    "features/extensions/loader/data_dir.py git_lines subprocess.run": "git, lists ignored files",
    "features/login/browser.py open_in_browser subprocess.Popen": "the user's browser, for a login",
    "frontends/terminal/editor/clipboard.py _output asyncio.create_subprocess_exec": "the clipboard's program",
    "frontends/terminal/editor/clipboard.py _gave asyncio.create_subprocess_exec": "the clipboard's program",
    "features/extensions/methods/programs.py _lent asyncio.create_subprocess_exec": "terminal.run without a jail",
    "frontends/terminal/editor/editor_host.py "
    "TerminalEditorHost.lend_terminal.run asyncio.create_subprocess_exec": "vi …",
    "local_model/package_source.py run_quietly spawn": "pip, for zot local install",
    "local_model/server_manager.py _started subprocess.Popen": "the local model's server",
    "provider/auth/credential_lookup.py _run subprocess.Popen": "the user's own key command",
    "provider/auth/oauth/refresh_process.py _started subprocess.Popen": "zot, refreshes a token",
    "swarm/client.py _spawned subprocess.Popen": "zot, the supervisor",
    "swarm/engines/ray/engine.py _BridgeClient.join asyncio.create_subprocess_exec": "zot, the bridge to Ray",
    "swarm/engines/ray/node_host.py _Room.__init__ subprocess.run": "git, makes a worker's tree on a node",
    "swarm/git/safe_git.py _run asyncio.create_subprocess_exec": "git, without hooks, filters and configuration",
    "system/jail/git_config.py _entries subprocess.run": "git config --list, runs nothing it reads",
    "system/jail/jail.py _trouble_with subprocess.run": "bubblewrap, tried out",
    "system/jail/launcher.py _popen subprocess.Popen": "the jail itself",
    "system/jail/seatbelt.py trouble subprocess.run": "the macOS sandbox, tried out",
    "system/process_table.py _from_ps subprocess.run": "ps",
    "system/processes.py _Children.spawn subprocess.Popen": "what spawn starts without a jail",
    "system/processes.py _ChildWatch._start subprocess.Popen": "the helper that ends children of a killed zot",
    "frontends/serve/certificates.py _run subprocess.run": "openssl, makes the certificate of zot serve --lan",
    "frontends/serve/rpc_process.py RpcProcess.start start_process": "zot rpc, with the flags of zot serve",
    "frontends/serve/running_server.py start_server subprocess.Popen": "zot serve, as narrow as its starter",
    "client/process.py RpcProcess.spawn asyncio.create_subprocess_exec": "zot rpc, by the embedding program",
    "cli/pager.py _paged subprocess.Popen": "the user's $PAGER, for help and zot docs",
    "devkit/cli/ext_dev.py PromptLoop._one_run asyncio.create_subprocess_exec": "zot, for zot ext dev",
}


@cache
def trees() -> dict[str, ast.Module]:
    files = (path for path in sorted(SOURCE.rglob("*.py")) if "starters" not in path.parts)
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in files}


@cache
def starts() -> list[tuple[str, ast.Call]]:
    return [found for file, tree in trees().items() for found in _calls(file, tree, ())]


def _calls(file: str, node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        inner = names
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = (*names, child.name)
        if isinstance(child, ast.Call) and (called := ast.unparse(child.func)) in STARTS:
            yield f"{file} {'.'.join(names)} {called}", child
        yield from _calls(file, child, inner)


def test_every_start_of_a_process_is_listed() -> None:
    found = {place for place, _ in starts()}
    assert found == {*JAILED, *WORKERS, *FIXED}


@pytest.mark.parametrize("place", JAILED)
def test_start_passes_the_jail(place: str) -> None:
    calls = [call for found, call in starts() if found == place]
    assert any(keyword.arg == "jail" for call in calls for keyword in call.keywords)


def test_workers_start_only_from_a_derived_configuration() -> None:
    """``WorkerSpec`` is made in one function, which narrows the starter's configuration."""
    made = [
        file
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "WorkerSpec"
    ]
    assert made == ["swarm/worker_config.py"]
