// The `call_tool` requests that wait for their result.

import type { CallTool, CallToolCancel, HostToolResult } from "./frames.js";

const LIMIT_MS = 60_000;

interface Waiting {
  resolve(result: HostToolResult): void;
  reject(error: Error): void;
}

export class HostCalls {
  offered = false;
  #count = 0;
  #lost = false;
  readonly #open = new Map<string, Waiting>();
  readonly #send: (frame: CallTool | CallToolCancel) => void;

  constructor(send: (frame: CallTool | CallToolCancel) => void) {
    this.#send = send;
  }

  async call(name: string, args: object, parent?: { id: string; signal: AbortSignal }): Promise<HostToolResult> {
    if (!this.offered) throw new Error("this host does not offer call_tool");
    if (this.#lost) throw new Error("the host is gone");
    const id = `call-${++this.#count}`;
    const signals = [AbortSignal.timeout(LIMIT_MS), ...(parent ? [parent.signal] : [])];
    const result = new Promise<HostToolResult>((resolve, reject) => this.#open.set(id, { resolve, reject }));
    const giveUp = (): void => {
      this.#open.get(id)?.reject(new Error(`call_tool ${name}: given up`));
      if (this.#open.delete(id)) this.#send({ type: "call_tool_cancel", id });
    };
    for (const signal of signals) signal.addEventListener("abort", giveUp, { once: true });
    this.#send({ type: "call_tool", id, name, args, ...(parent ? { parent_id: parent.id } : {}) });
    if (parent?.signal.aborted) giveUp();
    return result.finally(() => signals.forEach((signal) => signal.removeEventListener("abort", giveUp)));
  }

  answer(result: HostToolResult): void {
    this.#open.get(result.id)?.resolve(result);
    this.#open.delete(result.id);
  }

  loseAll(): void {
    this.#lost = true;
    for (const waiting of this.#open.values()) waiting.reject(new Error("the host is gone"));
    this.#open.clear();
  }
}
