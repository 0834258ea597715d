// The golden frames of the wire: what we write is equal byte for byte, what we read is all there.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { decode, encode } from "../src/codec.js";
import { type ChildFrame, KEYS } from "../src/frames.js";

const GOLDEN = new URL("../../../docs/schema/golden-frames.jsonl", import.meta.url);

function golden(to: string): string[] {
  const start = `{"to":"${to}","frame":`;
  const lines = readFileSync(GOLDEN, "utf8").split("\n");
  return lines.filter((line) => line.startsWith(start)).map((line) => line.slice(start.length, -1));
}

/** The same frame as an author might write it: keys the other way round, empty ones spelled out. */
function untidy(frame: Record<string, unknown>): ChildFrame {
  const empty = (KEYS[frame["type"] as string] ?? []).filter((rule) => rule.endsWith("?"));
  const spelled = Object.fromEntries(empty.map((rule) => [rule.slice(0, -1), ""]));
  return Object.fromEntries(Object.entries({ ...spelled, ...frame }).reverse()) as unknown as ChildFrame;
}

test("every golden frame to the host is written byte for byte", () => {
  const frames = golden("host");
  assert.ok(frames.length > 30);
  for (const line of frames) assert.equal(encode(untidy(JSON.parse(line))), line + "\n");
});

test("every golden frame from the host is read whole", () => {
  const frames = golden("child");
  assert.ok(frames.length > 15);
  for (const line of frames) assert.deepEqual(decode(line), JSON.parse(line));
});

test("lone surrogates become U+FFFD, pairs and escaped backslashes stay", () => {
  const message = "a\ud800b\ud83d\ude00\\ud800";
  assert.equal(
    encode({ type: "notify", level: "info", message }),
    '{"type":"notify","level":"info","message":"a\ufffdb\u{1f600}\\\\ud800"}\n',
  );
});

test("null means absent, an unknown type is undefined, and invalid input throws", () => {
  assert.deepEqual(decode('{"type":"command_invoked","id":"1","name":"x","args":null}'), {
    type: "command_invoked",
    id: "1",
    name: "x",
  });
  assert.equal(decode('{"type":"from_a_later_host"}'), undefined);
  for (const line of ["", "[]", "null", "{}", '{"type":1}', "garbage"]) assert.throws(() => decode(line));
});
