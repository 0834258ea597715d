// What an extension can ask zot for, as methods of `Extension` and `Context`. They reject with `NotSupported` on a zot
// without the feature, and with `RequestError` or a class of it if zot refuses.

import { Unavailable } from "./errors.js";
import type { Line, View } from "./lines.js";
import type { RequestOptions } from "./requests.js";

type Data = Record<string, any>;
/** A value, a pair of value and label, or an object. */
export type Option =
  | string
  | readonly [value: string, label: string]
  | { value: string; label?: Line; description?: string; group?: string; disabled?: boolean };

/** A field of a form. */
export interface Field {
  name: string;
  kind: "text" | "number" | "integer" | "yes" | "choice" | "choices" | "path";
  title?: string;
  description?: string;
  required?: boolean;
  default?: unknown;
  choices?: readonly string[];
  labels?: readonly string[];
  pattern?: string;
}

interface Ask<T> {
  message?: readonly Line[];
  /** The answer without a user; without a default they reject with `Unavailable`. */
  default?: T;
  /** Counted down on the screen. */
  timeoutS?: number;
}

export interface ProgramOptions {
  cwd?: string;
  env?: Record<string, string>;
  stdin?: string;
  timeout_s?: number;
  max_output?: number;
}

const FEATURES: Readonly<Record<string, string>> = {
  ui: "dialogs",
  app: "session",
  agent: "agents",
  tools: "tools2",
  commands: "tools2",
  ...Object.fromEntries(
    ["session", "chat", "model", "exec", "terminal", "editor", "settings", "secrets", "theme", "bus"].map((n) => [n, n]),
  ),
};

/** The feature a method belongs to. */
export function featureOf(method: string): string {
  return FEATURES[method.split(".")[0] ?? ""] ?? "request";
}

export abstract class HostMethods {
  /** Asks zot for anything by its name in the protocol. */
  abstract request(method: string, params?: object, options?: RequestOptions): Promise<any>;

  /** True while an interception is answered: a default must not pass for the user's yes. */
  protected abstract decides(): boolean;

  // --- dialogs

  /** Asks yes or no; false if the user closes the dialog. */
  confirm(title: string, options: Ask<boolean> & { yes?: string; no?: string } = {}): Promise<boolean> {
    return this.#ask("confirm", title, options, false);
  }

  /** The value of one option, undefined if the user closes the dialog. */
  select(title: string, choices: readonly Option[], options: Ask<string> = {}): Promise<string | undefined> {
    return this.#ask("select", title, { ...options, options: choices.map(optionOf) }, undefined);
  }

  /** The values of several options, undefined if the user closes the dialog. */
  choose(title: string, choices: readonly Option[], options: Ask<string[]> = {}): Promise<string[] | undefined> {
    return this.#ask("choose", title, { ...options, options: choices.map(optionOf) }, undefined);
  }

  /** A line of text, undefined if the user closes the dialog. */
  input(title: string, options: Ask<string> & { placeholder?: string; text?: string } = {}): Promise<string | undefined> {
    return this.#ask("input", title, options, undefined);
  }

  /** A longer text, undefined if the user closes the dialog. */
  editor(title: string, text = "", options: Ask<string> = {}): Promise<string | undefined> {
    return this.#ask("editor", title, { ...options, ...(text ? { text } : {}) }, undefined);
  }

  /** The values by field name, undefined if the user closes the dialog. */
  form(title: string, fields: readonly Field[], options: Ask<Data> = {}): Promise<Data | undefined> {
    return this.#ask("form", title, { ...options, fields }, undefined);
  }

  /** Shows an address that the user may open; true if they did. */
  openUrl(title: string, url: string, message?: readonly Line[]): Promise<boolean> {
    return this.#ask("url", title, { url, ...(message ? { message } : {}) }, false);
  }

  async #ask(kind: string, title: string, options: Data, closed: any): Promise<any> {
    const { timeoutS, ...params } = options;
    const asked = { kind, title, ...params, ...(timeoutS ? { timeout_s: timeoutS } : {}) };
    try {
      const result = await this.request("ui.ask", asked);
      return result.cancelled ? closed : result.value;
    } catch (error) {
      const fallback = params["default"];
      if (!(error instanceof Unavailable) || fallback === undefined || (this.decides() && fallback !== false)) throw error;
      return fallback;
    }
  }

  // --- conversation

  /** Speaks into the conversation: as the user's message, as context, or as a note the model never sees. */
  sendMessage(
    content: string | readonly object[],
    options: {
      as?: "user" | "context" | "note";
      deliver?: "now" | "steer" | "queue" | "next";
      start?: boolean;
      type?: string;
      view?: View;
      data?: unknown;
    } = {},
  ): Promise<{ entry_id?: string; queued: boolean }> {
    return this.request("chat.send", { content, as: "user", deliver: "now", ...options });
  }

  /** Id, name, model, usage and state of the session. */
  sessionInfo(): Promise<Data> {
    return this.request("session.info");
  }

  /** A page of the session: `entries`, and `next` if there are more. */
  entries(
    options: { after?: string; before?: string; limit?: number; kinds?: string[]; session_id?: string } = {},
  ): Promise<{ entries: Data[]; next?: string }> {
    return this.request("session.entries", options);
  }

  /** Stores data in the session; the model does not see it. */
  appendEntry(type: string, data?: unknown, view?: View): Promise<{ entry_id: string; saved: boolean }> {
    return this.request("session.append", { type, ...(data === undefined ? {} : { data }), ...(view ? { view } : {}) });
  }

  /** Names the session. */
  async rename(name: string): Promise<void> {
    await this.request("session.name", { name });
  }

  /** Sets the label of an entry, or clears it. */
  async label(entryId: string, label?: string): Promise<void> {
    await this.request("session.label", { entry_id: entryId, ...(label ? { label } : {}) });
  }

  // --- models, agents, tools, programs

  /** The models the user can choose. */
  async models(): Promise<Data[]> {
    return (await this.request("model.list")).models;
  }

  /** `provider`, `model` and `reasoning` of the session. */
  model(): Promise<{ provider: string; model: string; reasoning: string }> {
    return this.request("model.get");
  }

  /** Changes the model of the session. */
  setModel(options: { model?: string; reasoning?: string }): Promise<Data> {
    return this.request("model.set", options);
  }

  /** One model call with zot's login, at the user's cost; `onText` gets the text while it is written. */
  callModel(
    prompt: string | readonly object[],
    options: Data & { onText?: (text: string) => unknown } = {},
  ): Promise<{ text: string; json?: any; stop: string; usage: Data; model: string }> {
    const { onText, ...params } = options;
    const asked = { ...(typeof prompt === "string" ? { prompt } : { messages: prompt }), ...params };
    if (!onText) return this.request("model.call", asked);
    const onProgress = (progress: { data?: any }): unknown => onText(progress.data?.text ?? "");
    return this.request("model.call", { ...asked, stream: true }, { onProgress });
  }

  /** A sub-agent with the tools and limits of this conversation. */
  runAgent(prompt: string, options: Data & RequestOptions = {}): Promise<Data> {
    const { onProgress, signal, timeoutMs, ...params } = options;
    const more = { ...(onProgress ? { onProgress } : {}), ...(signal ? { signal } : {}), ...(timeoutMs ? { timeoutMs } : {}) };
    return this.request("agent.run", { prompt, ...params }, more);
  }

  /** The tools there are, and which are active. */
  async tools(): Promise<Data[]> {
    return (await this.request("tools.list")).tools;
  }

  /** The tools the model may call from now on. */
  async setActiveTools(names: readonly string[]): Promise<string[]> {
    return (await this.request("tools.active", { names })).active;
  }

  /** Runs a tool through guards and permissions; `original` runs the built-in this tool took the place of. */
  runTool(name: string, args: object, original = false): Promise<Data> {
    return this.request("tools.call", { name, args, ...(original ? { original } : {}) });
  }

  /** Runs a program without a shell, as zot's own command. */
  runProgram(
    argv: readonly string[],
    options: ProgramOptions = {},
  ): Promise<{ code: number; stdout: string; stderr: string; truncated: boolean }> {
    return this.request("exec.run", { argv, ...options });
  }

  // --- prompt editor, settings, other extensions

  /** The prompt, while a command or key of the user is handled. */
  editorText(): Promise<{ text: string; cursor: number; images: number }> {
    return this.request("editor.get");
  }

  /** Replaces the prompt. */
  async setEditor(text: string, cursor?: number): Promise<void> {
    await this.request("editor.set", { text, ...(cursor === undefined ? {} : { cursor }) });
  }

  /** Puts text at the cursor of the prompt. */
  async insertText(text: string): Promise<void> {
    await this.request("editor.insert", { text });
  }

  /** Changes a setting of this extension. */
  async setSetting(name: string, value: unknown): Promise<void> {
    await this.request("settings.set", { name, value });
  }

  /** A secret setting of this extension, or of the user's login at a provider. */
  secret(which: { name: string } | { provider: string }): Promise<{ value: string }> {
    return this.request("secrets.get", which);
  }

  /** Sends to extensions that subscribed to `bus`; the number that get it. */
  async publish(topic: string, payload: unknown, to?: string): Promise<number> {
    return (await this.request("bus.publish", { topic, payload, ...(to ? { to } : {}) })).delivered;
  }
}

function optionOf(option: Option): object {
  if (typeof option === "string") return { value: option };
  return Array.isArray(option) ? { value: option[0], label: option[1] } : option;
}
