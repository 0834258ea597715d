// Interceptions by name: the handler gets what is about to happen and may change it, block it or do it itself.

import type { Context } from "./context.js";
import type { EventIntercept, EventInterceptResponse } from "./frames.js";

type Data = Record<string, any>;
export type Decision = Partial<Omit<EventInterceptResponse, "type" | "id">>;

const MAIN: Readonly<Record<string, string>> = {
  input: "text",
  user_shell: "command",
  prompt_start: "system_append",
  provider_payload: "payload",
  tool_result: "content",
  session_before: "carry",
  compaction: "summary",
  prompt_end: "continue",
};
const CLASSIC: Readonly<Record<string, keyof Decision>> = {
  tool_call: "modified_args",
  assistant_message: "replace_text",
  before_agent_start: "system_prompt",
};
const LISTS = ["drop", "edit", "insert", "messages"];

/** What should happen; made by the methods of `Interception`. */
export class Verdict {
  readonly decision: Decision;

  constructor(decision: Decision) {
    this.decision = decision;
  }
}

/** What is about to happen. `data` has the keys of the event; `text` and `args` are at hand. */
export class Interception {
  readonly name: string;
  readonly data: Data;
  readonly frame: EventIntercept;
  readonly ctx: Context;

  constructor(frame: EventIntercept, ctx: Context) {
    this.name = frame.event;
    this.frame = frame;
    this.data = (frame.data ?? {}) as Data;
    this.ctx = ctx;
  }

  get text(): string {
    return this.data["text"] ?? this.frame.text ?? "";
  }

  get toolName(): string {
    return this.data["tool_name"] ?? this.frame.tool_name ?? "";
  }

  get args(): Data {
    return (this.data["args"] ?? this.frame.tool_args ?? {}) as Data;
  }

  /** It does not happen. */
  block(reason = ""): Verdict {
    return new Verdict({ block: true, reason });
  }

  /** Use this instead: the main thing of the event (its text, arguments, content), or keys of the protocol. */
  replace(main: unknown, value: Data = {}): Verdict {
    const classic = CLASSIC[this.name];
    if (classic) return new Verdict({ [classic]: main });
    const key = MAIN[this.name];
    return new Verdict({ value: asSent(key && main !== undefined ? { [key]: main, ...value } : value) });
  }

  /** Changes by the keys of the protocol, such as `drop` and `insert` of `context`. */
  change(value: Data): Verdict {
    return new Verdict({ value: asSent(value) });
  }

  /** This extension did it: the thing itself does not happen. For `user_shell` the output, for `tool_call` the content. */
  handled(main?: unknown, value: Data = {}): Verdict {
    const given = main === undefined ? value : { [this.name === "user_shell" ? "output" : "content"]: main, ...value };
    return new Verdict({ handled: true, ...(Object.keys(given).length > 0 ? { value: asSent(given) } : {}) });
  }

  /** A user must agree to this tool call, whatever the permission mode. */
  ask(reason = ""): Verdict {
    return new Verdict({ ask: true, reason });
  }
}

/** What a handler returned; a text or list replaces. */
export function verdictOf(value: unknown, event: Interception): Decision {
  if (value === undefined || value === null || value === true) return {};
  if (value === false) return { block: true };
  if (value instanceof Verdict) return value.decision;
  if (typeof value === "string" || Array.isArray(value)) return event.replace(value).decision;
  throw new TypeError(`${event.name}: expected a verdict, a text or nothing, got ${typeof value}`);
}

/** The changes of two handlers. */
export function joined(before: unknown, value: unknown): unknown {
  const first = (before ?? {}) as Data;
  const made: Data = { ...first, ...(value as Data) };
  for (const key of LISTS) {
    if (key in first && key in (value as Data)) made[key] = [...first[key], ...(value as Data)[key]];
  }
  return made;
}

/** The `data` that the next handler sees. */
export function seenNext(data: unknown, value: unknown): unknown {
  const known = (data ?? {}) as Data;
  const changed = Object.entries(value as Data).filter(([key]) => key in known && !LISTS.includes(key));
  return { ...known, ...Object.fromEntries(changed) };
}

function asSent(value: Data): Data {
  const content = value["content"];
  return typeof content === "string" ? { ...value, content: [{ type: "text", text: content }] } : value;
}
