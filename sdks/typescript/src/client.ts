// Drives `zot rpc` from Node: the process is started, watched, restarted and ended here; nothing waits for ever.
// Prompts sent while one runs wait their turn in zot. A process that died takes its conversation along, unless a
// session keeps it (`args: ["--session", FILE]`); the next command starts another one. Events are typed as this version
// knows them; a later zot may send more types, so let a `switch` pass over what it does not know.

import { Connection, type Inbox } from "./connection.js";
import { ClientError } from "./client-error.js";
import type * as rpc from "./rpc.js";

export { ClientError } from "./client-error.js";
export type * from "./rpc.js";

export type Decision = "once" | "prefix" | "tool" | "all" | "deny" | "session" | "never" | boolean;

export type ElicitationAnswer = Readonly<Record<string, unknown>> | null;

export interface ClientOptions {
  /** How zot is started; `["zot"]` when left out. */
  command?: readonly string[];
  /** More flags, such as `["--session", file]`. */
  args?: readonly string[];
  /** Added to the process's own environment: keys belong here, not into `args`. */
  env?: Readonly<Record<string, string>>;
  provider?: string;
  model?: string;
  baseUrl?: string;
  cwd?: string;
  extensions?: readonly string[];
  /** A shared secret: zot serves nobody else. */
  token?: string;
  /** Asked before each tool call; one that throws has said no. */
  approve?: (request: rpc.ApprovalRequestEvent) => Decision | Promise<Decision>;
  /** Asked what MCP servers ask: the values by name (`{}` for an address that was opened), or null for no. One that
   * throws, or whose values do not fit the question, has not answered. */
  elicit?: (request: rpc.ElicitationRequestEvent) => ElicitationAnswer | Promise<ElicitationAnswer>;
  /** What else you can show: "commands", "panels". */
  capabilities?: readonly string[];
  /** Hears events that belong to no prompt. */
  onEvent?: (event: rpc.Event) => void;
  /** Hears zot's stderr, line by line. */
  onStderr?: (line: string) => void;
  /** Start another process when the last one died; on unless said otherwise. */
  restart?: boolean;
  /** Milliseconds: 30 000 to start, 10 000 for commands answered at once, 30 000 of silence before zot is asked whether
   * it is there, 5 000 between closing its stdin and killing it. */
  startTimeout?: number;
  answerTimeout?: number;
  silence?: number;
  exitTimeout?: number;
}

export class Client {
  readonly #options: ClientOptions;
  #connection: Promise<Connection> | undefined;
  #live: Connection | undefined;
  #closed = false;
  /** What zot said of itself. */
  hello: rpc.HelloData | undefined;
  /** Processes started so far; above 1 means that one died. */
  starts = 0;

  constructor(options: ClientOptions = {}) {
    this.#options = options;
  }

  /** The process id of zot, while it lives. */
  get pid(): number | undefined {
    return this.#live?.alive ? this.#live.pid : undefined;
  }

  /** The end of what zot said on stderr. */
  get stderr(): string {
    return this.#live?.stderr ?? "";
  }

  /** Starts zot and waits until it serves. Not needed: the first command does the same. */
  async start(): Promise<this> {
    await this.#connected();
    return this;
  }

  /** Abort what runs and end the process; harmless the second time. */
  async close(): Promise<void> {
    this.#closed = true;
    const connection = await this.#connection?.catch(() => undefined);
    await connection?.close(this.#options.exitTimeout ?? 5_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The events, in order, ending after `done`; sent when first read. Leaving the loop aborts the prompt. */
  prompt(message: string, images: readonly rpc.Image[] = []): AsyncGenerator<rpc.Event, void> {
    return this.#run({ type: "prompt", message, images });
  }

  /** Say something and wait; the text of the last message. An `error` event is thrown. */
  async ask(message: string, images: readonly rpc.Image[] = []): Promise<string> {
    let answer = "";
    let failure: string | undefined;
    for await (const event of this.prompt(message, images)) {
      if (event.type === "assistant_message") answer = textOf(event);
      if (event.type === "error") failure = event.message;
    }
    if (failure !== undefined) throw new ClientError("failed", failure);
    return answer;
  }

  /** Replace the transcript by a summary, and return it; `focus` says what it should keep above all. It ends with
   * `compact_done`, without `done`. */
  async compact(focus = ""): Promise<string> {
    let summary: string | undefined;
    let failure = "compaction aborted";
    for await (const event of this.#run({ type: "compact", focus })) {
      if (event.type === "compact_done") summary = event.summary;
      if (event.type === "error") failure = event.message;
    }
    if (summary === undefined) throw new ClientError("failed", failure);
    return summary;
  }

  /** Run an extension's command (capability `commands`). Read `events`: those of the prompt it started, if it did. */
  async runCommand(name: string, args = ""): Promise<{ answer: rpc.CommandRun; events: AsyncGenerator<rpc.Event, void> }> {
    const connection = await this.#connected();
    const inbox = await connection.begin({ type: "run_command", name, args });
    const answer = (await connection.started(inbox)) as rpc.CommandRun;
    return { answer, events: this.#events(connection, inbox) };
  }

  /** End the running prompt or compaction; queued ones stay. Harmless when idle. */
  async abort(): Promise<void> {
    await this.#request({ type: "abort" });
  }

  async ping(): Promise<void> {
    await this.#request({ type: "ping" });
  }

  async state(): Promise<rpc.State> {
    return (await this.#request({ type: "get_state" })) as rpc.State;
  }

  async messages(): Promise<readonly rpc.Message[]> {
    return ((await this.#request({ type: "get_messages" })) as rpc.Messages).messages;
  }

  async models(): Promise<readonly rpc.ModelInfo[]> {
    return ((await this.#request({ type: "get_models" })) as rpc.Models).models;
  }

  /** The MCP servers of this run; nobody is started to be asked. */
  async mcpServers(): Promise<readonly rpc.McpServer[]> {
    return ((await this.#request({ type: "get_mcp_servers" })) as rpc.McpServers).servers;
  }

  async commands(): Promise<readonly rpc.CommandInfo[]> {
    return ((await this.#request({ type: "get_commands" })) as rpc.Commands).commands;
  }

  /** What the tools did to files: during the prompt of this number, from 1, or without one in the whole session. Needs
   * a session that is kept. */
  async changes(prompt = 0): Promise<rpc.Changes> {
    return (await this.#request({ type: "get_changes", prompt })) as rpc.Changes;
  }

  /** Go back to before the prompt of this number, from 1; without one, undo the last rewinding of files. What others
   * changed meanwhile is named and left alone, unless `overwrite`; `dry_run` only tells. */
  async rewind(prompt = 0, how: Omit<rpc.RewindCommand, "type" | "id" | "prompt"> = {}): Promise<rpc.Rewound> {
    return (await this.#request({ ...how, type: "rewind", prompt })) as rpc.Rewound;
  }

  /** Drop the transcript. Needs an idle agent, as do the next two. */
  async clear(): Promise<void> {
    await this.#request({ type: "clear" });
  }

  async setModel(model: string): Promise<void> {
    await this.#request({ type: "set_model", model });
  }

  async setReasoning(reasoning: string): Promise<void> {
    await this.#request({ type: "set_reasoning", reasoning });
  }

  /** What runs without a question: `plan`, `ask`, `accept-edits` or `everything`; no wider than zot was started with. */
  async setPermissionMode(mode: string): Promise<void> {
    await this.#request({ type: "set_permission_mode", permission_mode: mode });
  }

  async panelKey(extension: string, panelId: string, key: string, text = ""): Promise<void> {
    await this.#request({ type: "panel_key", extension, panel_id: panelId, key, text });
  }

  async panelClose(extension: string, panelId: string): Promise<void> {
    await this.#request({ type: "panel_close", extension, panel_id: panelId });
  }

  async #request(command: rpc.Command): Promise<unknown> {
    return (await this.#connected()).request(command);
  }

  async *#run(command: rpc.Command): AsyncGenerator<rpc.Event, void> {
    const connection = await this.#connected();
    yield* this.#events(connection, await connection.begin(command));
  }

  async *#events(connection: Connection, inbox: Inbox): AsyncGenerator<rpc.Event, void> {
    try {
      for (let event = await connection.next(inbox); event; event = await connection.next(inbox)) yield event;
    } finally {
      connection.drop(inbox);
    }
  }

  async #connected(): Promise<Connection> {
    if (this.#closed) throw new ClientError("closed", "client is closed");
    const opened = this.#connection;
    const connection = await opened;
    if (connection?.alive) return connection;
    if (connection && this.#options.restart === false) {
      throw new ClientError("gone", "zot is gone and restart is off", connection.stderr);
    }
    // Of several callers that find it dead, the first opens another one and the rest share it.
    if (this.#connection === opened) this.#connection = this.#open();
    return this.#connection as Promise<Connection>;
  }

  async #open(): Promise<Connection> {
    const options = this.#options;
    this.starts += 1;
    const connection = new Connection(argvOf(options), environmentOf(options), {
      answerTimeout: options.answerTimeout ?? 10_000,
      silence: options.silence ?? 30_000,
      onEvent: options.onEvent,
      onStderr: options.onStderr,
      onApproval: options.approve ? (request) => this.#approve(request) : undefined,
      onElicitation: options.elicit ? (request) => this.#elicit(request) : undefined,
    });
    const asked = [...(options.approve ? ["approvals"] : []), ...(options.elicit ? ["elicitation"] : [])];
    const capabilities = [...asked, ...(options.capabilities ?? [])];
    try {
      const hello: rpc.HelloCommand = { type: "hello", token: options.token ?? "", capabilities };
      this.hello = (await connection.request(hello, options.startTimeout ?? 30_000)) as rpc.HelloData;
    } catch (error) {
      this.#connection = undefined;
      await connection.close(0);
      throw error;
    }
    this.#live = connection;
    return connection;
  }

  /** The caller's decision; one that fails has said no. */
  async #approve(request: rpc.ApprovalRequestEvent): Promise<rpc.ApproveCommand> {
    let decision: Decision = "deny";
    let reason = "";
    try {
      decision = (await this.#options.approve?.(request)) ?? "deny";
      if (typeof decision === "boolean") decision = decision ? "once" : "deny";
      if (!["once", "prefix", "tool", "all", "deny", "session", "never"].includes(decision)) throw new Error(`unknown decision ${decision}`);
    } catch (error) {
      decision = "deny";
      reason = `refused: asking for approval failed: ${error instanceof Error ? error.message : error}`;
    }
    return { type: "approve", request_id: request.request_id, decision, reason };
  }

  /** The caller's values; one that fails has not answered. */
  async #elicit(request: rpc.ElicitationRequestEvent): Promise<rpc.AnswerElicitationCommand> {
    const { request_id } = request;
    try {
      const content = (await this.#options.elicit?.(request)) ?? null;
      if (content === null) return { type: "answer_elicitation", request_id, action: "decline" };
      return { type: "answer_elicitation", request_id, action: "accept", content };
    } catch {
      return { type: "answer_elicitation", request_id, action: "cancel" };
    }
  }
}

/** The text blocks of a message, joined by newlines. */
export function textOf(message: { content: readonly rpc.Content[] }): string {
  return message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

function argvOf(options: ClientOptions): string[] {
  const flags: [string, string | undefined][] = [
    ["--provider", options.provider],
    ["--model", options.model],
    ["--base-url", options.baseUrl],
    ["--cwd", options.cwd],
    ...(options.extensions ?? []).map((path): [string, string] => ["--ext", path]),
  ];
  return [
    ...(options.command ?? ["zot"]),
    "rpc",
    ...flags.flatMap(([flag, value]) => (value ? [flag, value] : [])),
    ...(options.approve ? ["--no-yolo"] : []),
    ...(options.args ?? []),
  ];
}

function environmentOf(options: ClientOptions): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = { ...process.env, ...options.env };
  delete environment.ZOTCORE_RPC_TOKEN;
  return options.token ? { ...environment, ZOTCORE_RPC_TOKEN: options.token } : environment;
}
