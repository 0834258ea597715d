"""The generated pages of the RPC wire: path to the function that makes its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec

from generate import rpc_reference
from generate.rpc_meanings import meaning
from zot.wire import rpc_frames


def pages() -> dict[str, Callable[[], str]]:
    return {
        "docs/schema/rpc.json": schema,
        "docs/reference/rpc.md": rpc_reference.page,
    }


def schema() -> str:
    """Commands and server lines as JSON Schema, with the data of each response by command."""
    commands, lines = get_args(rpc_frames.AnyCommand), get_args(rpc_frames.ServerLine)
    answers = tuple(dict.fromkeys(rpc_frames.DATA.values()))
    _, definitions = msgspec.json.schema_components((*commands, *lines, *answers), ref_template="#/$defs/{name}")
    for name, definition in definitions.items():
        _explain(name, definition, command=name in {struct.__name__ for struct in commands})
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Lines of zot rpc, protocol version 1.",
        "oneOf": [{"$ref": "#/$defs/Command"}, {"$ref": "#/$defs/ServerLine"}],
        "data": {command: _ref(struct) for command, struct in rpc_frames.DATA.items()},
        "$defs": {
            "Command": {"description": "What a client writes.", "oneOf": [_ref(struct) for struct in commands]},
            "ServerLine": {"description": "What zot writes.", "oneOf": [_ref(struct) for struct in lines]},
            **definitions,
        },
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n"


def _ref(struct: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": f"#/$defs/{struct.__name__}"}


def _explain(name: str, definition: dict[str, Any], *, command: bool) -> None:
    definition["description"] = " ".join(definition.get("description", "").split()).replace("``", "`")
    for key, value in definition["properties"].items():
        if key != "type":
            value["description"] = meaning(name, key, command=command)
