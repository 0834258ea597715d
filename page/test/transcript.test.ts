import assert from "node:assert/strict";
import { test } from "node:test";
import { Transcript } from "../src/state/transcript.ts";
import type { Frame } from "../src/wire.ts";

const text = (value: string) => ({ type: "text" as const, text: value });

function applied(...frames: Frame[]): Transcript {
  const transcript = new Transcript();
  for (const frame of frames) transcript.apply(frame);
  return transcript;
}

const TURN: Frame[] = [
  { type: "user_message", content: [text("go")], time: "" },
  { type: "turn_start", step: 1 },
  { type: "assistant_start" },
  { type: "thinking_delta", delta: "hm" },
  { type: "thinking_end", seconds: 2 },
  { type: "text_delta", delta: "I " },
  { type: "text_delta", delta: "look" },
  { type: "tool_use_start", id: "1", name: "bash" },
  { type: "tool_use_args", id: "1", delta: '{"command":"ls"}' },
  { type: "assistant_message", content: [text("I look"), { type: "tool_call", id: "1", name: "bash", args: { command: "ls" } }], time: "" },
  { type: "tool_call", id: "1", name: "bash", args: { command: "ls" } },
  { type: "tool_progress", id: "1", text: "a\n" },
  { type: "tool_progress", id: "1", text: "b\n" },
  { type: "tool_result", id: "1", is_error: false, content: [text("a\nb\n")], view: null, decided_by: "you" },
  { type: "done" },
];

test("a turn becomes one entry for each part", () => {
  const { entries } = applied(...TURN);
  assert.deepEqual(entries.map((entry) => entry.kind), ["user", "thinking", "text", "tool"]);
  const [, thinking, answer, tool] = entries;
  assert.ok(thinking?.kind === "thinking" && thinking.seconds === 2 && !thinking.live);
  assert.ok(answer?.kind === "text" && answer.text === "I look" && !answer.live);
  assert.ok(tool?.kind === "tool" && tool.status === "done" && tool.output === "a\nb\n" && tool.decidedBy === "you");
});

test("an answer joined in the middle is completed by its message", () => {
  const { entries } = applied(
    { type: "text_delta", delta: "the end" },
    { type: "assistant_message", content: [text("the beginning and the end")], time: "" },
  );
  assert.equal(entries.length, 1);
  assert.ok(entries[0]?.kind === "text" && entries[0].text === "the beginning and the end");
});

test("messages load as the events that made them", () => {
  const transcript = new Transcript();
  transcript.load(
    [
      { role: "user", content: [text("go")], time: "" },
      { role: "assistant", content: [text("I look"), { type: "tool_call", id: "1", name: "bash", args: {} }], time: "" },
      { role: "tool", content: [{ type: "tool_result", call_id: "1", is_error: true, content: [text("no")] }], time: "" },
    ],
    false,
  );
  assert.deepEqual(transcript.entries.map((entry) => entry.kind), ["user", "text", "tool"]);
  const tool = transcript.entries[2];
  assert.ok(tool?.kind === "tool" && tool.status === "failed" && tool.output === "no");
});

test("progress that replaces, and calls that never ended", () => {
  const { entries } = applied(
    { type: "tool_call", id: "1", name: "x", args: {} },
    { type: "tool_progress", id: "1", text: "one" },
    { type: "tool_progress", id: "1", text: "two", replace: true, fraction: 0.5 },
    { type: "done" },
  );
  assert.ok(entries[0]?.kind === "tool" && entries[0].output === "two" && entries[0].status === "failed");
});
