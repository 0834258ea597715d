/** The prompt that the user writes: its text, pictures, and what happens when it is sent. */

import { signal } from "@preact/signals";
import { describe } from "../net/access.ts";
import type { CommandInfo } from "../wire.ts";
import * as conversation from "./conversation.ts";
import { loadRunning, loadSessions } from "./overview.ts";
import { type Attached, attach } from "./pictures.ts";
import * as queue from "./queue.ts";
import { dialog, view } from "./route.ts";
import { toast } from "./toasts.ts";

export const draft = signal("");
const REMOVED = "removed from the queue"; // the error of a prompt that was
export const pictures = signal<readonly Attached[]>([]);

interface OwnCommand {
  name: string;
  description: string;
  arguments?: string;
  run: (args: string) => unknown;
}

/** Commands of the page, for what has a button as well. */
export const OWN: readonly OwnCommand[] = [
  { name: "clear", description: "empty the conversation", run: () => conversation.tell("clear") },
  { name: "compact", description: "replace the transcript by a summary", arguments: "[focus]", run: (focus) => conversation.tell("compact", focus ? { focus } : {}) },
  { name: "model", description: "choose the model", run: () => (dialog.value = "models") },
  { name: "rewind", description: "go back to before a prompt", run: () => (dialog.value = "rewind") },
  { name: "new", description: "start a conversation", run: () => (dialog.value = "new") },
  { name: "timeline", description: "show every event", run: () => (view.value = "timeline") },
  { name: "swarm", description: "show background workers", run: () => (view.value = "swarm") },
  { name: "help", description: "show the keys", run: () => (dialog.value = "help") },
];

export interface Offered {
  name: string;
  description: string;
  arguments: string;
  owner: string;
}

/** All slash commands: those of the conversation, then those of the page that it does not have. */
export function offered(): Offered[] {
  const known = conversation.commands.value.map((each: CommandInfo) => ({
    name: each.name,
    description: each.description,
    arguments: each.arguments ?? "",
    owner: each.extension || "template",
  }));
  const names = new Set(known.map((each) => each.name));
  const own = OWN.filter((each) => !names.has(each.name));
  return [...known, ...own.map((each) => ({ name: each.name, description: each.description, arguments: each.arguments ?? "", owner: "page" }))];
}

export async function addPictures(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    try {
      pictures.value = [...pictures.value, await attach(file)];
    } catch (error) {
      toast("error", describe(error));
    }
  }
}

export function removePicture(at: number): void {
  pictures.value = pictures.value.filter((_, number) => number !== at);
}

/** Send what is written. `steers`: the running prompt sees it before its next step, instead of the queue. */
export async function send(steers = false): Promise<void> {
  const text = draft.value.trim();
  const images = pictures.value.map((each) => ({ mime_type: each.mime, data: each.data }));
  if (!text && !images.length) return;
  const written = draft.value;
  const attached = pictures.value;
  draft.value = "";
  pictures.value = [];
  try {
    if (text.startsWith("/") && !images.length && (await ranCommand(text))) return;
    await submit(steers && conversation.isBusy.value ? "steer" : "prompt", text, images);
  } catch (error) {
    if (describe(error) === REMOVED) return; // taken back by this page or another
    toast("error", describe(error));
    if (!draft.value && !pictures.value.length) {
      draft.value = written; // nothing is lost
      pictures.value = attached;
    }
  }
}

async function submit(type: string, message: string, images: object[]): Promise<void> {
  const starts = conversation.isBusy.value && type === "prompt" ? queue.waits(message) : () => undefined;
  try {
    await conversation.ask(type, images.length ? { message, images } : { message });
    if (!conversation.title.value) void Promise.all([loadRunning(), loadSessions()]);
  } finally {
    starts();
  }
}

/** True if the text names a command, which was run. */
async function ranCommand(text: string): Promise<boolean> {
  const [, name = "", args = ""] = /^\/(\S+)\s*([^]*)$/.exec(text) ?? [];
  if (conversation.commands.value.some((each) => each.name === name)) {
    const done = await conversation.ask<{ action: string; insert?: string }>("run_command", { name, args });
    if (done.action === "insert" && done.insert) draft.value = done.insert;
    return true;
  }
  const own = OWN.find((each) => each.name === name);
  if (own) await own.run(args);
  return own !== undefined;
}

/** Take a waiting prompt back into the editor. */
export async function unqueue(index: number): Promise<void> {
  try {
    const taken = await conversation.ask<{ text: string }>("unqueue", { index });
    if (!draft.value) draft.value = taken.text;
  } catch (error) {
    toast("error", describe(error));
  }
}
