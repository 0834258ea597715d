// Runs an extension: hello, registrations, requests. Each request gets exactly one answer: a handler
// that throws answers with an error, an interceptor that throws blocks. Handlers of commands, tools and interceptors
// run concurrently; handlers of events and panel keys one after the other, in order.

import { AsyncLocalStorage } from "node:async_hooks";
import { stderr } from "node:process";

import { type ToolResult, textErrorResult } from "./answers.js";
import { HostCalls } from "./calls.js";
import { Channel } from "./channel.js";
import { decode, encode } from "./codec.js";
import { Context, type QuestionKind } from "./context.js";
import { NotSupported, RequestError } from "./errors.js";
import type { ChildFrame, Event, EventIntercept, Hello, HelloAck, HostFrame, Request, ToolCall } from "./frames.js";
import { featureOf } from "./host-methods.js";
import { type Decision, joined, seenNext } from "./interceptions.js";
import { type Registry, objectOr } from "./registry.js";
import { type RequestOptions, Requests } from "./requests.js";
import { reconciled, responseOf, resultOf } from "./returns.js";

const HANDLERS_GRACE_MS = 1000; // for running handlers before `shutdown` is acknowledged
const NO_HOST: HelloAck = {
  type: "hello_ack",
  protocol_version: 0,
  zot_version: "",
  provider: "",
  model: "",
  cwd: "",
  extension_dir: "",
  data_dir: "",
};

export class Server {
  host = NO_HOST;
  registered = false;
  greeted = false;
  readonly current = new AsyncLocalStorage<Context>();
  readonly hostCalls = new HostCalls((frame) => this.send(frame));
  readonly requests = new Requests((frame) => this.sendLater("request", frame));
  readonly #hello: Hello;
  readonly #registry: Registry;
  readonly #channel = new Channel();
  readonly #running = new Map<string, Context>();
  readonly #unknown = new Set<string>();
  #held: [feature: string, frame: ChildFrame][] = [];
  readonly #answers = new Set<Promise<void>>();
  #order: Promise<void> | undefined;

  constructor(hello: Hello, registry: Registry) {
    this.#hello = hello;
    this.#registry = registry;
  }

  send(frame: ChildFrame): void {
    this.#channel.send(encode(frame));
  }

  /** True if this zot has a feature of the second edition. */
  offers(feature: string): boolean {
    return this.host.features?.includes(feature) ?? false;
  }

  async request(method: string, params: object, parentId = "", options: RequestOptions = {}): Promise<any> {
    if (this.greeted && !this.offers(featureOf(method))) throw new NotSupported(missing(featureOf(method), method), "unknown_method");
    return this.requests.call(method, params, parentId, options);
  }

  /** Frames of the second edition wait for the greeting; a zot without the feature gets none. */
  sendLater(feature: string, frame: ChildFrame): void {
    if (!this.greeted) {
      this.#held.push([feature, frame]);
    } else if (this.offers(feature)) {
      this.send(frame);
    } else if (frame.type === "request") {
      const error = { code: "unknown_method", message: missing(feature, frame.method) };
      this.requests.answered({ type: "response", id: frame.id, error });
    } else if (!this.#unknown.has(feature)) {
      this.#unknown.add(feature);
      this.log(missing(feature, `${frame.type} is left out`));
    }
  }

  log(...words: unknown[]): void {
    stderr.write(`[${this.#hello.name}] ${words.map(String).join(" ")}\n`);
  }

  /** Sends `hello` and the registrations, then serves; resolves after `shutdown` or the end of input. */
  run(): Promise<void> {
    return new Promise((resolve) => {
      let greeted: Promise<void> | undefined;
      let over = false;
      const finish = async (last?: ChildFrame): Promise<void> => {
        over = true;
        await greeted;
        await this.#finish();
        if (last) this.send(last);
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
        if (!frame || over) return !over;
        // Frames that arrive during onHello wait for the registrations, except answers it may be waiting for.
        if (this.registered || ["tool_result", "response", "progress"].includes(frame.type)) take(frame);
        else void greeted?.then(() => take(frame));
        return !over;
      };
      this.#channel.open(onLine, () => void finish());
      this.send(this.#hello);
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
      this.host = { ...this.host, ...first };
      this.hostCalls.offered = first.capabilities?.includes("call_tool") ?? false;
      this.greeted = true;
      for (const handler of this.#registry.onHello) await this.#guarded("onHello", handler);
    }
    this.greeted = true;
    for (const frame of this.#registry.frames((feature) => this.offers(feature))) this.send(frame);
    this.registered = true;
    for (const [feature, frame] of this.#held.splice(0)) this.sendLater(feature, frame);
    this.send({ type: "ready" });
  }

  #serve(frame: HostFrame): void {
    switch (frame.type) {
      case "command_invoked":
        return this.#answer("command", frame.id, frame.name, (context) => this.#command(frame.name, frame.args ?? "", context));
      case "tool_call":
        return this.#answer("tool", frame.id, frame.name, (context) => this.#tool(frame, context), frame.operation_key);
      case "event_intercept":
        return this.#answer("intercept", frame.id, frame.event, (context) => this.#decide(frame, context));
      case "request":
        return this.#answer("request", frame.id, frame.method, (context) => this.#requested(frame, context), "", objectOr(frame.params));
      case "response":
        return this.requests.answered(frame);
      case "progress":
        return this.requests.progressed(frame);
      case "cancel": {
        const context = this.#running.get(frame.id);
        if (context?.claimAnswer()) this.send(failed(context, "cancelled", "cancelled"));
        return context?.cancel();
      }
      case "tool_cancel": {
        const context = this.#running.get(frame.id);
        context?.claimAnswer();
        return context?.cancel();
      }
      case "tool_result":
        return this.hostCalls.answer(frame);
      case "event": {
        this.#remember(frame);
        for (const handler of this.#registry.events.get(frame.event) ?? []) this.#inOrder(frame.event, () => handler(frame));
        return;
      }
      case "panel_key": {
        const onKey = this.#registry.panels.get(frame.panel_id)?.onKey;
        return onKey && this.#inOrder("panel key", () => onKey(frame.key, frame.text ?? ""));
      }
      case "panel_resize": {
        const onResize = this.#registry.requests.get(`panel_resize ${frame.panel_id}`);
        return onResize && this.#inOrder("panel resize", () => onResize(frame as object, undefined as never));
      }
      case "panel_focus": {
        const onFocus = this.#registry.requests.get(`panel_focus ${frame.panel_id}`);
        return onFocus && this.#inOrder("panel focus", () => onFocus(frame as object, undefined as never));
      }
      case "panel_close": {
        const onClose = this.#registry.panels.get(frame.panel_id)?.onClose;
        return onClose && this.#inOrder("panel close", onClose);
      }
    }
  }

  /** Keeps what the greeting told up to date. */
  #remember(event: Event): void {
    const data = objectOr(event.data);
    if (event.event === "settings_changed") this.host.settings = { ...objectOr(this.host.settings), ...data["values"] };
    if (event.event === "ui_changed") this.host.ui = data;
  }

  #concurrently(answer: Promise<void>): void {
    this.#answers.add(answer);
    void answer.finally(() => this.#answers.delete(answer));
  }

  /** Immediately if the queue is empty, so that a synchronous handler is done before the next frame. */
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

  /** Waits briefly for running handlers; those that wait for zot get an error. */
  async #finish(): Promise<void> {
    this.hostCalls.loseAll();
    this.requests.loseAll();
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise((resolve) => (timer = setTimeout(resolve, HANDLERS_GRACE_MS)));
    await Promise.race([Promise.all([...this.#answers, this.#order]), grace]);
    clearTimeout(timer);
  }

  // --- one question, one answer ---------------------------------------------------------------------------------

  #answer(
    kind: QuestionKind,
    id: string,
    name: string,
    answer: (context: Context) => Promise<ChildFrame>,
    operationKey = "",
    params: object = {},
  ): void {
    const context = new Context(this, kind, id, name, operationKey, params);
    this.#running.set(id, context);
    this.#concurrently(this.#settled(context, answer));
  }

  async #settled(context: Context, answer: (context: Context) => Promise<ChildFrame>): Promise<void> {
    let line: string | undefined;
    try {
      line = encode(await this.current.run(context, () => answer(context)));
    } catch (error) {
      if (!context.cancelled) line = encode(this.#failure(context, error));
    }
    if (line !== undefined && context.claimAnswer()) this.#channel.send(line);
    if (this.#running.get(context.id) === context) this.#running.delete(context.id);
  }

  #failure(context: Context, error: unknown): ChildFrame {
    const words = messageOf(error);
    if (error instanceof RequestError) return failed(context, words, error.code); // zot refused what it needs: no crash
    this.#trace(context.kind === "command" ? `/${context.name}` : context.name, error);
    return failed(context, crashWords(this.#hello.name, context, words), "failed");
  }

  async #command(name: string, args: string, context: Context): Promise<ChildFrame> {
    const { id } = context;
    const command = this.#registry.commands.get(name);
    if (!command) return { type: "command_response", id, action: "noop", error: `unknown command "${name}"` };
    return { type: "command_response", id, ...responseOf(await command.handler(args, context)).keys };
  }

  async #tool(call: ToolCall, context: Context): Promise<ChildFrame> {
    return toolFrame(call.id, await this.#toolResult(call, context));
  }

  async #toolResult(call: ToolCall, context: Context): Promise<ToolResult> {
    const tool = this.#registry.tools.get(call.name);
    if (!tool) return textErrorResult(`unknown tool "${call.name}"`);
    const args = objectOr(call.args);
    if (!call.reconcile) return resultOf(await tool.handler(args, context));
    return reconciled((await this.#registry.reconcilers.get(call.name)?.(args, context)) ?? "unknown");
  }

  /** Calls the handlers in order: each gets the changes of those before it, and the first that blocks decides. */
  async #decide(question: EventIntercept, context: Context): Promise<ChildFrame> {
    const frame = { type: "event_intercept_response", id: question.id } as const;
    let asked = question;
    let answer: Decision = {};
    for (const ask of this.#registry.interceptors.get(asked.event) ?? []) {
      const given = whatItSays(await ask(structuredClone(asked), context)); // a copy: it may change it
      if (given.block) return { ...frame, block: true, reason: given.reason ?? "" };
      asked = rewritten(asked, given);
      if (given.value !== undefined) given.value = joined(answer.value, given.value);
      answer = { ...answer, ...given };
      if (given.handled) break;
    }
    return { ...frame, ...answer };
  }

  async #requested(asked: Request, context: Context): Promise<ChildFrame> {
    const { params } = context;
    const named = ["name", "command", "trigger", "provider"].map((key) => params[key]).find((it) => typeof it === "string") ?? "";
    const { requests } = this.#registry;
    const handler = requests.get(`${asked.method} ${named}`) ?? requests.get(`${asked.method} `);
    if (!handler) throw new NotSupported(`unknown method "${asked.method}"`, "unknown_method");
    return { type: "response", id: asked.id, result: (await handler(params, context)) ?? null };
  }

  #trace(what: string, error: unknown): void {
    this.log(`the handler of ${what} crashed\n${error instanceof Error ? error.stack : String(error)}`);
  }
}

/** Without keys that change nothing: an empty text changes nothing, except for the system prompt, which it removes. */
function whatItSays(decision: Decision): Decision {
  const says = ([key, value]: [string, unknown]): boolean => (value ?? "") !== "" || (key === "system_prompt" && value === "");
  return Object.fromEntries(Object.entries(decision).filter(says));
}

function rewritten(asked: EventIntercept, given: Decision): EventIntercept {
  const next = { ...asked };
  if (given.modified_args !== undefined) next.tool_args = given.modified_args;
  if (given.replace_text !== undefined) next.text = given.replace_text;
  if (given.system_prompt !== undefined) next.system_prompt = given.system_prompt;
  if (given.value !== undefined) next.data = seenNext(asked.data, given.value);
  return next;
}

function toolFrame(id: string, result: ToolResult): ChildFrame {
  return { type: "tool_result", id, ...result };
}

function crashWords(extension: string, { kind, name }: Context, words: string): string {
  if (kind === "command") return `/${name} crashed: ${words}`;
  if (kind === "tool") return `${extension}/${name} crashed: ${words}`;
  return kind === "intercept" ? `${extension} crashed in ${name}: ${words}` : words;
}

/** The answer of a handler that has none. */
function failed({ kind, id }: Context, words: string, code: string): ChildFrame {
  if (kind === "command") return { type: "command_response", id, action: "noop", error: words };
  if (kind === "tool") return toolFrame(id, textErrorResult(words));
  if (kind === "intercept") return { type: "event_intercept_response", id, block: true, reason: words };
  return { type: "response", id, error: { code, message: words } };
}

function missing(feature: string, what: string): string {
  return `${what}: this zot does not have the feature '${feature}'`;
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message || error.name : String(error)) || "error";
}
