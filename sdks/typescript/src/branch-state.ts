// A value that follows the branch of the session: kept in its entries, found again after a fork or rewind.

import type { Extension } from "./extension.js";
import type { View } from "./lines.js";

/** Made by `Extension.branchState`. */
export class BranchState<T> {
  readonly #ext: Extension;
  readonly #type: string;
  readonly #initial: T;
  readonly #handlers: ((value: T) => unknown)[] = [];
  #value: { is: T } | undefined;
  #saves = 0;

  constructor(ext: Extension, type: string, initial: T) {
    this.#ext = ext;
    this.#type = type;
    this.#initial = initial;
    ext.on("session_start", () => this.#changed());
    ext.onHello(() => {
      const session = ext.host.session as { reason?: string } | undefined;
      if ((session?.reason ?? "start") !== "start") void this.#changed();
    });
  }

  /** Called with the value when a session or another branch begins, and after a reload. */
  onLoad(handler: (value: T) => unknown): this {
    this.#handlers.push(handler);
    return this;
  }

  /** The value on this branch; the initial one if there is none. */
  async load(): Promise<T> {
    if (this.#value) return this.#value.is;
    const saves = this.#saves;
    let found: T = structuredClone(this.#initial);
    for (let after: string | undefined = ""; after !== undefined; ) {
      const page: { entries: Record<string, any>[]; next?: string } = await this.#ext.entries({
        kinds: ["extension"],
        limit: 500,
        ...(after ? { after } : {}),
      });
      for (const entry of page.entries) {
        if (entry["extension"] === this.#ext.name && entry["type"] === this.#type) found = entry["data"] as T;
      }
      after = page.next;
    }
    if (this.#saves !== saves && this.#value) return (this.#value as { is: T }).is; // saved meanwhile
    this.#value = { is: found };
    return found;
  }

  /** Stores the value in the session. */
  save(value: T, view?: View): Promise<{ entry_id: string; saved: boolean }> {
    this.#saves += 1;
    this.#value = { is: value };
    return this.#ext.appendEntry(this.#type, value, view);
  }

  async #changed(): Promise<void> {
    this.#value = undefined;
    if (this.#handlers.length === 0 || !this.#ext.has("session")) return;
    const value = await this.load();
    for (const handler of this.#handlers) await handler(value);
  }
}
