// Plays zot against this extension, through the same pipe. Run: node --test

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import test from "node:test";

const cwd = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(new URL("extension.json", import.meta.url), "utf8"));

/** What the extension answers when zot says these frames and goodbye. */
function play(...frames) {
  const lines = [{ type: "hello_ack", protocol_version: 1 }, ...frames, { type: "shutdown" }];
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const done = spawnSync(manifest.exec, manifest.args, { cwd, input, encoding: "utf8", timeout: 30_000 });
  assert.equal(done.status, 0, done.stderr);
  return done.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
}

test("it registers a command and a tool", () => {
  const types = play().map((frame) => frame.type);
  assert.equal(types[0], "hello");
  assert.ok(types.includes("register_command") && types.includes("register_tool"));
  assert.equal(types.at(-1), "shutdown_ack");
});

test("the tool counts", () => {
  const call = { type: "tool_call", id: "1", name: "__TOOL__", args: { text: "one two three" } };
  const result = play(call).find((frame) => frame.type === "tool_result");
  assert.deepEqual(result.content, [{ type: "text", text: "3 words, 13 characters" }]);
});
