// Plays zot against this extension, through the same pipe: frames.json has the frames and what must come back.
// Run: node --test

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import test from "node:test";

const cwd = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
const manifest = read("extension.json");
const play = read("frames.json");
const features = ["request", "contribute", "progress", "intercept2", "dialogs", "surfaces", "providers", "state"];
const ack = { type: "hello_ack", protocol_version: 1, edition: 2, features, granted: manifest.uses };

test("it answers as frames.json says", () => {
  const lines = [ack, ...play.frames, { type: "shutdown" }];
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const done = spawnSync(manifest.exec, manifest.args, { cwd, input, encoding: "utf8", timeout: 30_000 });
  assert.equal(done.status, 0, done.stderr);
  for (const expected of play.expected) assert.ok(done.stdout.includes(expected), `no ${expected} in:\n${done.stdout}`);
});
