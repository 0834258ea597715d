// Drives `zot rpc` from Node: starts, watches, restarts and stops the process; every wait has a time limit. zot queues
// prompts sent while one runs. If the process dies, the next command starts another one; the conversation is lost
// unless it is saved (`args: ["--session", FILE]`). Events have the types of this version; a later zot may send more types, so
// a `switch` should ignore unknown ones.

import { Connection, type Inbox } from "./connection.js";
import { ClientError } from "./client-error.js";
import type * as rpc from "./rpc.js";

export { ClientError } from "./client-error.js";
export type * from "./rpc.js";

export type Decision = "once" | "prefix" | "tool" | "all" | "deny" | "session" | "never" | boolean;

export type ElicitationAnswer = Readonly<Record<string, unknown>> | null;

export interface ClientOptions {
  /** The command that starts zot; default `["zot"]`. */
  command?: readonly string[];
  /** More flags, such as `["--session", file]`. */
  args?: readonly string[];
  /** Added to the environment; put keys here, not into `args`. */
  env?: Readonly<Record<string, string>>;
  provider?: string;
  model?: string;
  baseUrl?: string;
  cwd?: string;
  extensions?: readonly string[];
  /** A shared secret that protects the connection. */
  token?: string;
  /** Called before each tool call; an exception denies it. */
  approve?: (request: rpc.ApprovalRequestEvent) => Decision | Promise<Decision>;
  /** Answers questions of MCP servers: the values by name (`{}` for an opened address), or null to decline. An
   * exception or invalid values cancel the question. */
  elicit?: (request: rpc.ElicitationRequestEvent) => ElicitationAnswer | Promise<ElicitationAnswer>;
  /** Other capabilities: "commands", "panels". */
  capabilities?: readonly string[];
  /** Receives events that belong to no prompt. */
  onEvent?: (event: rpc.Event) => void;
  /** Receives zot's stderr, line by line. */
  onStderr?: (line: string) => void;
  /** Start another process if the last one died; default true. */
  restart?: boolean;
  /** Milliseconds: 30 000 to start, 10 000 for commands that are answered immediately, 30 000 without output before a
   * ping, 5 000 between closing its stdin and killing it. */
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
  /** zot's answer to `hello`: versions, provider and model. */
  hello: rpc.HelloData | undefined;
  /** Number of processes started; above 1 means that one died. */
  starts = 0;

  constructor(options: ClientOptions = {}) {
    this.#options = options;
  }

  /** The process id of zot, while it runs. */
  get pid(): number | undefined {
    return this.#live?.alive ? this.#live.pid : undefined;
  }

  /** The end of zot's stderr. */
  get stderr(): string {
    return this.#live?.stderr ?? "";
  }

  /** Starts zot and waits until it is ready. Optional: the first command does the same. */
  async start(): Promise<this> {
    await this.#connected();
    return this;
  }

  /** Abort running work and end the process. It can be called more than once. */
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

  /** Send a prompt, wait, and return the text of the last message. An `error` event is thrown. */
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

  /** Replace the transcript with a summary and return it; `focus` names what it must preserve. It ends with
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

  /** Run an extension's command (capability `commands`). Read `events`, the events of the prompt, if it started one. */
  async runCommand(name: string, args = ""): Promise<{ answer: rpc.CommandRun; events: AsyncGenerator<rpc.Event, void> }> {
    const connection = await this.#connected();
    const inbox = await connection.begin({ type: "run_command", name, args });
    const answer = (await connection.started(inbox)) as rpc.CommandRun;
    return { answer, events: this.#events(connection, inbox) };
  }

  /** Stop the running prompt or compaction; queued prompts stay queued. Also succeeds when idle. */
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

  /** The MCP servers of this run. Starts none of them. */
  async mcpServers(): Promise<readonly rpc.McpServer[]> {
    return ((await this.#request({ type: "get_mcp_servers" })) as rpc.McpServers).servers;
  }

  async commands(): Promise<readonly rpc.CommandInfo[]> {
    return ((await this.#request({ type: "get_commands" })) as rpc.Commands).commands;
  }

  /** File changes made by tools: during one prompt (its number, from 1) or, without a number, in the whole session.
   * Requires a saved session. */
  async changes(prompt = 0): Promise<rpc.Changes> {
    return (await this.#request({ type: "get_changes", prompt })) as rpc.Changes;
  }

  /** Go back to before a prompt (its number, from 1); without a number, undo the last rewind of files. Files that
   * something else changed since are reported and not touched, unless `overwrite`; `dry_run` changes nothing. */
  async rewind(prompt = 0, how: Omit<rpc.RewindCommand, "type" | "id" | "prompt"> = {}): Promise<rpc.Rewound> {
    return (await this.#request({ ...how, type: "rewind", prompt })) as rpc.Rewound;
  }

  /** Clear the transcript. Fails while the agent is busy, as do `setModel` and `setReasoning`. */
  async clear(): Promise<void> {
    await this.#request({ type: "clear" });
  }

  async setModel(model: string): Promise<void> {
    await this.#request({ type: "set_model", model });
  }

  async setReasoning(reasoning: string): Promise<void> {
    await this.#request({ type: "set_reasoning", reasoning });
  }

  /** Set which calls run without approval: `plan`, `ask`, `accept-edits` or `everything`; not wider than at start. */
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
    // If several callers find it dead, the first opens another one and the others share it.
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

  /** The caller's decision; an exception denies the call. */
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

  /** The caller's values; an exception cancels the question. */
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
