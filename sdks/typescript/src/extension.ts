// The extension an author writes: register handlers, then `run`; the server does the rest. What is registered while it
// runs is announced at once. Handlers of one event are called in the order they were registered; the name of a command
// or a tool is given once, a second time throws.

import type { ChildFrame, EventIntercept, HelloAck, HostToolResult, Panel, RegisterCommand, RegisterTool } from "./frames.js";
import type * as handlers from "./handlers.js";
import { type Intercepted, Registry, addTo, objectOr } from "./registry.js";
import { Server } from "./server.js";

const CAPABILITIES = ["commands", "tools", "events", "panels", "tool_cancel", "call_tool"];

/** The rarer properties of a tool. */
export type ToolOptions = Partial<Omit<RegisterTool, "type" | "name" | "description" | "schema">>;

export class Extension {
  readonly #registry = new Registry();
  readonly #server: Server;

  /** `guard: true` declares that what this extension cannot decide must not happen. */
  constructor(name: string, version = "", options: { guard?: boolean } = {}) {
    const capabilities = options.guard ? [...CAPABILITIES, "guard"] : CAPABILITIES;
    this.#server = new Server({ type: "hello", name, version, capabilities }, this.#registry);
  }

  // --- registration ---------------------------------------------------------------------------------------------

  /** A slash command; the handler gets what followed the name. A returned string is displayed. */
  command(name: string, description: string, handler: handlers.CommandHandler): this {
    this.#registry.claim("command", name, this.command);
    const frame: RegisterCommand = { type: "register_command", name, description };
    this.#registry.commands.set(name, { frame, handler });
    return this.#announce(frame);
  }

  /** A tool for the model; a schema written in place gives the arguments their type. */
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

  /** Says how far an operation of the tool got; without one the answer is `unknown`. */
  reconciler(tool: string, handler: handlers.ReconcileHandler): this {
    this.#registry.claim("reconciler", tool, this.reconciler);
    this.#registry.reconcilers.set(tool, handler);
    return this;
  }

  /** Observes an event; all its handlers are called, in the order they were registered. */
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
   * Asked before each tool runs: `[allowed, reason]`, a ToolCallDecision, or nothing to allow. Interceptors of one event
   * are asked in the order they were registered: each sees what those before it rewrote, the first refusal is the answer.
   */
  interceptToolCall(handler: handlers.InterceptHandler): this {
    return this.#intercept("tool_call", (asked) => handler(asked.tool_name ?? "", objectOr(asked.tool_args)));
  }

  /** The same, for a handler that returns a ToolCallDecision. */
  interceptToolCallX(handler: handlers.ToolCallHandler): this {
    return this.#intercept("tool_call", (asked) => handler(asked.tool_name ?? "", objectOr(asked.tool_args)));
  }

  /** Asked before each model call. */
  interceptTurnStart(handler: handlers.TurnStartHandler): this {
    return this.#intercept("turn_start", (asked) => handler(asked.step ?? 0));
  }

  /** Asked before the user sees a message. */
  interceptAssistantMessage(handler: handlers.AssistantMessageHandler): this {
    return this.#intercept("assistant_message", (asked) => handler(asked.text ?? ""));
  }

  /** May replace the system prompt; nothing keeps it. */
  interceptBeforeAgentStart(handler: handlers.BeforeAgentStartHandler): this {
    return this.#intercept("before_agent_start", handler);
  }

  /** Keys of a panel, and the news that the user closed it. A panel that is opened anew may be given new handlers. */
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

  // --- things to say at any time --------------------------------------------------------------------------------

  /** What the host said of itself; empty before it did. */
  get host(): HelloAck {
    return this.#server.host;
  }

  /** A note below the transcript. */
  notify(level: "info" | "success" | "warn" | "error", message: string): void {
    this.#server.send({ type: "notify", level, message });
  }

  /** Takes back every note of this extension. */
  clearNotes(): void {
    this.#server.send({ type: "clear_notes" });
  }

  /** Opens a panel without a command. */
  openPanel(panel: Panel): void {
    this.#server.send({ type: "open_panel", panel });
  }

  /** Draws the open panel anew; an empty title keeps the old one. */
  renderPanel({ id, ...shown }: Panel): void {
    this.#server.send({ type: "panel_render", panel_id: id, ...shown });
  }

  closePanel(id: string): void {
    this.#server.send({ type: "panel_close", panel_id: id });
  }

  /** Submits text as if it was typed. */
  submit(text: string): void {
    this.#server.send({ type: "submit", text });
  }

  /** Runs a slash command; the text begins with a slash. */
  submitSlash(text: string): void {
    this.#server.send({ type: "submit_slash", text });
  }

  /** Asks the host to run a tool; rejects at once when it does not offer that. */
  callTool(name: string, args: object): Promise<HostToolResult> {
    return this.#server.hostCalls.call(name, args, this.#server.current.getStore());
  }

  /** A line for the extension's log file (stderr). */
  log(...words: unknown[]): void {
    this.#server.log(...words);
  }

  /** Greets the host, registers, then serves; resolves after `shutdown` or the end of input. */
  run(): Promise<void> {
    return this.#server.run();
  }
}
