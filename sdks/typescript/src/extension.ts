// The extension an author writes: register handlers, then `run`. Each request gets exactly one answer, whatever a
// handler does: one that throws answers with an error, an interceptor that throws blocks. Handlers of commands, tools
// and interceptors run concurrently; handlers of events and panel keys one after the other, in order.

import { AsyncLocalStorage } from "node:async_hooks";
import { stderr } from "node:process";

import { type ToolResult, textErrorResult } from "./answers.js";
import { HostCalls } from "./calls.js";
import { Channel } from "./channel.js";
import { decode, encode } from "./codec.js";
import type {
  ChildFrame,
  CommandInvoked,
  EventIntercept,
  EventInterceptResponse,
  Hello,
  HelloAck,
  HostFrame,
  HostToolResult,
  Panel,
  RegisterCommand,
  RegisterTool,
  Subscribe,
  ToolCall,
} from "./frames.js";
import type * as handlers from "./handlers.js";
import { decisionOf, reconciled, responseOf, resultOf, systemPromptOf, toolCallDecision } from "./returns.js";

const CAPABILITIES = ["commands", "tools", "events", "panels", "tool_cancel", "call_tool"];
const INTERCEPTS = ["before_agent_start", "tool_call", "turn_start", "assistant_message"] as const;
const HANDLERS_GRACE_MS = 1000; // what running handlers get before `shutdown` is acknowledged

type InterceptName = (typeof INTERCEPTS)[number];
type Decision = Partial<Omit<EventInterceptResponse, "type" | "id">>;

/** The rarer properties of a tool. */
export type ToolOptions = Partial<Omit<RegisterTool, "type" | "name" | "description" | "schema">>;

export class Extension {
  readonly #hello: Hello;
  readonly #channel = new Channel();
  readonly #commands = new Map<string, { frame: RegisterCommand; handler: handlers.CommandHandler }>();
  readonly #tools = new Map<string, { frame: RegisterTool; handler: handlers.ToolHandler<any> }>();
  readonly #reconcilers = new Map<string, handlers.ReconcileHandler>();
  readonly #events = new Map<string, handlers.EventHandler>();
  readonly #interceptors = new Map<InterceptName, (asked: EventIntercept) => unknown>();
  readonly #panels = new Map<string, { onKey?: handlers.PanelKeyHandler; onClose?: () => unknown }>();
  readonly #hostCalls = new HostCalls((frame) => this.#send(frame));
  readonly #running = new Map<string, AbortController>();
  readonly #answers = new Set<Promise<void>>();
  readonly #current = new AsyncLocalStorage<handlers.ToolContext>();
  #onHello: (() => unknown) | undefined;
  #richToolCall = false;
  #registered = false;
  #order: Promise<void> | undefined;
  #host: HelloAck = {
    type: "hello_ack",
    protocol_version: 0,
    zot_version: "",
    provider: "",
    model: "",
    cwd: "",
    extension_dir: "",
    data_dir: "",
  };

  /** `guard: true` declares that what this extension cannot decide must not happen. */
  constructor(name: string, version = "", options: { guard?: boolean } = {}) {
    const capabilities = options.guard ? [...CAPABILITIES, "guard"] : CAPABILITIES;
    this.#hello = { type: "hello", name, version, capabilities };
  }

  // --- registration ---------------------------------------------------------------------------------------------

  /** A slash command; the handler gets what followed the name. A returned string is displayed. */
  command(name: string, description: string, handler: handlers.CommandHandler): this {
    const frame: RegisterCommand = { type: "register_command", name, description };
    this.#commands.set(name, { frame, handler });
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
    const frame: RegisterTool = { type: "register_tool", name, description, schema, ...options };
    this.#tools.set(name, { frame, handler });
    return this.#announce(frame);
  }

  /** Says how far an operation of the tool got; without one the answer is `unknown`. */
  reconciler(tool: string, handler: handlers.ReconcileHandler): this {
    this.#reconcilers.set(tool, handler);
    return this;
  }

  /** Observes an event; one handler per event, the last wins. */
  on(event: string, handler: handlers.EventHandler): this {
    this.#events.set(event, handler);
    return this.#announce({ type: "subscribe", events: [event] });
  }

  /** Runs when `host` is known, before the registrations are sent. */
  onHello(handler: () => unknown): this {
    this.#onHello = handler;
    return this;
  }

  /** Asked before each tool runs: `[allowed, reason]`, a ToolCallDecision, or nothing to allow. */
  interceptToolCall(handler: handlers.InterceptHandler): this {
    if (this.#richToolCall) return this;
    return this.#intercept("tool_call", (asked) => handler(asked.tool_name ?? "", objectOr(asked.tool_args)));
  }

  /** The same, and wins where both are set. */
  interceptToolCallX(handler: handlers.ToolCallHandler): this {
    this.#richToolCall = true;
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

  /** Keys of a panel, and the news that the user closed it. */
  onPanelKey(id: string, onKey: handlers.PanelKeyHandler, onClose?: () => unknown): this {
    this.#panels.set(id, onClose ? { onKey, onClose } : { onKey });
    return this;
  }

  #intercept(event: InterceptName, ask: (asked: EventIntercept) => unknown): this {
    this.#interceptors.set(event, ask);
    return this.#announce({ type: "subscribe", intercept: [event] });
  }

  #announce(frame: ChildFrame): this {
    if (this.#registered) this.#send(frame);
    return this;
  }

  // --- things to say at any time --------------------------------------------------------------------------------

  /** What the host said of itself; empty before it did. */
  get host(): HelloAck {
    return this.#host;
  }

  /** A note below the transcript. */
  notify(level: "info" | "success" | "warn" | "error", message: string): void {
    this.#send({ type: "notify", level, message });
  }

  /** Takes back every note of this extension. */
  clearNotes(): void {
    this.#send({ type: "clear_notes" });
  }

  /** Opens a panel without a command. */
  openPanel(panel: Panel): void {
    this.#send({ type: "open_panel", panel });
  }

  /** Draws the open panel anew; an empty title keeps the old one. */
  renderPanel({ id, ...shown }: Panel): void {
    this.#send({ type: "panel_render", panel_id: id, ...shown });
  }

  closePanel(id: string): void {
    this.#send({ type: "panel_close", panel_id: id });
  }

  /** Submits text as if it was typed. */
  submit(text: string): void {
    this.#send({ type: "submit", text });
  }

  /** Runs a slash command; the text begins with a slash. */
  submitSlash(text: string): void {
    this.#send({ type: "submit_slash", text });
  }

  /** Asks the host to run a tool; rejects at once when it does not offer that. */
  callTool(name: string, args: object): Promise<HostToolResult> {
    return this.#hostCalls.call(name, args, this.#current.getStore());
  }

  /** A line for the extension's log file (stderr). */
  log(...words: unknown[]): void {
    stderr.write(`[${this.#hello.name}] ${words.map(String).join(" ")}\n`);
  }

  // --- the run --------------------------------------------------------------------------------------------------

  /** Greets the host, registers, then serves; resolves after `shutdown` or the end of input. */
  run(): Promise<void> {
    return new Promise((resolve) => {
      let greeted: Promise<void> | undefined;
      let over = false;
      const finish = async (last?: ChildFrame): Promise<void> => {
        over = true;
        await greeted;
        await this.#finish();
        if (last) this.#send(last);
        this.#channel.close();
        resolve();
      };
      const take = (frame: HostFrame): void => {
        if (frame.type === "shutdown") void finish({ type: "shutdown_ack" });
        else this.#serve(frame);
      };
      const onLine = (line: string): boolean => {
        const frame = this.#decode(line);
        if (frame && !greeted) {
          greeted = this.#greet(frame);
          if (frame.type === "hello_ack") return true;
        }
        // Frames that arrive while onHello works wait for the registrations.
        if (frame && !over) this.#registered ? take(frame) : void greeted?.then(() => take(frame));
        return !over;
      };
      this.#channel.open(onLine, () => void finish());
      this.#send(this.#hello);
    });
  }

  #decode(line: string): HostFrame | undefined {
    try {
      return decode(line);
    } catch (error) {
      this.log(`ignored a line that is not a frame: ${messageOf(error)}`);
      return undefined;
    }
  }

  async #greet(first: HostFrame): Promise<void> {
    if (first.type === "hello_ack") {
      this.#host = { ...this.#host, ...first };
      this.#hostCalls.offered = first.capabilities?.includes("call_tool") ?? false;
      if (this.#onHello) await this.#guarded("onHello", this.#onHello);
    }
    for (const { frame } of this.#commands.values()) this.#send(frame);
    for (const { frame } of this.#tools.values()) this.#send(frame);
    const subscribe: Subscribe = {
      type: "subscribe",
      events: [...this.#events.keys()],
      intercept: INTERCEPTS.filter((event) => this.#interceptors.has(event)),
    };
    if (subscribe.events!.length + subscribe.intercept!.length > 0) this.#send(subscribe);
    this.#send({ type: "ready" });
    this.#registered = true;
  }

  #serve(frame: HostFrame): void {
    switch (frame.type) {
      case "command_invoked":
        return this.#concurrently(this.#answerCommand(frame));
      case "tool_call":
        return this.#concurrently(this.#answerTool(frame));
      case "event_intercept":
        return this.#concurrently(this.#answerIntercept(frame));
      case "tool_cancel":
        return this.#running.get(frame.id)?.abort();
      case "tool_result":
        return this.#hostCalls.answer(frame);
      case "event": {
        const handler = this.#events.get(frame.event);
        return handler && this.#inOrder(frame.event, () => handler(frame));
      }
      case "panel_key": {
        const onKey = this.#panels.get(frame.panel_id)?.onKey;
        return onKey && this.#inOrder("panel key", () => onKey(frame.key, frame.text ?? ""));
      }
      case "panel_close": {
        const onClose = this.#panels.get(frame.panel_id)?.onClose;
        return onClose && this.#inOrder("panel close", onClose);
      }
    }
  }

  #concurrently(answer: Promise<void>): void {
    this.#answers.add(answer);
    void answer.finally(() => this.#answers.delete(answer));
  }

  /** At once when nothing is before it, so that a handler that does not wait is done before the next frame. */
  #inOrder(what: string, handler: () => unknown): void {
    const work = (): Promise<void> => this.#guarded(what, handler);
    const mine = this.#order ? this.#order.then(work) : work();
    this.#order = mine;
    void mine.finally(() => {
      if (this.#order === mine) this.#order = undefined;
    });
  }

  async #guarded(what: string, handler: () => unknown): Promise<void> {
    try {
      await handler();
    } catch (error) {
      this.#trace(what, error);
    }
  }

  /** Lets running handlers end, for a moment; those that wait for the host learn that it is gone. */
  async #finish(): Promise<void> {
    this.#hostCalls.loseAll();
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise((resolve) => (timer = setTimeout(resolve, HANDLERS_GRACE_MS)));
    await Promise.race([Promise.all([...this.#answers, this.#order]), grace]);
    clearTimeout(timer);
  }

  // --- one request, one answer ----------------------------------------------------------------------------------

  async #answerCommand({ id, name, args }: CommandInvoked): Promise<void> {
    await this.#answer(
      `/${name}`,
      async () => {
        const command = this.#commands.get(name);
        if (!command) return { type: "command_response", id, action: "noop", error: `unknown command "${name}"` };
        return { type: "command_response", id, ...responseOf(await command.handler(args ?? "")).keys };
      },
      (words) => ({ type: "command_response", id, action: "noop", error: `/${name} crashed: ${words}` }),
    );
  }

  async #answerTool(call: ToolCall): Promise<void> {
    const { id, name } = call;
    const given = new AbortController();
    this.#running.set(id, given);
    const context: handlers.ToolContext = {
      id,
      name,
      operationKey: call.operation_key ?? "",
      signal: given.signal,
      callTool: (tool, args) => this.#hostCalls.call(tool, args, context),
    };
    await this.#answer(
      name,
      async () => toolFrame(id, await this.#current.run(context, () => this.#toolResult(call, context))),
      (words) => toolFrame(id, textErrorResult(`${this.#hello.name}/${name} crashed: ${words}`)),
      given.signal,
    );
    this.#running.delete(id);
  }

  async #toolResult(call: ToolCall, context: handlers.ToolContext): Promise<ToolResult> {
    const tool = this.#tools.get(call.name);
    if (!tool) return textErrorResult(`unknown tool "${call.name}"`);
    const args = objectOr(call.args);
    if (!call.reconcile) return resultOf(await tool.handler(args, context));
    return reconciled((await this.#reconcilers.get(call.name)?.(args, context)) ?? "unknown");
  }

  async #answerIntercept(asked: EventIntercept): Promise<void> {
    const { id, event } = asked;
    await this.#answer(
      event,
      async () => {
        const value = await this.#interceptors.get(event)?.(asked);
        return { type: "event_intercept_response", id, ...answerTo(event, value) };
      },
      (words) => ({
        type: "event_intercept_response",
        id,
        block: true,
        reason: `${this.#hello.name} crashed in ${event}: ${words}`,
      }),
    );
  }

  async #answer(
    what: string,
    answer: () => Promise<ChildFrame>,
    crash: (words: string) => ChildFrame,
    unless?: AbortSignal,
  ): Promise<void> {
    let line: string;
    try {
      line = encode(await answer());
    } catch (error) {
      if (!unless?.aborted) this.#trace(what, error);
      line = encode(crash(messageOf(error)));
    }
    if (!unless?.aborted) this.#channel.send(line);
  }

  #trace(what: string, error: unknown): void {
    this.log(`the handler of ${what} crashed\n${error instanceof Error ? error.stack : String(error)}`);
  }

  #send(frame: ChildFrame): void {
    this.#channel.send(encode(frame));
  }
}

function answerTo(event: InterceptName, value: unknown): Decision {
  switch (event) {
    case "tool_call":
      return toolCallDecision(value);
    case "turn_start":
      return decisionOf(value, ["block", "reason"]);
    case "assistant_message":
      return decisionOf(value, ["block", "reason", "replace_text"]);
    case "before_agent_start":
      return systemPromptOf(value);
  }
}

function toolFrame(id: string, result: ToolResult): ChildFrame {
  return { type: "tool_result", id, ...result };
}

function objectOr(args: unknown): Record<string, any> {
  return (args ?? {}) as Record<string, any>;
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message || error.name : String(error)) || "error";
}
