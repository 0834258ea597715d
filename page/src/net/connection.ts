/** The WebSocket to one conversation: requests and their answers, frames in order, and a new attempt with back-off after
 * a lost connection, which asks for the events since the last one seen. */

import type { Frame, Response, Welcome } from "../wire.ts";
import { deviceKey, fetchJson, HttpError } from "./access.ts";

export type Link = "connecting" | "open" | "waiting" | "ended";

export interface Target {
  conversation: string;
  directory?: string;
  watch?: boolean;
}

export interface Listener {
  onWelcome(welcome: Welcome, again: boolean): void;
  onFrame(frame: Frame, size: number): void;
  /** `ended` has a reason for the user; then there is no further attempt. */
  onLink(link: Link, reason: string, retryAt: number): void;
  /** Rises by one with everything that must be drawn from the start. */
  drawn(): number;
}

interface Waiting {
  resolve(data: unknown): void;
  reject(error: Error): void;
}

const FIRST_MS = 250;
const MOST_MS = 10_000;
const SLICE_MS = 4; // of a frame of the screen, for reading messages
const SLOW_FRAME_MS = 28; // then fewer things are drawn in the next one
const MOST_DRAWN = 8; // new things in one frame
const NO_FRAME_MS = 100;
const POLICY = 1008;
const REFUSALS = 3; // in a row, while the server answers other requests
const BEAT_MS = 15_000;
const LATE_MS = 10_000;

export class Connection {
  #target: Target;
  readonly #listener: Listener;
  #socket: WebSocket | null = null;
  #run = "";
  #seq = 0;
  #next = 1;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;
  #refusals = 0;
  #heart: ReturnType<typeof setInterval> | undefined;
  readonly #waiting = new Map<string, Waiting>();
  #inbox: string[] = [];
  #isDraining = false;
  #drainedAt = 0;
  #room = 2; // things that may be drawn in a frame; adapts to this machine

  constructor(target: Target, listener: Listener) {
    this.#target = target;
    this.#listener = listener;
    addEventListener("online", this.#retryNow);
    document.addEventListener("visibilitychange", this.#retryNow);
    this.#open();
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Send a command; its data, or an Error with the text of the server. */
  request<T>(type: string, fields: object = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (!this.isOpen || !this.#socket) return reject(new Error("not connected"));
      const id = `p${this.#next++}`;
      this.#waiting.set(id, { resolve: resolve as (data: unknown) => void, reject });
      this.#socket.send(JSON.stringify({ id, type, ...fields }));
    });
  }

  close(): void {
    this.#isClosed = true;
    removeEventListener("online", this.#retryNow);
    document.removeEventListener("visibilitychange", this.#retryNow);
    clearTimeout(this.#timer);
    clearInterval(this.#heart);
    this.#socket?.close();
    this.#failAll("the conversation was left");
  }

  retry(): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed && !this.#socket) this.#open();
  }

  #retryNow = (): void => {
    if (document.visibilityState === "visible" && this.#timer !== undefined) this.retry();
  };

  #open(): void {
    this.#timer = undefined;
    this.#listener.onLink("connecting", "", 0);
    const query = new URLSearchParams({ conversation: this.#target.conversation });
    if (this.#target.directory) query.set("directory", this.#target.directory);
    if (this.#target.watch) query.set("watch", "1");
    if (this.#run) {
      query.set("run", this.#run);
      query.set("after", String(this.#seq));
    }
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/rpc?${query}`, ["zot-serve.1", `zot-key.${deviceKey()}`]);
    this.#socket = socket;
    let wasOpen = false;
    socket.onopen = () => (wasOpen = true);
    socket.onmessage = (event: MessageEvent<string>) => {
      if (this.#socket === socket) this.#received(event.data);
    };
    socket.onclose = (event) => {
      if (this.#socket === socket) void this.#closed(event, wasOpen);
    };
  }

  // --- messages: read in slices, so that a flood leaves time for the screen

  #received(text: string): void {
    this.#inbox.push(text);
    if (!this.#isDraining) {
      this.#isDraining = true;
      this.#schedule();
    }
  }

  /** With the next frame of the screen; a page that is not drawn has none, so a clock runs beside it. */
  #schedule(): void {
    let isDue = true;
    const run = (hasFrame: boolean) => {
      if (!isDue) return;
      isDue = false;
      this.#drain(hasFrame);
    };
    requestAnimationFrame(() => run(true));
    setTimeout(() => run(false), NO_FRAME_MS);
  }

  #drain(hasFrame: boolean): void {
    const now = performance.now();
    const end = now + (hasFrame ? SLICE_MS : NO_FRAME_MS);
    const isSlow = this.#drainedAt > 0 && now - this.#drainedAt > SLOW_FRAME_MS;
    this.#room = isSlow ? Math.max(this.#room >> 1, 1) : Math.min(this.#room + 1, MOST_DRAWN);
    const most = hasFrame ? this.#listener.drawn() + this.#room : Infinity;
    let at = 0;
    while (at < this.#inbox.length) {
      const text = this.#inbox[at++] as string;
      this.#dispatch(JSON.parse(text) as Frame, text.length);
      if (performance.now() > end || this.#listener.drawn() >= most) break;
    }
    this.#inbox = at < this.#inbox.length ? this.#inbox.slice(at) : [];
    this.#isDraining = this.#inbox.length > 0;
    this.#drainedAt = this.#isDraining ? now : 0;
    if (this.#isDraining) this.#schedule();
  }

  #dispatch(frame: Frame, size: number): void {
    if (frame.type === "welcome") {
      this.#welcomed(frame as unknown as Welcome);
      return;
    }
    if (typeof frame.seq === "number") this.#seq = frame.seq;
    if (frame.type === "conversation_ended") this.#end(String(frame["reason"] || "the conversation has ended"));
    this.#listener.onFrame(frame, size); // before the answer is given on: a listener sees them in the order of the server
    if (frame.type === "response") this.#answered(frame as unknown as Response);
  }

  #welcomed(welcome: Welcome): void {
    const again = this.#run === welcome.run && !welcome.missed;
    this.#attempt = 0;
    this.#refusals = 0;
    this.#beat();
    this.#run = welcome.run;
    if (!again) this.#seq = welcome.seq;
    this.#target = { ...this.#target, conversation: welcome.conversation };
    this.#listener.onLink("open", "", 0);
    this.#listener.onWelcome(welcome, again);
  }

  #answered(response: Response): void {
    const id = String(response.id ?? "");
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    if (response.success) waiting.resolve(response.data);
    else waiting.reject(new Error(response.error ?? `${response.command} failed`));
  }

  // --- after a loss

  async #closed(event: CloseEvent, wasOpen: boolean): Promise<void> {
    this.#socket = null;
    this.#failAll("the connection was lost");
    if (this.#isClosed) return;
    if (event.code === POLICY) return this.#end(event.reason || "this device was revoked");
    const answer = await probe();
    if (this.#isClosed || this.#socket) return;
    if (answer === "denied") return this.#end("this device has no key, or it was revoked");
    this.#refusals = answer === "up" && !wasOpen ? this.#refusals + 1 : 0;
    if (this.#refusals >= REFUSALS) return this.#end("this conversation cannot be opened; it may have been removed");
    const wait = Math.min(FIRST_MS * 2 ** this.#attempt, MOST_MS) * (0.75 + Math.random() / 2);
    this.#attempt += 1;
    this.#listener.onLink("waiting", "", Date.now() + wait);
    this.#timer = setTimeout(() => this.#open(), wait);
  }

  /** A connection can be dead without a close: ask, and give up on one that does not answer. */
  #beat(): void {
    clearInterval(this.#heart);
    this.#heart = setInterval(() => {
      const socket = this.#socket;
      if (!this.isOpen || !socket) return;
      const late = setTimeout(() => this.#abandon(socket), LATE_MS);
      this.request("ping").then(
        () => clearTimeout(late),
        () => clearTimeout(late),
      );
    }, BEAT_MS);
  }

  #abandon(socket: WebSocket): void {
    if (this.#socket !== socket) return;
    socket.onclose = null;
    socket.close();
    void this.#closed(new CloseEvent("close"), true);
  }

  #end(reason: string): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#heart);
    this.#socket?.close();
    this.#listener.onLink("ended", reason, 0);
  }

  #failAll(reason: string): void {
    for (const waiting of this.#waiting.values()) waiting.reject(new Error(reason));
    this.#waiting.clear();
    this.#inbox = [];
  }
}

/** A browser does not say why a WebSocket was refused, so a plain request asks. */
async function probe(): Promise<"up" | "down" | "denied"> {
  try {
    await fetchJson("GET", "/conversations");
    return "up";
  } catch (error) {
    if (!(error instanceof HttpError)) return "down";
    return error.status === 401 || error.status === 403 ? "denied" : "up";
  }
}
