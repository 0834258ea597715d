// An extension: register handlers, then call `run`. Registrations while it runs are sent at once. Handlers of one event
// are called in registration order; registering a command or tool name twice throws.

import type { ChildFrame, EventIntercept, HelloAck, HostToolResult, Panel, RegisterCommand, RegisterTool } from "./frames.js";
import type * as handlers from "./handlers.js";
import { type Intercepted, Registry, addTo, objectOr } from "./registry.js";
import { Server } from "./server.js";

const CAPABILITIES = ["commands", "tools", "events", "panels", "tool_cancel", "call_tool"];

/** The less common properties of a tool. */
export type ToolOptions = Partial<Omit<RegisterTool, "type" | "name" | "description" | "schema">>;

export class Extension {
  readonly #registry = new Registry();
  readonly #server: Server;

  /** `guard: true` declares a guard: zot denies calls while the extension cannot decide about them. */
  constructor(name: string, version = "", options: { guard?: boolean } = {}) {
    const capabilities = options.guard ? [...CAPABILITIES, "guard"] : CAPABILITIES;
    this.#server = new Server({ type: "hello", name, version, capabilities }, this.#registry);
  }

  // --- registration ---------------------------------------------------------------------------------------------

  /** A slash command; the handler gets the text after the name. A returned string is displayed. */
  command(name: string, description: string, handler: handlers.CommandHandler): this {
    this.#registry.claim("command", name, this.command);
    const frame: RegisterCommand = { type: "register_command", name, description };
    this.#registry.commands.set(name, { frame, handler });
    return this.#announce(frame);
  }

  /** A tool for the model; the arguments get their type from a literal schema. */
  tool<const S extends object>(
    name: string,
    description: string,
    schema: S,
    handler: handlers.ToolHandler<handlers.ArgsOf<S>>,
    options: ToolOptions = {},
  ): this {
    this.#registry.claim("tool", name, this.tool);
    const frame: RegisterTool = { type: "register_tool", name, description, schema, ...options };
    this.#registry.tools.set(name, { frame, handler });
    return this.#announce(frame);
  }

  /** Reports how far an operation of the tool got; without one, `unknown`. */
  reconciler(tool: string, handler: handlers.ReconcileHandler): this {
    this.#registry.claim("reconciler", tool, this.reconciler);
    this.#registry.reconcilers.set(tool, handler);
    return this;
  }

  /** Observes an event; all its handlers are called, in registration order. */
  on(event: string, handler: handlers.EventHandler): this {
    addTo(this.#registry.events, event, handler);
    return this.#announce({ type: "subscribe", events: [event] });
  }

  /** Runs when `host` is known, before the registrations are sent. */
  onHello(handler: () => unknown): this {
    this.#registry.onHello.push(handler);
    return this;
  }

  /**
   * Called before each tool runs; returns `[allowed, reason]`, a ToolCallDecision, or nothing to allow it. Interceptors
   * of one event are called in registration order: each gets the changes of those before it, the first that blocks decides.
   */
  interceptToolCall(handler: handlers.InterceptHandler): this {
    return this.#intercept("tool_call", (asked) => handler(asked.tool_name ?? "", objectOr(asked.tool_args)));
  }

  /** The same, for a handler that returns a ToolCallDecision. */
  interceptToolCallX(handler: handlers.ToolCallHandler): this {
    return this.#intercept("tool_call", (asked) => handler(asked.tool_name ?? "", objectOr(asked.tool_args)));
  }

  /** Called before each model call. */
  interceptTurnStart(handler: handlers.TurnStartHandler): this {
    return this.#intercept("turn_start", (asked) => handler(asked.step ?? 0));
  }

  /** Called before the user sees a message. */
  interceptAssistantMessage(handler: handlers.AssistantMessageHandler): this {
    return this.#intercept("assistant_message", (asked) => handler(asked.text ?? ""));
  }

  /** May replace the system prompt; undefined leaves it unchanged. */
  interceptBeforeAgentStart(handler: handlers.BeforeAgentStartHandler): this {
    return this.#intercept("before_agent_start", handler);
  }

  /** Handlers for the keys of a panel and for its close by the user. A panel opened again may get new handlers. */
  onPanelKey(id: string, onKey: handlers.PanelKeyHandler, onClose?: () => unknown): this {
    if (this.#registry.panels.has(id) && !this.#server.registered) {
      throw new Error(`the keys of panel "${id}" are registered twice: remove one of the two`);
    }
    this.#registry.panels.set(id, onClose ? { onKey, onClose } : { onKey });
    return this;
  }

  #intercept(event: Intercepted, ask: (asked: EventIntercept) => unknown): this {
    addTo(this.#registry.interceptors, event, ask);
    return this.#announce({ type: "subscribe", intercept: [event] });
  }

  #announce(frame: ChildFrame): this {
    if (this.#server.registered) this.#server.send(frame);
    return this;
  }

  // --- actions at any time -----------------------------------------------------------------------------------

  /** Information zot sent about itself; empty before `onHello`. */
  get host(): HelloAck {
    return this.#server.host;
  }

  /** Shows a notification below the transcript. */
  notify(level: "info" | "success" | "warn" | "error", message: string): void {
    this.#server.send({ type: "notify", level, message });
  }

  /** Removes all notifications of this extension. */
  clearNotes(): void {
    this.#server.send({ type: "clear_notes" });
  }

  /** Opens a panel without a command. */
  openPanel(panel: Panel): void {
    this.#server.send({ type: "open_panel", panel });
  }

  /** Redraws an open panel; an empty title leaves the old one. */
  renderPanel({ id, ...shown }: Panel): void {
    this.#server.send({ type: "panel_render", panel_id: id, ...shown });
  }

  closePanel(id: string): void {
    this.#server.send({ type: "panel_close", panel_id: id });
  }

  /** Submits text as if the user had typed it. */
  submit(text: string): void {
    this.#server.send({ type: "submit", text });
  }

  /** Runs a slash command; the text begins with a slash. */
  submitSlash(text: string): void {
    this.#server.send({ type: "submit_slash", text });
  }

  /** Requests that zot runs a tool; rejects if this zot does not support that. */
  callTool(name: string, args: object): Promise<HostToolResult> {
    return this.#server.hostCalls.call(name, args, this.#server.current.getStore());
  }

  /** Writes a line to the extension's log file (stderr). */
  log(...words: unknown[]): void {
    this.#server.log(...words);
  }

  /** Sends `hello` and the registrations, then serves; resolves after `shutdown` or the end of input. */
  run(): Promise<void> {
    return this.#server.run();
  }
}
