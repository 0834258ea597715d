"""The MCP search tool: one tool within a budget, plus the tools found."""

from __future__ import annotations

import msgspec

from tests.fakes.mcp_server import command
from tests.unit.features.mcp.conftest import Stage
from zot.core.tool import spec_of
from zot.features.mcp.config import parse_server
from zot.features.mcp.list_cache import ServerLists, ToolRow, save_lists
from zot.features.mcp.tools import describe_servers, ranked, unique_tool_names


def listed(*names: str, about: str = "what {} does") -> ServerLists:
    schema = msgspec.Raw(b'{"type":"object","properties":{"path":{"type":"string"}}}')
    return ServerLists(
        era="modern", asked=1.0, tools=tuple(ToolRow(name, about.format(name), "", schema) for name in names)
    )


def test_twenty_servers_cost_less_than_fifteen_hundred_bytes(stage: Stage) -> None:
    names = [f"some_rather_long_tool_name_{n}" for n in range(30)]
    entries = {f"company-server-{n}": command(tools=[str(n)]) for n in range(20)}
    for name, fields in entries.items():
        save_lists(stage.home, parse_server(name, fields), listed(*names))
    [search] = stage.host(entries).tools()
    spec = msgspec.json.encode({"name": search.name, "description": search.description, "input_schema": search.schema})
    line = len(f"- {search.name}: {search.description.partition('. ')[0]}.\n")
    assert len(spec) + line < 1500
    assert "company-server-19" in search.description
    assert "Find tools of the user's MCP servers and make them callable." in search.description


def test_few_servers_are_listed_with_their_tools() -> None:
    text = describe_servers(
        {"git": listed("status", "diff"), "time": None, "many": listed(*(f"t{n}" for n in range(300)))}
    )
    assert "Servers: git (status, diff), time, many (t0, t1," in text and text.endswith(", …)")
    assert len(text) < 1100


def test_a_hundred_servers_stay_within_the_budget() -> None:
    text = describe_servers({f"server-number-{n}": listed("a") for n in range(100)})
    assert len(text) < 1050 and text.endswith(" …")


async def test_only_search_tool_is_offered_before_a_search(stage: Stage) -> None:
    changes: list[int] = []
    host = stage.host()
    host.on_tools_changed = lambda: changes.append(1)
    before = spec_of(host.tools()[0])
    assert [tool.name for tool in host.tools()] == ["mcp_search"]
    await stage.find(host, "echo")
    assert [tool.name for tool in host.tools()] == ["mcp_search", "mcp__fake__echo", "mcp_resource"] and changes
    assert spec_of(host.tools()[0]) == before  # what every request begins with stays as it was
    assert spec_of(host.tools()[1]).deferred


async def test_search_without_match_lists_available_tools(stage: Stage) -> None:
    assert "No tool matches; available:\n- mcp__fake__echo" in await stage.find(stage.host(), "zebra")


async def test_search_reports_missing_server(stage: Stage) -> None:
    host = stage.host({"a b": command(), "c": command()})
    assert "mcp__a_b__echo" in await stage.find(host, "echo", server="a_b")
    try:
        await stage.find(host, "echo", server="d")
    except Exception as error:
        assert "unknown MCP server 'd'; configured: a b, c" in str(error)


async def test_pins_are_always_there(stage: Stage) -> None:
    await stage.find(stage.host(), "echo")
    host = stage.host(pins=("mcp__fake__echo", "mcp__fake__gone"))
    assert [tool.name for tool in host.tools()] == ["mcp_search", "mcp__fake__echo"]
    assert not spec_of(host.tools()[1]).deferred
    assert len(stage.host(pins=("fake",)).tools()) > 15
    assert len(stage.host(pins=("*",)).tools()) > 15


def test_names_are_cleaned_cut_and_never_the_same() -> None:
    rows, problems = unique_tool_names(
        {"a.b": listed("x/y", "x.y"), "a b": listed("x/y"), "c": listed("t" * 200, "t" * 201)}
    )
    assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in rows)
    assert {server for server, _ in rows.values()} == {"a.b", "a b", "c"} and len(rows) == 4
    assert any("duplicate tool mcp__a_b__x_y; the first is used" in text for text in problems)
    assert any("two server names are equal after cleaning; a b is called a_b_2" in text for text in problems)


def test_exact_names_come_first_then_best_matches() -> None:
    rows, _ = unique_tool_names({"git": listed("git_status", "git_diff_staged", "git_diff"), "fs": listed("read_file")})
    assert ranked("git_diff", rows)[0] == "mcp__git__git_diff"
    assert ranked("mcp__fs__read_file, git_status", rows)[:2] == ["mcp__git__git_status", "mcp__fs__read_file"]
    assert ranked("read a file", rows) == ["mcp__fs__read_file"]
    assert ranked("", rows) == []
