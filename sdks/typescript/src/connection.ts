// One process: matches responses to commands by id, and events to the command they belong to. Everything between a
// `started` response and `done` (or `compact_done`) belongs to that command. If the caller reads slowly, the client
// does as well, and zot then merges events; responses are not delayed by that.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { ClientError } from "./client-error.js";
import type * as rpc from "./rpc.js";

const LF = 0x0a;
const HIGH_WATER = 1000; // events waiting for a reader
const STDERR_KEPT = 64 * 1024;
const TERM_GRACE = 1_000;
const LAST_WORDS = 1_000; // for the exit code, after stdout was closed

interface Response {
  type: "response";
  id?: string;
  command: string;
  success: boolean;
  data?: unknown;
  error?: string;
}

export interface Limits {
  answerTimeout: number;
  silence: number;
  onEvent: ((event: rpc.Event) => void) | undefined;
  onStderr: ((line: string) => void) | undefined;
  onApproval: ((request: rpc.ApprovalRequestEvent) => Promise<rpc.ApproveCommand>) | undefined;
  onElicitation: ((request: rpc.ElicitationRequestEvent) => Promise<rpc.AnswerElicitationCommand>) | undefined;
}

/** The response of one command, then its events. */
export class Inbox {
  response: Response | undefined;
  events: rpc.Event[] = [];
  failure: ClientError | undefined;
  over = false; // complete
  dropped = false; // its reader is gone
  #wake: (() => void) | undefined;

  put(event: rpc.Event): void {
    if (!this.dropped) this.events.push(event);
    this.over ||= event.type === "done" || event.type === "compact_done";
    this.#wake?.();
  }

  answer(response: Response): void {
    this.response = response;
    this.#wake?.();
  }

  end(failure?: ClientError): void {
    this.failure ??= failure;
    this.over = true;
    this.#wake?.();
  }

  /** Whether something arrived within this many milliseconds. */
  news(milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}

export class Connection {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #limits: Limits;
  readonly #waiting = new Map<string, { resolve: (data: unknown) => void; reject: (error: Error) => void }>();
  readonly #inboxes = new Map<string, Inbox>();
  readonly #exited: Promise<void>;
  #current: Inbox | undefined;
  #lastId = 0;
  #over = false;
  #failure: Error | undefined;
  #received = 0; // chunks of stdout so far
  stderr = "";

  constructor(argv: readonly string[], env: NodeJS.ProcessEnv, limits: Limits) {
    this.#limits = limits;
    // Its own process group: a Ctrl-C in the terminal reaches only the caller.
    this.#child = spawn(argv[0] ?? "zot", argv.slice(1), { env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    this.#exited = new Promise((resolve) => {
      this.#child.once("exit", () => resolve());
      this.#child.once("error", (error) => {
        this.#failure = error;
        resolve();
      });
    });
    this.#child.stdin.on("error", () => undefined); // the end of the output reports a dead process
    this.#listen();
  }

  get alive(): boolean {
    return !this.#over && this.#child.exitCode === null && this.#child.signalCode === null && !this.#failure;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  // --- sending

  /** The data of the response. */
  request(command: rpc.Command, timeout = this.#limits.answerTimeout): Promise<unknown> {
    const id = String(++this.#lastId);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => settle(() => reject(new ClientError("silent", `zot did not answer ${command.type} in time`, this.stderr))),
        timeout,
      );
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        act();
      };
      this.#waiting.set(id, {
        resolve: (data) => settle(() => resolve(data)),
        reject: (error) => settle(() => reject(error)),
      });
      this.#child.stdout.resume(); // a slow reader must not delay the answer
      this.#send(command, id);
    });
  }

  /** Send a command whose events follow when it starts. */
  async begin(command: rpc.Command): Promise<Inbox> {
    if (!this.alive) throw this.#gone();
    const id = String(++this.#lastId);
    const inbox = new Inbox();
    this.#inboxes.set(id, inbox);
    this.#send(command, id);
    return inbox;
  }

  /** The data of its response, when it starts. */
  async started(inbox: Inbox): Promise<unknown> {
    while (!inbox.response && !inbox.over) await this.#news(inbox);
    if (!inbox.response?.success) throw inbox.failure ?? this.#gone();
    return inbox.response.data;
  }

  /** The next event, undefined after the last; throws the error that ended it. */
  async next(inbox: Inbox): Promise<rpc.Event | undefined> {
    while (inbox.events.length === 0 && !inbox.over) await this.#news(inbox);
    const event = inbox.events.shift();
    if (inbox.events.length < HIGH_WATER) this.#child.stdout.resume();
    if (!event && inbox.failure) throw inbox.failure;
    return event;
  }

  /** Its reader is gone: abort it, now or when it starts. */
  drop(inbox: Inbox): void {
    inbox.dropped = true;
    inbox.events = [];
    this.#child.stdout.resume();
    if (inbox === this.#current && !inbox.over) this.#send({ type: "abort" });
  }

  async #news(inbox: Inbox): Promise<void> {
    if (await inbox.news(this.#limits.silence)) return;
    const before = this.#received;
    try {
      await this.request({ type: "ping" });
    } catch (error) {
      if (!(error instanceof ClientError) || error.kind !== "silent") return;
      if (this.#received > before) return; // a very long line is arriving
      inbox.end(new ClientError("silent", "zot was silent and answers no ping", this.stderr));
      this.#over = true;
      this.#child.kill("SIGKILL");
    }
  }

  #send(command: rpc.Command, id?: string): void {
    if (this.#child.stdin.writable) this.#child.stdin.write(`${JSON.stringify(id ? { ...command, id } : command)}\n`);
  }

  // --- receiving

  #listen(): void {
    this.#child.stdout.on("data", () => (this.#received += 1));
    readLines(this.#child.stdout, (line) => this.#heard(line));
    this.#child.stderr.on("data", (chunk: Buffer) => (this.stderr = (this.stderr + chunk.toString()).slice(-STDERR_KEPT)));
    const { onStderr } = this.#limits;
    if (onStderr) readLines(this.#child.stderr, onStderr);
    this.#child.stdout.once("close", () => void this.#ended());
    void this.#exited.then(() => this.#failure && this.#loseAll());
  }

  #heard(line: string): void {
    const frame = parsed(line);
    if (!frame) return; // not from zot: something else wrote to its stdout
    if (frame.type === "response") this.#answered(frame);
    else this.#event(frame);
    if (this.#current && this.#current.events.length >= HIGH_WATER && this.#waiting.size === 0) this.#child.stdout.pause();
  }

  #answered(response: Response): void {
    const failure = response.success ? undefined : new ClientError("failed", response.error ?? "", this.stderr);
    const waiting = this.#waiting.get(response.id ?? "");
    if (waiting) {
      if (failure) waiting.reject(failure);
      else waiting.resolve(response.data);
      return;
    }
    const inbox = this.#inboxes.get(response.id ?? "");
    if (!inbox) return;
    this.#inboxes.delete(response.id ?? "");
    inbox.answer(response);
    if (!(response.data as { started?: boolean } | undefined)?.started) return inbox.end(failure);
    this.#current = inbox;
    if (inbox.dropped) this.drop(inbox);
  }

  #event(event: rpc.Event): void {
    if (event.type === "approval_request" && this.#limits.onApproval) {
      void this.#limits.onApproval(event).then((answer) => this.#send(answer));
    }
    if (event.type === "elicitation_request" && this.#limits.onElicitation) void this.#answer(event);
    if (this.#current) {
      this.#current.put(event);
      if (this.#current.over) this.#current = undefined;
    } else {
      this.#limits.onEvent?.(event);
    }
  }

  /** An answer that does not fit the question cancels it: the server does not wait for another. */
  async #answer(event: rpc.ElicitationRequestEvent): Promise<void> {
    const answer = await this.#limits.onElicitation?.(event);
    if (!answer) return;
    const nothing: rpc.AnswerElicitationCommand = { ...answer, action: "cancel", content: undefined };
    await this.request(answer).catch(() => this.request(nothing)).catch(() => undefined);
  }

  async #ended(): Promise<void> {
    this.#over = true;
    const patience = setTimeout(() => this.#child.kill("SIGKILL"), LAST_WORDS);
    await this.#exited;
    clearTimeout(patience);
    await new Promise((resolve) => setImmediate(resolve)); // read the rest of stderr
    this.#loseAll();
  }

  #loseAll(): void {
    this.#over = true;
    const gone = this.#gone();
    for (const waiting of [...this.#waiting.values()]) waiting.reject(gone);
    for (const inbox of this.#inboxes.values()) inbox.end(gone);
    this.#current?.end(gone);
    this.#inboxes.clear();
    this.#current = undefined;
  }

  #gone(): ClientError {
    const words = this.stderr.trim();
    const { exitCode, signalCode } = this.#child;
    const how = this.#failure ? `cannot be started: ${this.#failure.message}` : `ended with ${signalCode ?? `exit code ${exitCode}`}`;
    return new ClientError("gone", `zot ${how}${words ? `: ${words.split("\n").at(-1)}` : ""}`, words);
  }

  /** Abort running work, close its stdin, and wait until it has exited. */
  async close(grace: number): Promise<void> {
    if (this.alive) this.#send({ type: "abort" });
    for (const inbox of [...this.#inboxes.values(), ...(this.#current ? [this.#current] : [])]) inbox.dropped = true;
    this.#child.stdout.resume();
    this.#child.stdin.end();
    const insist = [
      setTimeout(() => this.#child.kill("SIGTERM"), grace),
      setTimeout(() => this.#child.kill("SIGKILL"), grace + TERM_GRACE),
    ];
    await this.#exited;
    insist.forEach(clearTimeout);
  }
}

function parsed(line: string): rpc.Event | Response | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "type" in value ? (value as rpc.Event | Response) : undefined;
  } catch {
    return undefined;
  }
}

/** Splits only at LF: node:readline would also split at U+2028 inside a string. */
function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      onLine(Buffer.concat([...rest, chunk.subarray(start, end)]).toString("utf8"));
      rest = [];
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
  });
}
