"""MCP configuration: existing files are read unchanged, and mistakes are reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from zot.errors import ConfigError, NotThere
from zot.features.mcp.config import ServerConfig, expand_variables, load, parse_server, resolve_names, without_comments


def entries(tmp_path: Path, text: str, problems: list[str] | None = None) -> dict[str, ServerConfig]:
    (tmp_path / ".mcp.json").write_text(text)
    told: list[str] = [] if problems is None else problems
    return resolve_names(load(tmp_path / "home", tmp_path, problems=told), told)


def test_file_of_other_agents_is_read_unchanged(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "mcpServers": {
                "files": {"command": "npx", "args": ["-y", "server", 1], "env": {"A": "b", "N": 3, "T": True}},
                "web": {"type": "streamable-http", "url": "https://a.example/mcp", "headers": {"X": "y"}},
                "typed": {"url": "https://b.example"},
                "off": {"command": "x", "disabled": True},
            }
        }
    )
    found = entries(tmp_path, text)
    assert found["files"].args == ("-y", "server", "1")
    assert found["files"].env == {"A": "b", "N": "3", "T": "true"}
    assert (found["files"].kind, found["web"].kind, found["typed"].kind) == ("stdio", "http", "http")
    assert not found["off"].enabled
    assert found["files"].shown() == "A=b N=3 T=true npx -y server 1"


def test_editor_key_comments_and_trailing_commas_are_read(tmp_path: Path) -> None:
    text = '// mine\n{"servers": {/* one */ "a": {"command": "x", "args": ["// no", "/* no */",],},}}'
    assert entries(tmp_path, text)["a"].args == ("// no", "/* no */")


def test_duplicate_key_rejects_the_file_and_is_named(tmp_path: Path) -> None:
    problems: list[str] = []
    text = '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}'
    assert entries(tmp_path, text, problems) == {}
    assert problems == [f"mcp: {tmp_path / '.mcp.json'}: duplicate key 'a'"]


def test_syntax_error_has_its_position(tmp_path: Path) -> None:
    problems: list[str] = []
    assert entries(tmp_path, '{"mcpServers":\n {"a" {}}}', problems) == {}
    assert "line 2, column" in problems[0]


WRONG: list[tuple[Any, str]] = [
    ({}, 'expected "command"'),
    ({"type": "telepathy", "command": "x"}, "unknown type"),
    ({"type": "http", "url": "file:///etc"}, "expected https://"),
    ({"command": 3}, "Expected `str`"),
    ("x", "Expected `object`"),
]


@pytest.mark.parametrize(("fields", "said"), WRONG)
def test_invalid_entry_is_skipped_alone(tmp_path: Path, fields: Any, said: str) -> None:
    problems: list[str] = []
    found = entries(tmp_path, json.dumps({"mcpServers": {"bad": fields, "good": {"command": "x"}}}), problems)
    assert list(found) == ["good"]
    assert len(problems) == 1 and "bad" in problems[0] and said in problems[0]


def test_nearest_definition_of_a_name_wins_with_a_notice(tmp_path: Path) -> None:
    home, flag = tmp_path / "home", tmp_path / "flag.json"
    (tmp_path / ".zot").mkdir()
    home.mkdir()
    for place, program in ((home / "mcp.json", "1"), (tmp_path / ".mcp.json", "2"), (tmp_path / ".zot/mcp.json", "3")):
        place.write_text(json.dumps({"mcpServers": {"a": {"command": program}}}))
    problems: list[str] = []
    assert resolve_names(load(home, tmp_path, problems=problems), problems)["a"].command == "3"
    assert len(problems) == 2 and ".mcp.json, not of" in problems[0]
    flag.write_text('{"mcpServers": {"a": {"command": "4"}}}')
    found = resolve_names(load(home, tmp_path, [str(flag)], problems=[]), [])
    assert (found["a"].command, found["a"].origin) == ("4", "flag")
    assert [entry.command for entry in load(home, tmp_path, [str(flag)], installed=False, problems=[])] == ["4"]


def test_file_from_flag_must_exist_and_be_valid(tmp_path: Path) -> None:
    with pytest.raises(NotThere, match=r"--mcp-config no\.json: no such file"):
        load(tmp_path, tmp_path, ["no.json"], problems=[])
    (tmp_path / "bad.json").write_text("[]")
    with pytest.raises(NotThere, match="one JSON object"):
        load(tmp_path, tmp_path, [str(tmp_path / "bad.json")], problems=[])


def test_variables_are_replaced_everywhere_and_unset_ones_stay(tmp_path: Path) -> None:
    entry = parse_server(
        "a",
        {
            "command": "${BIN}/run",
            "args": ["${A:-x}", "${B:-y}", "${C}", "$C", "${not a name}", "${open", "${A}${A}"],
            "env": {"K": "key-${A}"},
            "cwd": "${A}",
        },
    )
    made, missing = expand_variables(entry, {"BIN": "/opt", "A": "1", "B": ""}.get)
    assert made.command == "/opt/run"
    assert made.args == ("1", "y", "${C}", "$C", "${not a name}", "${open", "11")
    assert (made.env, made.cwd, missing) == ({"K": "key-1"}, "1", ["C"])
    assert entry.shown().startswith("K='key-${A}' '${BIN}/run'")  # a person is shown what the file says


def test_trust_covers_the_command_that_would_run() -> None:
    one = parse_server("a", {"command": "x", "args": ["1"], "env": {"A": "b"}})
    for other in ({"args": ["2"]}, {"env": {"A": "c"}}, {"command": "y"}, {"cwd": "/tmp"}):
        changed = parse_server("a", {"command": "x", "args": ["1"], "env": {"A": "b"}, **other})
        assert changed.content() != one.content()


def test_entry_without_a_name_is_skipped() -> None:
    with pytest.raises(ConfigError):
        parse_server(" ", {"command": "x"})


def test_comments_inside_strings_stay_and_places_do_not_move() -> None:
    data = b'{"a": "x // y\\" /* z */", /* gone\n */ "b": [1, 2, ] } // end'
    assert without_comments(data) == b'{"a": "x // y\\" /* z */",        \n    "b": [1, 2  ] }       '
