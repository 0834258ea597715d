// Encodes and decodes frames: keys in wire order, empty ones omitted, raw UTF-8, lone surrogates as U+FFFD.

import { type ChildFrame, type HostFrame, KEYS, OBJECTS } from "./frames.js";

type Fields = Record<string, unknown>;

/** One line with its LF. Throws if a value cannot be encoded as JSON. */
export function encode(frame: ChildFrame): string {
  const fields = { type: frame.type, ...inOrder(frame as unknown as Fields, frame.type) };
  return wellFormed(JSON.stringify(fields)) + "\n";
}

/** The frame in a line, or undefined for an unknown type. Throws if it is not a frame. */
export function decode(line: string): HostFrame | undefined {
  const fields = JSON.parse(line) as Fields | null;
  if (typeof fields !== "object" || fields === null || typeof fields["type"] !== "string") {
    throw new TypeError("not an object with a type");
  }
  for (const key of Object.keys(fields)) {
    if (fields[key] === null) delete fields[key];
  }
  return FROM_HOST.has(fields["type"]) ? (fields as unknown as HostFrame) : undefined;
}

const FROM_HOST: ReadonlySet<string> = new Set<HostFrame["type"]>([
  "hello_ack",
  "command_invoked",
  "tool_call",
  "tool_cancel",
  "event",
  "event_intercept",
  "tool_result",
  "panel_key",
  "panel_close",
  "panel_resize",
  "panel_focus",
  "request",
  "response",
  "progress",
  "cancel",
  "shutdown",
]);

function inOrder(fields: Fields, shape: string): Fields {
  const made: Fields = {};
  for (const rule of KEYS[shape] ?? []) {
    const key = rule.replace(/[?~]$/, "");
    const value = fields[key];
    if (value === undefined || (value === null && rule !== key)) continue;
    if (rule.endsWith("?") && isEmpty(value)) continue;
    made[key] = nested(value, OBJECTS[`${shape}.${key}`]);
  }
  return made;
}

function nested(value: unknown, shape: string | undefined): unknown {
  if (shape === undefined) return value;
  if (Array.isArray(value)) return value.map((item) => nested(item, shape));
  return inOrder(value as Fields, shape);
}

function isEmpty(value: unknown): boolean {
  return value === "" || value === false || value === 0 || (Array.isArray(value) && value.length === 0);
}

/** JSON.stringify writes lone surrogates, and only those, as escapes. */
function wellFormed(text: string): string {
  return text.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd");
}
