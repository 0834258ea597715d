// Converts a handler's return value to an answer; an invalid value throws, which counts as a crash.

import { Response, ToolResult, text, textResult } from "./answers.js";
import type { Content, EventInterceptResponse } from "./frames.js";

type Answer = Partial<Omit<EventInterceptResponse, "type" | "id">>;

export function responseOf(value: unknown): Response {
  if (value instanceof Response) return value;
  if (value === undefined || value === null) return Response.noop();
  if (typeof value === "string") return Response.display(value);
  throw new TypeError(`a command returns a Response, a string or nothing, not ${typeof value}`);
}

export function resultOf(value: unknown): ToolResult {
  if (value instanceof ToolResult) return value;
  if (value === undefined || value === null) return new ToolResult();
  if (typeof value === "string") return textResult(value);
  if (isContent(value)) return new ToolResult({ content: [value] });
  if (Array.isArray(value) && value.length > 0 && value.every(isContent)) return new ToolResult({ content: value });
  return new ToolResult({ content: [text(JSON.stringify(value))], structured_content: value });
}

function isContent(value: unknown): value is Content {
  const type = (value as Content | null)?.type;
  return type === "text" || type === "image";
}

export function reconciled(value: unknown): ToolResult {
  return value instanceof ToolResult ? value : new ToolResult({ structured_content: { state: String(value) } });
}

/** A decision; an unknown key throws, so that a mistake does not count as "allow". */
export function decisionOf(value: unknown, keys: readonly string[]): Answer {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object") throw new TypeError(`expected a decision, got ${typeof value}`);
  const stranger = Object.keys(value).find((key) => !keys.includes(key));
  if (stranger !== undefined) throw new TypeError(`a decision has no "${stranger}"`);
  return value;
}

export function toolCallDecision(value: unknown): Answer {
  if (!Array.isArray(value)) return decisionOf(value, ["block", "reason", "modified_args"]);
  return { block: !value[0], reason: String(value[1] ?? "") };
}

export function systemPromptOf(value: unknown): Answer {
  if (value === undefined || value === null) return {};
  if (typeof value !== "string") throw new TypeError(`expected a string or nothing, got ${typeof value}`);
  return { system_prompt: value };
}
