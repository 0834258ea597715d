// The question of zot that a handler answers. Requests made through it belong to it: they end with it, and the clock
// stands still while the user is asked.

import { Response, ToolResult, text as block } from "./answers.js";
import type { HostToolResult } from "./frames.js";
import { HostMethods } from "./host-methods.js";
import type { Line, View } from "./lines.js";
import type { RequestOptions } from "./requests.js";
import type { Server } from "./server.js";

export type QuestionKind = "tool" | "command" | "intercept" | "request";

/** One open question: a tool call, command, interception, key or request of zot. */
export class Context extends HostMethods {
  readonly id: string;
  readonly name: string;
  readonly kind: QuestionKind;
  /** The same for every replay of one call; empty in ordinary sessions. */
  readonly operationKey: string;
  /** The parameters of a request of zot; for a key the `text` of the prompt. */
  readonly params: Record<string, any>;
  readonly #server: Server;
  readonly #given = new AbortController();
  #answered = false;

  constructor(server: Server, kind: QuestionKind, id: string, name: string, operationKey = "", params = {}) {
    super();
    this.#server = server;
    this.kind = kind;
    this.id = id;
    this.name = name;
    this.operationKey = operationKey;
    this.params = params;
  }

  /** Aborted when zot cancels the question; the answer is then ignored. */
  get signal(): AbortSignal {
    return this.#given.signal;
  }

  /** True if zot cancelled the question. */
  get cancelled(): boolean {
    return this.#given.signal.aborted;
  }

  /** Called by the server. */
  cancel(): void {
    this.#given.abort();
    this.#server.requests.giveUp(this.id);
  }

  /** True once: a question gets one answer. Called by the server. */
  claimAnswer(): boolean {
    const first = !this.#answered;
    this.#answered = true;
    return first;
  }

  override request(method: string, params: object = {}, options: RequestOptions = {}): Promise<any> {
    return this.#server.request(method, params, this.id, options);
  }

  protected override decides(): boolean {
    return this.kind === "intercept";
  }

  /** Shows how far it is; the newest counts. `content` is what the model gets if the call is cancelled. */
  progress(
    text: string,
    options: { fraction?: number; content?: string; view?: View | readonly Line[]; data?: unknown } = {},
  ): void {
    if (this.#answered || !this.#server.offers("progress")) return;
    const { fraction, content, view, data } = options;
    this.#server.send({
      type: "progress",
      id: this.id,
      text,
      ...(fraction === undefined ? {} : { fraction }),
      ...(content ? { content: [block(content)] } : {}),
      ...(view === undefined ? {} : { view: Array.isArray(view) ? { lines: view } : view }),
      ...(data === undefined ? {} : { data }),
    });
  }

  /** Requests that zot runs a tool as part of this call. */
  callTool(name: string, args: object): Promise<HostToolResult> {
    return this.#server.hostCalls.call(name, args, this.kind === "tool" ? this : undefined);
  }

  /** A failure, as the answer to a tool call or a command. */
  error(words: string): any {
    return this.kind === "tool" ? new ToolResult({ content: [block(words)], is_error: true }) : Response.error(words);
  }

  /** The answer of a command that submits text as the user's message. */
  prompt(words: string): Response {
    return Response.prompt(words);
  }

  /** The answer of a command that puts text into the prompt. */
  insert(words: string): Response {
    return Response.insert(words);
  }

  /** The answer of a command that shows text; the model does not see it. */
  display(words: string): Response {
    return Response.display(words);
  }

  /** A tool result of text, with a view, details and the rest of a ToolResult. */
  result(words: string, more: Partial<ToolResult> = {}): ToolResult {
    return new ToolResult({ content: [block(words)], ...more });
  }
}
