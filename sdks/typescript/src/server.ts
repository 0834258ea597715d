// Runs an extension: hello, registrations, requests. Each request gets exactly one answer: a handler
// that throws answers with an error, an interceptor that throws blocks. Handlers of commands, tools and interceptors
// run concurrently; handlers of events and panel keys one after the other, in order.

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
  ToolCall,
} from "./frames.js";
import type { ToolContext } from "./handlers.js";
import { type Intercepted, type Registry, objectOr } from "./registry.js";
import { decisionOf, reconciled, responseOf, resultOf, systemPromptOf, toolCallDecision } from "./returns.js";

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

type Decision = Partial<Omit<EventInterceptResponse, "type" | "id">>;

export class Server {
  host = NO_HOST;
  registered = false;
  readonly current = new AsyncLocalStorage<ToolContext>();
  readonly hostCalls = new HostCalls((frame) => this.send(frame));
  readonly #hello: Hello;
  readonly #registry: Registry;
  readonly #channel = new Channel();
  readonly #running = new Map<string, AbortController>();
  readonly #answers = new Set<Promise<void>>();
  #order: Promise<void> | undefined;

  constructor(hello: Hello, registry: Registry) {
    this.#hello = hello;
    this.#registry = registry;
  }

  send(frame: ChildFrame): void {
    this.#channel.send(encode(frame));
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
        // Frames that arrive during onHello wait for the registrations, except results it may be waiting for.
        if (this.registered || frame.type === "tool_result") take(frame);
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
      for (const handler of this.#registry.onHello) await this.#guarded("onHello", handler);
    }
    for (const frame of this.#registry.frames()) this.send(frame);
    this.registered = true;
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
        return this.hostCalls.answer(frame);
      case "event": {
        for (const handler of this.#registry.events.get(frame.event) ?? []) this.#inOrder(frame.event, () => handler(frame));
        return;
      }
      case "panel_key": {
        const onKey = this.#registry.panels.get(frame.panel_id)?.onKey;
        return onKey && this.#inOrder("panel key", () => onKey(frame.key, frame.text ?? ""));
      }
      case "panel_close": {
        const onClose = this.#registry.panels.get(frame.panel_id)?.onClose;
        return onClose && this.#inOrder("panel close", onClose);
      }
    }
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
        const command = this.#registry.commands.get(name);
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
    const context: ToolContext = {
      id,
      name,
      operationKey: call.operation_key ?? "",
      signal: given.signal,
      callTool: (tool, args) => this.hostCalls.call(tool, args, context),
    };
    await this.#answer(
      name,
      async () => toolFrame(id, await this.current.run(context, () => this.#toolResult(call, context))),
      (words) => toolFrame(id, textErrorResult(`${this.#hello.name}/${name} crashed: ${words}`)),
      given.signal,
    );
    this.#running.delete(id);
  }

  async #toolResult(call: ToolCall, context: ToolContext): Promise<ToolResult> {
    const tool = this.#registry.tools.get(call.name);
    if (!tool) return textErrorResult(`unknown tool "${call.name}"`);
    const args = objectOr(call.args);
    if (!call.reconcile) return resultOf(await tool.handler(args, context));
    return reconciled((await this.#registry.reconcilers.get(call.name)?.(args, context)) ?? "unknown");
  }

  async #answerIntercept(asked: EventIntercept): Promise<void> {
    const { id, event } = asked;
    await this.#answer(
      event,
      async () => ({ type: "event_intercept_response", id, ...(await this.#decide(asked)) }),
      (words) => ({
        type: "event_intercept_response",
        id,
        block: true,
        reason: `${this.#hello.name} crashed in ${event}: ${words}`,
      }),
    );
  }

  /** Calls the handlers in order: each gets the changes of those before it, and the first that blocks decides. */
  async #decide(question: EventIntercept): Promise<Decision> {
    let asked = question;
    let answer: Decision = {};
    for (const ask of this.#registry.interceptors.get(asked.event) ?? []) {
      const given = whatItSays(answerTo(asked.event, await ask(structuredClone(asked)))); // a copy: it may change it
      if (given.block) return { block: true, reason: given.reason ?? "" };
      asked = rewritten(asked, given);
      answer = { ...answer, ...given };
    }
    return answer;
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
}

function answerTo(event: Intercepted, value: unknown): Decision {
  switch (event) {
    case "tool_call":
      return toolCallDecision(value);
    case "turn_start":
      return decisionOf(value, ["block", "reason"]);
    case "assistant_message":
      return decisionOf(value, ["block", "reason", "replace_text"]);
    case "before_agent_start":
      return systemPromptOf(value);
    default:
      return decisionOf(value, ["block", "reason"]);
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
  return next;
}

function toolFrame(id: string, result: ToolResult): ChildFrame {
  return { type: "tool_result", id, ...result };
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message || error.name : String(error)) || "error";
}
