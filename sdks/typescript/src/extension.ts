// An extension: register handlers, then call `run`. Registrations while it runs are sent at once. Handlers of one event
// are called in registration order; registering a command or tool name twice throws.

import { BranchState } from "./branch-state.js";
import { NotSupported } from "./errors.js";
import type { ChildFrame, HelloAck, HostToolResult, Panel, RegisterCommand, RegisterTool } from "./frames.js";
import type * as handlers from "./handlers.js";
import { Interception, verdictOf } from "./interceptions.js";
import { type Asked, type Intercepted, Registry, addTo, objectOr } from "./registry.js";
import type { RequestOptions } from "./requests.js";
import { decisionOf, systemPromptOf, toolCallDecision } from "./returns.js";
import { schemaOf } from "./schema.js";
import { Server } from "./server.js";
import { type Completer, type RequestHandler, Surfaces, kindFeature } from "./surfaces.js";

const CAPABILITIES = ["commands", "tools", "events", "panels", "tool_cancel", "call_tool", "edition2"];

/** The less common properties of a tool. */
export type ToolOptions = Partial<Omit<RegisterTool, "type" | "name" | "description" | "schema">> & { timeoutS?: number };

/** Options of a command: `complete` makes items of the text typed so far, `headless` lets `zot -p "/name"` run it. */
export interface CommandOptions {
  complete?: Completer;
  arguments?: string;
  headless?: boolean;
}

export class Extension extends Surfaces {
  readonly name: string;
  readonly #registry = new Registry();
  readonly #server: Server;

  /** `guard: true` declares a guard: zot denies calls while the extension cannot decide about them. */
  constructor(name: string, version = "", options: { guard?: boolean } = {}) {
    super();
    this.name = name;
    const capabilities = options.guard ? [...CAPABILITIES, "guard"] : CAPABILITIES;
    this.#server = new Server({ type: "hello", name, version, capabilities }, this.#registry);
  }

  // --- registration ---------------------------------------------------------------------------------------------

  /** A slash command; the handler gets the text after the name. A returned string is displayed. */
  command(name: string, description: string, handler: handlers.CommandHandler, options: CommandOptions = {}): this {
    this.#registry.claim("command", name, this.command);
    const frame: RegisterCommand = { type: "register_command", name, description };
    const { complete, ...value } = options;
    this.#registry.commands.set(name, { frame, value: complete ? { ...value, complete: true } : value, handler });
    if (complete) this.completes(name, complete);
    return this.#announce(this.#registry.commandFrame(name, (feature) => this.has(feature)));
  }

  /** A tool for the model; the arguments get their type from a literal schema, or from `{ env: "string" }`. */
  tool<const S extends object>(
    name: string,
    description: string,
    schema: S,
    handler: handlers.ToolHandler<handlers.ToolArgs<S>>,
    options: ToolOptions = {},
  ): this {
    this.#registry.claim("tool", name, this.tool);
    const { timeoutS, ...more } = options;
    const limit = timeoutS === undefined ? {} : { timeout_s: timeoutS };
    const frame: RegisterTool = { type: "register_tool", name, description, schema: schemaOf(schema), ...more, ...limit };
    this.#registry.tools.set(name, { frame, handler });
    return this.#announce(frame);
  }

  /** Reports how far an operation of the tool got; without one, `unknown`. */
  reconciler(tool: string, handler: handlers.ReconcileHandler): this {
    this.#registry.claim("reconciler", tool, this.reconciler);
    this.#registry.reconcilers.set(tool, handler);
    return this;
  }

  /** Observes an event; all its handlers are called, in registration order. Options: `tools`, `topics`, `every_ms`, … */
  on(event: string, handler: handlers.EventHandler, options?: object): this {
    addTo(this.#registry.events, event, handler);
    return this.#subscribe([event], [], event, options);
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
    return this.#intercept("tool_call", async (asked, ctx) => toolCallDecision(await handler(asked.tool_name ?? "", objectOr(asked.tool_args), ctx)));
  }

  /** The same, for a handler that returns a ToolCallDecision. */
  interceptToolCallX(handler: handlers.ToolCallHandler): this {
    return this.#intercept("tool_call", async (asked, ctx) => toolCallDecision(await handler(asked.tool_name ?? "", objectOr(asked.tool_args), ctx)));
  }

  /** Called before each model call. */
  interceptTurnStart(handler: handlers.TurnStartHandler): this {
    return this.#intercept("turn_start", async (asked, ctx) => decisionOf(await handler(asked.step ?? 0, ctx), ["block", "reason"]));
  }

  /** Called before the user sees a message. */
  interceptAssistantMessage(handler: handlers.AssistantMessageHandler): this {
    const keys = ["block", "reason", "replace_text"];
    return this.#intercept("assistant_message", async (asked, ctx) => decisionOf(await handler(asked.text ?? "", ctx), keys));
  }

  /** May replace the system prompt; undefined leaves it unchanged. */
  interceptBeforeAgentStart(handler: handlers.BeforeAgentStartHandler): this {
    return this.#intercept("before_agent_start", async (asked, ctx) => systemPromptOf(await handler(asked, ctx)));
  }

  /**
   * Intercepts any event by name. The handler returns `event.block(…)`, `event.replace(…)`, `event.handled(…)`, a text that
   * replaces, or nothing. Options: `tools`, `content`.
   */
  intercept(event: Intercepted, handler: handlers.InterceptionHandler, options?: object): this {
    const ask: Asked = async (asked, ctx) => {
      const seen = new Interception(asked, ctx);
      return verdictOf(await handler(seen, ctx), seen);
    };
    return this.#intercept(event, ask, options);
  }

  /** Handlers for the keys of a panel and for its close by the user. A panel opened again may get new handlers. */
  onPanelKey(id: string, onKey: handlers.PanelKeyHandler, onClose?: () => unknown): this {
    if (this.#registry.panels.has(id) && !this.#server.registered) {
      throw new Error(`the keys of panel "${id}" are registered twice: remove one of the two`);
    }
    this.#registry.panels.set(id, onClose ? { onKey, onClose } : { onKey });
    return this;
  }

  #intercept(event: Intercepted, ask: Asked, options?: object): this {
    addTo(this.#registry.interceptors, event, ask);
    return this.#subscribe([], [event], event, options);
  }

  #subscribe(events: string[], intercept: Intercepted[], event: string, options?: object): this {
    if (options) this.#registry.options.set(event, { ...this.#registry.options.get(event), ...options });
    if (!this.#server.registered) return this;
    const frame = this.#registry.subscription(events, intercept, (feature) => this.has(feature));
    return frame ? this.#announce(frame) : this;
  }

  protected override answers(method: string, name: string, handler: RequestHandler): this {
    this.#registry.requests.set(`${method} ${name}`, handler);
    return this;
  }

  /** Called with width and height when the panel opens and when its size changes. */
  onPanelResize(id: string, handler: (width: number, height: number) => unknown): this {
    return this.answers("panel_resize", id, (frame) => handler(frame["width"], frame["height"]));
  }

  /** Called with true when the panel gets the keys, and with false when it loses them. */
  onPanelFocus(id: string, handler: (focused: boolean) => unknown): this {
    return this.answers("panel_focus", id, (frame) => handler(frame["focused"]));
  }

  /** A value that follows the branch of the session; `type` names its entries. */
  branchState<T>(type: string, initial: T): BranchState<T> {
    return new BranchState(this, type, initial);
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

  /** How zot runs: `terminal`, `print`, `json`, `stream`, `rpc`, `sdk`, `daemon` or `subagent`. */
  get mode(): string {
    return this.host.mode ?? "";
  }

  /** The values of the settings the manifest declares, without secrets. */
  get settings(): Record<string, any> {
    return objectOr(this.host.settings);
  }

  /** The values of the flags the manifest declares. */
  get flags(): Record<string, any> {
    return objectOr(this.host.flags);
  }

  /** What the process before a reload returned from its `onStateSave` handler. */
  get state(): any {
    return this.host.state ?? null;
  }

  /** True if this zot has a feature, such as `dialogs`; a mode may still have no place for it. */
  has(feature: string): boolean {
    return this.#server.offers(feature);
  }

  /** True if a word of the manifest's `uses` holds in this run. */
  granted(word: string): boolean {
    return this.host.granted?.includes(word) ?? false;
  }

  override request(method: string, params: object = {}, options: RequestOptions = {}): Promise<any> {
    return this.#server.request(method, params, this.#server.current.getStore()?.id, options);
  }

  protected override decides(): boolean {
    return this.#server.current.getStore()?.kind === "intercept";
  }

  override contribute(kind: string, name: string, value: object): this {
    this.#server.sendLater(kindFeature(kind), { type: "contribute", kind, name, value });
    return this;
  }

  /** The same, and waits for zot's answer; rejects if zot refuses. */
  async tryContribute(kind: string, name: string, value: object): Promise<void> {
    if (!this.has(kindFeature(kind))) throw new NotSupported(`contribute ${kind}: this zot does not have it`, "unknown_method");
    await this.#server.requests.ask({ type: "contribute", kind, name, value });
  }

  override withdraw(kind: string, name: string): this {
    this.#server.sendLater(kindFeature(kind), { type: "withdraw", kind, name });
    return this;
  }

  /** Shows a notification below the transcript, with `desktop` also on the desktop. */
  notify(level: "info" | "success" | "warn" | "error", message: string, desktop = false): void {
    this.#server.send({ type: "notify", level, message, desktop });
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
    const current = this.#server.current.getStore();
    return this.#server.hostCalls.call(name, args, current?.kind === "tool" ? current : undefined);
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
