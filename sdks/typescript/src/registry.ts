// The registrations of an extension, before and while it runs. Handlers of one event are a chain; a name can be
// registered once.

import type { Context } from "./context.js";
import type { ChildFrame, EventIntercept, RegisterCommand, RegisterTool, Subscribe } from "./frames.js";
import type { CommandHandler, EventHandler, PanelKeyHandler, ReconcileHandler, ToolHandler } from "./handlers.js";
import type { Decision } from "./interceptions.js";
import type { RequestHandler } from "./surfaces.js";

export type Intercepted = EventIntercept["event"];
export type Asked = (asked: EventIntercept, context: Context) => Decision | Promise<Decision>;

const INTERCEPTS: readonly Intercepted[] = ["before_agent_start", "tool_call", "turn_start", "assistant_message"];
const LATE_EVENTS: ReadonlySet<string> = new Set([
  ...["prompt_start", "prompt_end", "idle", "message_end", "message_delta", "tool_start", "tool_update", "model_changed"],
  ...["tools_changed", "mode_changed", "usage", "session_info", "files_changed", "queue_changed", "dialog", "resize"],
  ...["theme_changed", "settings_changed", "bus", "ui_changed"],
]);

export class Registry {
  readonly commands = new Map<string, { frame: RegisterCommand; value: object; handler: CommandHandler }>();
  readonly tools = new Map<string, { frame: RegisterTool; handler: ToolHandler<any> }>();
  readonly reconcilers = new Map<string, ReconcileHandler>();
  readonly events = new Map<string, EventHandler[]>();
  readonly interceptors = new Map<Intercepted, Asked[]>();
  readonly options = new Map<string, object>(); // of `subscribe`, by event
  readonly requests = new Map<string, RequestHandler>(); // by method, a blank, and the name of key or command
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

  /** The registrations in the order they are sent, without what this zot does not know. */
  frames(offers: (feature: string) => boolean): ChildFrame[] {
    const subscribe = this.subscription([...this.events.keys()], [...this.interceptors.keys()], offers);
    return [
      ...[...this.commands.keys()].map((name) => this.commandFrame(name, offers)),
      ...[...this.tools.values()].map(({ frame }) => frame),
      ...(subscribe ? [subscribe] : []),
    ];
  }

  commandFrame(name: string, offers: (feature: string) => boolean): ChildFrame {
    const { frame, value } = this.commands.get(name)!;
    if (Object.keys(value).length === 0 || !offers("contribute")) return frame;
    return { type: "contribute", kind: "command", name, value: { description: frame.description, ...value } };
  }

  subscription(events: string[], intercept: Intercepted[], offers: (feature: string) => boolean): Subscribe | undefined {
    const observed = events.filter((event) => !LATE_EVENTS.has(event) || offers("request"));
    const late = offers("intercept2") ? intercept.filter((event) => !INTERCEPTS.includes(event)) : [];
    const asked = [...INTERCEPTS.filter((event) => intercept.includes(event)), ...late];
    if (observed.length + asked.length === 0) return undefined;
    const named = [...observed, ...asked].filter((event) => this.options.has(event));
    const options = Object.fromEntries(named.map((event) => [event, this.options.get(event)]));
    const given = named.length > 0 && offers("request") ? { options } : {};
    return { type: "subscribe", events: observed, intercept: asked, ...given };
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
