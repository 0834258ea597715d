// What an extension adds to zot while it runs, and what it answers when zot asks.

import type { Context } from "./context.js";
import { HostMethods } from "./host-methods.js";
import type { Line, View } from "./lines.js";
import { responseOf } from "./returns.js";

type Data = Record<string, any>;
export type RequestHandler = (params: Data, ctx: Context) => unknown;
/** Texts, or objects with `value`, `label`, `description`, `replace`. */
export type Completer = (text: string, ctx: Context) => readonly (string | object)[] | Promise<readonly (string | object)[]>;

const KIND_FEATURES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(["status", "widget", "header", "footer", "title", "working", "thinking"].map((k) => [k, "surfaces"])),
  ...Object.fromEntries(["border", "decoration", "keymap"].map((k) => [k, "editor"])),
  key: "keys",
  completion: "completion",
  renderer: "render",
  provider: "providers",
  resource: "resources",
};

/** The feature a kind of contribution belongs to. */
export function kindFeature(kind: string): string {
  return KIND_FEATURES[kind] ?? "contribute";
}

export abstract class Surfaces extends HostMethods {
  /** Adds or replaces anything by its kind in the protocol, also before `run`. A refusal is a diagnostic of zot. */
  abstract contribute(kind: string, name: string, value: object): this;
  /** Removes a contribution; does nothing if there is none. */
  abstract withdraw(kind: string, name: string): this;
  protected abstract answers(method: string, name: string, handler: RequestHandler): this;

  // --- the screen: the newest value counts

  /** An item of the status row. */
  status(name: string, line: Line, options: { side?: "left" | "right"; order?: number } = {}): this {
    return this.contribute("status", name, { line, ...options });
  }

  /** A block of at most 12 lines above or below the prompt. */
  widget(name: string, lines: readonly Line[], options: { place?: "above" | "below"; order?: number } = {}): this {
    return this.contribute("widget", name, { lines, ...options });
  }

  /** Lines above the conversation. */
  header(lines: readonly Line[]): this {
    return this.contribute("header", "header", { lines });
  }

  /** At most 3 lines at the bottom, with `replace` instead of the status row. */
  footer(lines: readonly Line[], replace = false): this {
    return this.contribute("footer", "footer", { lines, ...(replace ? { replace } : {}) });
  }

  /** The title of the terminal. */
  title(text: string): this {
    return this.contribute("title", "title", { text });
  }

  /** The row that shows work: its words and its frames. */
  working(value: { text?: string; frames?: readonly string[]; every_ms?: number; visible?: boolean }): this {
    return this.contribute("working", "working", value);
  }

  /** Styles a text, or what a pattern matches, in the prompt; zot animates the `frames`. */
  decorate(name: string, value: Data): this {
    return this.contribute("decoration", name, value);
  }

  /** A modal keymap of the prompt, run by zot. */
  keymap(name: string, modes: object, start: string): this {
    return this.contribute("keymap", name, { start, modes });
  }

  // --- answers to zot

  /** A key of the prompt, such as `ctrl+alt+p`; the handler returns what a command returns. */
  key(keys: string | readonly string[], description: string, handler: (ctx: Context) => unknown): this {
    const chosen = typeof keys === "string" ? [keys] : [...keys];
    const name = (chosen[0] ?? "").replaceAll("+", "-");
    this.contribute("key", name, { keys: chosen, description });
    return this.answers("key", name, async (_, ctx) => responseOf(await handler(ctx)).keys);
  }

  /** Completes words of the prompt behind a character, such as `#`. */
  completion(name: string, triggers: readonly string[], complete: Completer, description = ""): this {
    this.contribute("completion", name, { triggers, ...(description ? { description } : {}) });
    for (const trigger of triggers) this.completes(trigger, complete);
    return this;
  }

  /** Draws results of tools, or entries; the handler gets the parameters of `render`. */
  renderer(
    name: string,
    match: readonly string[],
    draw: (params: Data, ctx: Context) => View | readonly Line[] | null | Promise<View | readonly Line[] | null>,
    of: "tool" | "message" | "entry" = "tool",
  ): this {
    this.contribute("renderer", name, { for: of, match });
    for (const each of match) {
      this.answers("render", each, async (params, ctx) => {
        const made = await draw(params, ctx);
        return Array.isArray(made) ? { lines: made } : made;
      });
    }
    return this;
  }

  /** Brings a model provider. `stream` yields events, such as `{ text: "…" }`, and `{ stop, usage }` at the end. */
  provider(
    name: string,
    value: Data,
    handlers: {
      stream?: (params: Data, ctx: Context) => AsyncIterable<Data> | Iterable<Data>;
      login?: RequestHandler;
      renew?: RequestHandler;
      models?: RequestHandler;
    } = {},
  ): this {
    const { stream, ...others } = handlers;
    this.contribute("provider", name, stream ? { ...value, stream: true } : value);
    if (stream) {
      this.answers("provider.stream", name, async (params, ctx) => {
        let result: Data = { stop: "end_turn" };
        for await (const event of stream(params, ctx)) {
          if (ctx.cancelled) break;
          if ("stop" in event) result = event;
          else ctx.progress("", { data: { events: [event] } });
        }
        return result;
      });
    }
    for (const [method, handler] of Object.entries(others)) this.answers(`provider.${method}`, name, handler);
    return this;
  }

  /** Answers a request of zot by its name in the protocol. */
  onRequest(method: string, handler: RequestHandler): this {
    return this.answers(method, "", handler);
  }

  /** Called before a reload; the next process finds the value in `state`. */
  onStateSave(save: () => unknown): this {
    return this.answers("state.save", "", async () => ({ state: await save() }));
  }

  protected completes(name: string, complete: Completer): this {
    return this.answers("complete", name, async (params, ctx) => {
      const items = await complete(params["text"] ?? "", ctx);
      return { items: items.map((item) => (typeof item === "string" ? { value: item } : item)) };
    });
  }
}
