// Open requests of this extension to zot: each gets one answer, in any order.

import { Cancelled, RequestError, errorOf } from "./errors.js";
import type { Cancel, Contribute, Progress, Request, Response, Withdraw } from "./frames.js";

export interface RequestOptions {
  /** A shorter limit than the method's own. */
  timeoutMs?: number;
  /** Gets the frames before the result. */
  onProgress?: (progress: Progress) => unknown;
  /** Aborting it cancels the request. */
  signal?: AbortSignal;
}

interface Waiting {
  parentId: string;
  onProgress: ((progress: Progress) => unknown) | undefined;
  resolve(result: any): void;
  reject(error: Error): void;
}

type Asking = Omit<Request, "id"> | Omit<Contribute, "id"> | Omit<Withdraw, "id">;

export class Requests {
  #count = 0;
  #lost = false;
  readonly #open = new Map<string, Waiting>();
  readonly #send: (frame: Request | Contribute | Withdraw | Cancel) => void;

  constructor(send: (frame: Request | Contribute | Withdraw | Cancel) => void) {
    this.#send = send;
  }

  call(method: string, params: object, parentId = "", options: RequestOptions = {}): Promise<any> {
    const frame: Asking = { type: "request", method };
    if (Object.keys(params).length > 0) frame.params = params;
    if (parentId) frame.parent_id = parentId;
    if (options.timeoutMs) frame.timeout_ms = options.timeoutMs;
    return this.ask(frame, parentId, options);
  }

  /** Sends the frame with an id of its own; resolves with the result. */
  async ask(frame: Asking, parentId = "", options: RequestOptions = {}): Promise<any> {
    if (this.#lost) throw new RequestError("zot is gone");
    const id = `r${++this.#count}`;
    const result = new Promise<any>((resolve, reject) => {
      this.#open.set(id, { parentId, onProgress: options.onProgress, resolve, reject });
    });
    const giveUp = (): void => {
      if (!this.#open.has(id)) return;
      this.#take(id)?.reject(new Cancelled("the request was cancelled", "cancelled"));
      this.#send({ type: "cancel", id });
    };
    this.#send({ ...frame, id } as Request | Contribute | Withdraw);
    if (options.signal?.aborted) giveUp();
    options.signal?.addEventListener("abort", giveUp, { once: true });
    return result.finally(() => options.signal?.removeEventListener("abort", giveUp));
  }

  answered({ id, result, error }: Response): void {
    const waiting = this.#take(id);
    if (error) waiting?.reject(errorOf(error.code ?? "failed", error.message ?? "failed", error.data));
    else waiting?.resolve(result ?? null);
  }

  progressed(progress: Progress): void {
    this.#open.get(progress.id)?.onProgress?.(progress);
  }

  /** The question they belong to was cancelled; zot cancels them itself. */
  giveUp(parentId: string): void {
    for (const [id, waiting] of [...this.#open]) {
      if (waiting.parentId === parentId) this.#take(id)?.reject(new Cancelled("the call was cancelled", "cancelled"));
    }
  }

  loseAll(): void {
    this.#lost = true;
    for (const id of [...this.#open.keys()]) this.#take(id)?.reject(new RequestError("zot is gone"));
  }

  #take(id: string): Waiting | undefined {
    const waiting = this.#open.get(id);
    this.#open.delete(id);
    return waiting;
  }
}
