// The registrations of an extension, before and while it runs. Handlers of one event are a chain; a name can be
// registered once.

import type { ChildFrame, EventIntercept, RegisterCommand, RegisterTool, Subscribe } from "./frames.js";
import type { CommandHandler, EventHandler, PanelKeyHandler, ReconcileHandler, ToolHandler } from "./handlers.js";

export type Intercepted = EventIntercept["event"];

const INTERCEPTS: readonly Intercepted[] = ["before_agent_start", "tool_call", "turn_start", "assistant_message"];

export class Registry {
  readonly commands = new Map<string, { frame: RegisterCommand; handler: CommandHandler }>();
  readonly tools = new Map<string, { frame: RegisterTool; handler: ToolHandler<any> }>();
  readonly reconcilers = new Map<string, ReconcileHandler>();
  readonly events = new Map<string, EventHandler[]>();
  readonly interceptors = new Map<Intercepted, ((asked: EventIntercept) => unknown)[]>();
  readonly panels = new Map<string, { onKey?: PanelKeyHandler; onClose?: () => unknown }>();
  readonly onHello: (() => unknown)[] = [];
  readonly #named = new Map<string, string>();

  /** Reserves a name; throws if it is taken. Names of commands are case-insensitive. */
  claim(kind: "command" | "tool" | "reconciler", name: string, by: (...args: any[]) => unknown): void {
    const key = `${kind} ${kind === "command" ? name.toLowerCase() : name}`;
    const here = callerOf(by);
    const first = this.#named.get(key);
    if (first !== undefined) {
      const both = `at ${first} and at ${here}`;
      throw new Error(`${kind} "${name}" is registered twice, ${both}: remove one, or give it another name`);
    }
    this.#named.set(key, here);
  }

  /** The registrations in the order they are sent. */
  frames(): ChildFrame[] {
    const events = [...this.events.keys()];
    const intercept = INTERCEPTS.filter((event) => this.interceptors.has(event));
    const subscribe: Subscribe[] = events.length + intercept.length > 0 ? [{ type: "subscribe", events, intercept }] : [];
    return [
      ...[...this.commands.values()].map(({ frame }) => frame),
      ...[...this.tools.values()].map(({ frame }) => frame),
      ...subscribe,
      { type: "ready" },
    ];
  }
}

/** File and line of the caller of the running function. */
function callerOf(running: (...args: any[]) => unknown): string {
  const here = { stack: "" };
  Error.captureStackTrace(here, running);
  return /([^/\\\s]+:\d+):\d+\)?$/m.exec(here.stack)?.[1] ?? "an unknown place";
}

export function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  lists.set(key, [...(lists.get(key) ?? []), value]);
}

export function objectOr(args: unknown): Record<string, any> {
  return (args ?? {}) as Record<string, any>;
}
