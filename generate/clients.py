"""The generated types of the RPC client libraries: path to the function that makes its text."""

from __future__ import annotations

from collections.abc import Callable

from generate import rpc_go, rpc_typescript


def pages() -> dict[str, Callable[[], str]]:
    return {
        "sdks/typescript/src/rpc.ts": rpc_typescript.module,
        "sdks/go/client/wire.go": rpc_go.module,
    }
