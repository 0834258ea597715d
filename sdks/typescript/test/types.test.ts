// The names authors meet, checked by the compiler; what a handler may return, checked by running.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  type ArgsOf,
  type ToolArgs,
  type AssistantMessageDecision,
  type AssistantMessageHandler,
  type EventHandler,
  type Context,
  Extension,
  type InterceptHandler,
  Response,
  type ToolCallDecision,
  type ToolCallHandler,
  type ToolContent,
  type ToolHandler,
  ToolResult,
  type TurnStartDecision,
  type TurnStartHandler,
  image,
  text,
  textErrorResult,
  textResult,
} from "../src/index.js";
import { schemaOf } from "../src/schema.js";
import { decisionOf, responseOf, resultOf, systemPromptOf, toolCallDecision } from "../src/returns.js";

test("decisions default to allow, and every handler type accepts its decision", () => {
  // ext-146
  const call: ToolCallDecision = {};
  const turn: TurnStartDecision = {};
  const message: AssistantMessageDecision = {};
  const onCall: ToolCallHandler = () => call;
  const onTurn: TurnStartHandler = () => turn;
  const onMessage: AssistantMessageHandler = () => message;
  const onIntercept: InterceptHandler = () => [true, ""];
  const onTool: ToolHandler = () => textResult("x");
  const onEvent: EventHandler = () => undefined;
  const ctx = undefined as unknown as Context;
  const block: ToolContent = text("x");
  assert.deepEqual([call, turn, message, onCall("x", {}, ctx), onTurn(1, ctx), onMessage("", ctx)], [{}, {}, {}, {}, {}, {}]);
  assert.deepEqual([typeof onIntercept, typeof onTool, typeof onEvent, block.type], ["function", "function", "function", "text"]);
});

test("arguments get their type from the schema", () => {
  type Args = ArgsOf<{
    readonly type: "object";
    readonly properties: { readonly city: { readonly type: "string" }; readonly unit: { readonly enum: readonly ["C", "F"] } };
    readonly required: readonly ["city"];
  }>;
  const args: Args = { city: "Berlin" };
  const unit: "C" | "F" | undefined = args.unit;
  assert.equal(unit, undefined);
  // @ts-expect-error a city is a string
  const wrong: Args = { city: 3 };
  assert.ok(wrong);
});

test("a tool may return text, blocks, data or nothing", () => {
  assert.deepEqual(resultOf("x"), textResult("x"));
  assert.deepEqual(resultOf(undefined), new ToolResult());
  assert.deepEqual(resultOf(image("image/png", "aA==")).content, [{ type: "image", mime_type: "image/png", data: "aA==" }]);
  assert.deepEqual(resultOf({ n: 1 }), new ToolResult({ content: [text('{"n":1}')], structured_content: { n: 1 } }));
  assert.equal(textErrorResult("no").is_error, true);
});

test("a command may return a Response, text or nothing", () => {
  assert.deepEqual(responseOf("x"), Response.display("x"));
  assert.deepEqual(responseOf(undefined), Response.noop());
  assert.throws(() => responseOf(3), TypeError);
});

test("a decision with a misspelt key is a crash, not a yes", () => {
  assert.throws(() => decisionOf({ blocked: true }, ["block", "reason"]), TypeError);
  assert.throws(() => toolCallDecision("no"), TypeError);
  assert.throws(() => systemPromptOf(3), TypeError);
  assert.deepEqual(toolCallDecision([false, "why"]), { block: true, reason: "why" });
});

test("speaking before the run is the author's mistake and says so", () => {
  assert.throws(() => new Extension("x").notify("info", "y"), /not running yet/);
});

test("the short form of a schema names the type of each argument", () => {
  assert.deepEqual(schemaOf({ env: "string", times: "integer?" }), {
    type: "object",
    properties: { env: { type: "string" }, times: { type: "integer" } },
    required: ["env"],
  });
  for (const whole of [{}, { type: "object" }, { type: "object", properties: { type: { type: "string" } } }]) {
    assert.equal(schemaOf(whole), whole);
  }
  const args: ToolArgs<{ readonly env: "string"; readonly times: "integer?" }> = { env: "x" };
  const times: number | undefined = args.times;
  assert.equal(times, undefined);
  // @ts-expect-error an env is a string
  const wrong: ToolArgs<{ readonly env: "string" }> = { env: 3 };
  assert.ok(wrong);
});
