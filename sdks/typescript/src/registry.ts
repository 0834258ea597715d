// What an extension registered: its handlers by name, before and while it runs.

import type { ChildFrame, EventIntercept, RegisterCommand, RegisterTool, Subscribe } from "./frames.js";
import type { CommandHandler, EventHandler, PanelKeyHandler, ReconcileHandler, ToolHandler } from "./handlers.js";

const INTERCEPTS = ["before_agent_start", "tool_call", "turn_start", "assistant_message"] as const;

export type Intercepted = (typeof INTERCEPTS)[number];

export class Registry {
  readonly commands = new Map<string, { frame: RegisterCommand; handler: CommandHandler }>();
  readonly tools = new Map<string, { frame: RegisterTool; handler: ToolHandler<any> }>();
  readonly reconcilers = new Map<string, ReconcileHandler>();
  readonly events = new Map<string, EventHandler>();
  readonly interceptors = new Map<Intercepted, (asked: EventIntercept) => unknown>();
  readonly panels = new Map<string, { onKey?: PanelKeyHandler; onClose?: () => unknown }>();
  onHello: (() => unknown) | undefined;
  /** The handler that returns a decision wins over the plain one. */
  richToolCall = false;

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

export function objectOr(args: unknown): Record<string, any> {
  return (args ?? {}) as Record<string, any>;
}
