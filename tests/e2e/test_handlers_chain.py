"""Each SDK calls every registered handler: none replaces another, seen through a run of zot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import toolchains
from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say

CHAIN = {
    "python": """\
from zot_ext import Extension, ToolCallDecision
ext = Extension("chain", guard=True)

@ext.intercept_tool_call_x
def rewrites(tool, args):
    command = args.pop("command")
    if command == "touch old":
        return ToolCallDecision(modified_args={"command": "touch new"})

@ext.intercept_tool_call
def refuses(tool, args):
    return "secret" not in args["command"], "the second refuses"

@ext.intercept_tool_call
def allows(tool, args):
    ext.log("asked last:", args["command"])
    return True, ""

ext.on("turn_start")(lambda event: ext.log("first observer"))
ext.on("turn_start")(lambda event: ext.log("second observer"))
if __name__ == "__main__":
    ext.run()
""",
    "typescript": """\
import { Extension } from "./zot-ext/index.ts";
const ext = new Extension("chain", "", { guard: true });
ext.interceptToolCallX((tool, args) => {
  const { command } = args;
  delete args["command"];
  if (command === "touch old") return { modified_args: { command: "touch new" } };
});
ext.interceptToolCall((tool, args) => [!args["command"].includes("secret"), "the second refuses"]);
ext.interceptToolCall((tool, args) => {
  ext.log("asked last:", args["command"]);
  return [true, ""];
});
ext.on("turn_start", () => ext.log("first observer"));
ext.on("turn_start", () => ext.log("second observer"));
await ext.run();
""",
    "go": """\
package main

import (
	"encoding/json"
	"strings"

	ext "github.com/zot-agent/zot/sdks/go"
)

func command(args json.RawMessage) string {
	var given struct{ Command string }
	json.Unmarshal(args, &given)
	return given.Command
}

func main() {
	e := ext.New("chain", "").Guard()
	e.InterceptToolCallX(func(tool string, args json.RawMessage) (d ext.ToolCallDecision) {
		if command(args) == "touch old" {
			d.ModifiedArgs = json.RawMessage(`{"command":"touch new"}`)
		}
		clear(args)
		return d
	})
	e.InterceptToolCall(func(tool string, args json.RawMessage) (bool, string) {
		return !strings.Contains(command(args), "secret"), "the second refuses"
	})
	e.InterceptToolCall(func(tool string, args json.RawMessage) (bool, string) {
		e.Logf("asked last: %s", command(args))
		return true, ""
	})
	e.On("turn_start", func(ext.Event) { e.Logf("first observer") })
	e.On("turn_start", func(ext.Event) { e.Logf("second observer") })
	e.Run()
}
""",
}
MAIN = {"python": "main.py", "typescript": "main.ts", "go": "main.go"}
TWICE = {
    "python": ('ext.command("dup")(lambda args: None)\next.command("Dup")(lambda args: None)\n', "main.py:"),
    "typescript": ('ext.command("dup", "", () => {});\next.command("Dup", "", () => {});\n', "main.ts:"),
    "go": (
        'e.Command("dup", "", func(string) ext.Response { return ext.Noop() })\n'
        'e.Command("Dup", "", func(string) ext.Response { return ext.Noop() })\n',
        "main.go:",
    ),
}


@pytest.fixture
def author(zot: Zot) -> Zot:
    zot.environment |= toolchains.environment()
    return zot


def chain(author: Zot, language: str, source: str) -> Path:
    made = author("ext", "new", "chain", "--lang", language, "--guard")
    assert made.code == 0, made.err
    (author.project / "chain" / MAIN[language]).write_text(source)
    return author.project / "chain"


@pytest.mark.parametrize("language", CHAIN)
def test_handlers_are_a_chain_in_which_the_first_refusal_wins(author: Zot, serve, language: str) -> None:
    chain(author, language, CHAIN[language])
    calls = [CallTools([("bash", {"command": command})]) for command in ("touch secret", "touch old")]
    server = serve([*calls, Say("done")])
    ran = author("-p", "--ext", "chain", "go")
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    assert "the second refuses" in json.dumps(server.requests[1].json["messages"])
    assert {name for name in ("secret", "old", "new") if (author.project / name).exists()} == {"new"}
    said = (author.home / "zot/logs/ext-chain.log").read_text().splitlines()
    assert [line for line in said if "asked last" in line] == ["[chain] asked last: touch new"]
    observers = [line.removeprefix("[chain] ") for line in said if line.endswith("observer")]
    assert observers == ["first observer", "second observer"] * 3


@pytest.mark.parametrize("language", CHAIN)
def test_duplicate_name_aborts_start_and_missing_guard_denies(author: Zot, serve, language: str) -> None:
    twice, file = TWICE[language]
    run = {"python": "ext.on(", "typescript": "ext.on(", "go": "e.On("}[language]
    directory = chain(author, language, CHAIN[language].replace(run, twice + run, 1))
    serve([CallTools([("bash", {"command": "touch here"})]), Say("done")])
    ran = author("-p", "--ext", "chain", "go")
    assert not (author.project / "here").exists()
    assert 'command "Dup" is registered twice' in ran.err, ran.err
    assert ran.err.count(file) == 2, ran.err
    checked = author("ext", "check", str(directory), model=False)
    assert checked.code == 1
    assert 'command "Dup" is registered twice' in checked.out + checked.err
