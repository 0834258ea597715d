/** The conversation as entries to draw. Events change an entry in place and raise its number, which draws it again. */

import { signal, type Signal } from "@preact/signals";
import type { Block, Frame, ImageBlock } from "../wire.ts";

export type Status = "writing" | "waiting" | "running" | "done" | "failed";

interface Base {
  readonly id: number;
  /** Raised with each change. */
  readonly change: Signal<number>;
}

export interface UserEntry extends Base {
  kind: "user";
  text: string;
  images: ImageBlock[];
  time: string;
  prompt: number;
}

export interface TextEntry extends Base {
  kind: "text";
  text: string;
  live: boolean;
}

export interface ThinkingEntry extends Base {
  kind: "thinking";
  text: string;
  live: boolean;
  seconds: number;
}

export interface ToolEntry extends Base {
  kind: "tool";
  call: string;
  name: string;
  args: unknown;
  written: string; // arguments that still arrive, as JSON text
  status: Status;
  output: string;
  images: ImageBlock[];
  view: unknown;
  fraction: number | null;
  decidedBy: string;
  isOpen: boolean | null; // null: as the settings say
}

export interface NoteEntry extends Base {
  kind: "note";
  level: string;
  source: string;
  text: string;
  markdown: boolean;
}

export type Entry = UserEntry | TextEntry | ThinkingEntry | ToolEntry | NoteEntry;

const MOST_OUTPUT = 12_000_000; // characters of one call that are kept

export class Transcript {
  entries: Entry[] = [];
  /** Raised when entries are added or replaced. */
  readonly change = signal(0);
  prompts = 0;
  #next = 1;
  #turn = 0; // the number of entries when the answer of the model began
  #calls = new Map<string, ToolEntry>();

  clear(): void {
    this.entries = [];
    this.#calls.clear();
    this.prompts = 0;
    this.#turn = 0;
    this.change.value++;
  }

  /** Replace everything by the messages of `get_messages`. */
  load(messages: readonly { role: string; content: readonly Block[]; time: string }[], isBusy: boolean): void {
    this.clear();
    for (const message of messages) this.#addMessage(message.role, message.content, message.time);
    for (const call of this.#calls.values()) {
      if (call.status !== "done" && call.status !== "failed") call.status = isBusy ? "running" : "failed";
    }
    this.#turn = this.entries.length;
    this.change.value++;
  }

  /** True if the frame belongs to the transcript. */
  apply(frame: Frame): boolean {
    const handler = this.#handlers[frame.type];
    if (!handler) return false;
    handler(frame);
    return true;
  }

  note(level: string, source: string, text: string, markdown = false): void {
    this.#add({ kind: "note", level, source, text, markdown, ...this.#base() });
  }

  #base(): Base {
    return { id: this.#next++, change: signal(0) };
  }

  #add<E extends Entry>(entry: E): E {
    this.entries.push(entry);
    this.change.value++;
    return entry;
  }

  get last(): Entry | undefined {
    return this.entries[this.entries.length - 1];
  }

  // --- messages that are whole

  #addMessage(role: string, content: readonly Block[], time: string): void {
    if (role === "user") return this.#addUser(content, time);
    for (const block of content) {
      if (block.type === "text" && block.text) this.#addText(block.text);
      else if (block.type === "tool_call") this.#addCall(block.id, block.name, block.args, "waiting");
      else if (block.type === "tool_result") this.#addResult(block.call_id, block.is_error, block.content);
    }
  }

  #addUser(content: readonly Block[], time: string): void {
    this.prompts += 1;
    const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    const images = content.filter((block) => block.type === "image");
    this.#add({ kind: "user", text, images, time, prompt: this.prompts, ...this.#base() });
  }

  #addText(text: string): void {
    this.#add({ kind: "text", text, live: false, ...this.#base() });
  }

  #addCall(call: string, name: string, args: unknown, status: Status): ToolEntry {
    const entry: ToolEntry = {
      ...{ kind: "tool" as const, call, name, args, written: "", status, output: "", images: [], view: null },
      ...{ fraction: null, decidedBy: "", isOpen: null },
      ...this.#base(),
    };
    this.#calls.set(call, entry);
    return this.#add(entry);
  }

  #addResult(call: string, isError: boolean, content: readonly Block[]): void {
    const entry = this.#calls.get(call);
    if (!entry) return;
    entry.status = isError ? "failed" : "done";
    entry.output = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n").slice(0, MOST_OUTPUT);
    entry.images = content.filter((block) => block.type === "image");
    entry.fraction = null;
    entry.change.value++;
  }

  // --- events

  #settle(): void {
    for (let at = this.entries.length - 1; at >= 0 && at >= this.#turn; at--) {
      const entry = this.entries[at];
      if ((entry?.kind === "text" || entry?.kind === "thinking") && entry.live) {
        entry.live = false;
        entry.change.value++;
      }
    }
  }

  #delta(kind: "text" | "thinking", delta: string): void {
    const last = this.last;
    if (last?.kind === kind && last.live) {
      last.text += delta;
      last.change.value++;
      return;
    }
    this.#settle();
    if (kind === "text") this.#add({ kind, text: delta, live: true, ...this.#base() });
    else this.#add({ kind, text: delta, live: true, seconds: 0, ...this.#base() });
  }

  #changeCall(id: unknown, change: (entry: ToolEntry) => void): void {
    const entry = this.#calls.get(String(id));
    if (!entry) return;
    change(entry);
    entry.change.value++;
  }

  /** The complete answer. What was seen of it stands already, unless this page joined in the middle or text was changed. */
  #reconcile(content: readonly Block[]): void {
    this.#settle();
    const whole = content.flatMap((block) => (block.type === "text" && block.text ? [block.text] : []));
    const shown = this.entries.slice(this.#turn).filter((entry) => entry.kind === "text");
    if (whole.join("") === shown.map((entry) => entry.text).join("")) return;
    if (shown.length === 1 && shown[0] && whole.length === 1) {
      shown[0].text = whole[0] ?? "";
      shown[0].change.value++;
      return;
    }
    const kept = this.entries.slice(this.#turn).filter((entry) => entry.kind !== "text");
    this.entries.length = this.#turn;
    this.entries.push(...kept.filter((entry) => entry.kind === "thinking"));
    for (const text of whole) this.#addText(text);
    this.entries.push(...kept.filter((entry) => entry.kind !== "thinking"));
    this.change.value++;
  }

  #progress(frame: Frame): void {
    this.#changeCall(frame["id"], (entry) => {
      if (entry.status === "done" || entry.status === "failed") return; // its result has all of it
      const text = String(frame["text"] ?? "");
      if (entry.status === "waiting" || entry.status === "writing") entry.status = "running";
      if (frame["replace"]) entry.output = text;
      else if (frame["dropped"]) entry.output = `… ${frame["dropped"]} characters omitted\n${text}`;
      else entry.output += text;
      if (entry.output.length > MOST_OUTPUT) entry.output = entry.output.slice(-MOST_OUTPUT);
      if (typeof frame["fraction"] === "number") entry.fraction = frame["fraction"];
      if (frame["view"]) entry.view = frame["view"];
    });
  }

  readonly #handlers: Record<string, (frame: Frame) => void> = {
    user_message: (frame) => this.#addUser(frame["content"] as Block[], String(frame["time"] ?? "")),
    turn_start: () => (this.#turn = this.entries.length),
    assistant_start: () => (this.#turn = this.entries.length),
    text_delta: (frame) => this.#delta("text", String(frame["delta"] ?? "")),
    thinking_delta: (frame) => this.#delta("thinking", String(frame["delta"] ?? "")),
    thinking_end: (frame) => {
      const last = this.entries.findLast((entry) => entry.kind === "thinking");
      if (!last) return;
      last.seconds = Number(frame["seconds"]) || 0;
      last.live = false;
      last.change.value++;
    },
    tool_use_start: (frame) => {
      this.#settle();
      this.#addCall(String(frame["id"]), String(frame["name"]), null, "writing");
    },
    tool_use_args: (frame) => this.#changeCall(frame["id"], (entry) => (entry.written += String(frame["delta"] ?? ""))),
    tool_use_end: () => undefined,
    tool_call: (frame) => {
      const id = String(frame["id"]);
      const entry = this.#calls.get(id) ?? this.#addCall(id, String(frame["name"]), null, "waiting");
      entry.args = frame["args"];
      entry.written = "";
      entry.status = "running";
      entry.change.value++;
    },
    tool_progress: (frame) => this.#progress(frame),
    tool_result: (frame) => {
      this.#addResult(String(frame["id"]), frame["is_error"] === true, (frame["content"] ?? []) as Block[]);
      this.#changeCall(frame["id"], (entry) => {
        entry.view = frame["view"] ?? null;
        entry.decidedBy = String(frame["decided_by"] ?? "");
      });
    },
    assistant_message: (frame) => this.#reconcile(frame["content"] as Block[]),
    turn_end: (frame) => {
      this.#settle();
      if (frame["stop"] === "aborted") this.note("info", "", "stopped");
      if (frame["stop"] === "length") this.note("warning", "", "the answer reached the length limit of the model");
    },
    retry_wait: (frame) => {
      const wait = Number(frame["wait_s"]).toFixed(0);
      this.note("warning", "", `attempt ${frame["attempt"]} of ${frame["attempts"]} in ${wait} s: ${frame["reason"]}`);
    },
    error: (frame) => this.note("error", "", String(frame["message"])),
    compact_done: (frame) => this.note("info", "summary", String(frame["summary"]), true),
    session_fault: (frame) => this.note("error", "session", String(frame["message"])),
    diagnostic: (frame) => this.note(String(frame["level"]), String(frame["source"]), String(frame["message"])),
    job_update: (frame) => this.note("info", `job ${frame["job"]}`, `${frame["command"]}: ${frame["text"]}`),
    ext_display: (frame) => this.note("info", String(frame["extension"]), String(frame["text"]), true),
    done: () => {
      this.#settle();
      for (const entry of this.#calls.values()) {
        if (entry.status === "done" || entry.status === "failed") continue;
        entry.status = "failed";
        entry.change.value++;
      }
    },
  };
}
