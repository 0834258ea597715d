/** The conversation on the screen: its connection, its state as signals, and the commands the page sends. */

import { batch, computed, signal } from "@preact/signals";
import { describe } from "../net/access.ts";
import { Connection, type Link, type Target } from "../net/connection.ts";
import type { Block, ClientInfo, CommandInfo, Frame, Message, State, Todo, Welcome } from "../wire.ts";
import { announce } from "./announcer.ts";
import * as extensions from "./extensions.ts";
import * as queue from "./queue.ts";
import * as requests from "./requests.ts";
import * as swarm from "./swarm.ts";
import * as timeline from "./timeline.ts";
import { toast } from "./toasts.ts";
import { Transcript } from "./transcript.ts";

export const transcript = new Transcript();

export const link = signal<Link | "none">("none");
export const linkReason = signal("");
export const retryAt = signal(0);
export const name = signal("");
export const cwd = signal("");
export const state = signal<State | null>(null);
export const isBusy = signal(false);
export const isLoading = signal(false);
export const me = signal("");
export const driver = signal("");
export const clients = signal<readonly ClientInfo[]>([]);
export const todos = signal<readonly Todo[]>([]);
export const commands = signal<readonly CommandInfo[]>([]);
export const lastUsage = signal<{ input: number; cost: number } | null>(null);
export const doneCount = signal(0);

export const drives = computed(() => driver.value !== "" && driver.value === me.value);
export const title = computed(() => state.value?.title || "");

let connection: Connection | null = null;
/** While the messages are on their way: frames of the transcript that came before them. */
let early: Frame[] | null = null;

/** Leave the conversation on the screen, if any, and join another. */
export function join(target: Target): void {
  leave();
  isLoading.value = true;
  connection = new Connection(target, {
    onWelcome: welcomed,
    onFrame: received,
    drawn: () => transcript.change.peek() + swarm.log.change.peek(),
    onLink: (now, reason, at) =>
      batch(() => {
        link.value = now;
        linkReason.value = reason;
        retryAt.value = at;
      }),
  });
}

export function leave(): void {
  connection?.close();
  connection = null;
  early = null;
  batch(() => {
    link.value = "none";
    for (const each of [name, cwd, me, driver]) each.value = "";
    state.value = null;
    isBusy.value = false;
    todos.value = [];
    commands.value = [];
    clients.value = [];
    lastUsage.value = null;
    transcript.clear();
    requests.reset();
    extensions.reset();
    queue.reset();
    swarm.reset();
    timeline.reset();
  });
}

export function retry(): void {
  connection?.retry();
}

/** The data of a command; throws an Error with the text of the server. */
export async function ask<T>(type: string, fields: object = {}): Promise<T> {
  if (!connection) throw new Error("no conversation is open");
  return connection.request<T>(type, fields);
}

/** As `ask`, with a failure shown to the user; true if it worked. */
export async function tell(type: string, fields: object = {}): Promise<boolean> {
  try {
    await ask(type, fields);
    return true;
  } catch (error) {
    toast("error", describe(error));
    return false;
  }
}

/** The permission mode; true if it was set. */
export async function setMode(mode: string): Promise<boolean> {
  const worked = await tell("set_permission_mode", { permission_mode: mode });
  if (worked && state.value) state.value = { ...state.value, permission_mode: mode };
  else void refresh();
  return worked;
}

export async function refresh(): Promise<void> {
  try {
    const fresh = await ask<State>("get_state");
    batch(() => {
      state.value = fresh;
      isBusy.value = fresh.busy;
      todos.value = fresh.todos;
    });
  } catch {
    // the connection was lost: the next welcome asks again
  }
}

/** Read the transcript again. Events keep their order: those that the messages already have are dropped. */
export async function reload(partial: readonly Frame[] = []): Promise<void> {
  early = [...partial]; // what the running turn has sent before this page joined
  isLoading.value = true;
  try {
    const [, whole] = await Promise.all([refresh(), ask<{ messages: Message[] }>("get_messages")]);
    const rest = early ?? [];
    batch(() => {
      transcript.load(whole.messages as { role: string; content: Block[]; time: string }[], isBusy.value);
      for (const frame of rest) transcript.apply(frame);
    });
  } catch (error) {
    if (connection?.isOpen) toast("error", `cannot read the messages: ${describe(error)}`);
  } finally {
    early = null;
    isLoading.value = false;
  }
}

/** Frames of an answer that is not a message yet, or output of calls that still run. */
function unfinished(frames: readonly Frame[]): Frame[] {
  const last = frames.findLastIndex((frame) => frame.type === "assistant_start");
  const ended = frames.findLastIndex((frame) => frame.type === "assistant_message");
  return last > ended ? frames.slice(last) : frames.filter((frame) => frame.type === "tool_progress");
}

function welcomed(welcome: Welcome, isContinued: boolean): void {
  batch(() => {
    name.value = welcome.conversation;
    cwd.value = welcome.cwd;
    me.value = welcome.client;
    driver.value = welcome.driver;
    clients.value = welcome.clients;
    requests.replace(welcome.open);
    extensions.reset();
    for (const frame of welcome.present ?? []) extensions.apply(frame);
  });
  timeline.add({ type: "welcome", conversation: welcome.conversation, run: welcome.run, missed: welcome.missed }, 0);
  if (isContinued) {
    void refresh();
    announce("connected again");
  } else void reload(welcome.present);
  void loadCommands();
  queue.load(ask);
  timeline.resume(ask);
  swarm.resume();
}

async function loadCommands(): Promise<void> {
  try {
    commands.value = (await ask<{ commands: CommandInfo[] }>("get_commands")).commands;
  } catch {
    commands.value = [];
  }
}

function received(frame: Frame, size: number): void {
  timeline.add(frame, size);
  if (frame.type === "response") {
    if (frame["command"] === "get_messages" && early) early = unfinished(early);
    return;
  }
  if (requests.apply(frame) || extensions.apply(frame) || queue.apply(frame) || swarm.apply(frame)) return;
  own(frame);
  if (early) early.push(frame);
  else transcript.apply(frame);
}

function own(frame: Frame): void {
  switch (frame.type) {
    case "user_message":
      isBusy.value = true;
      if (queue.steering.value.length) queue.load(ask); // it may be the message that steered
      break;
    case "turn_start":
      isBusy.value = true;
      break;
    case "usage": {
      const input = Number(frame["input"]) + Number(frame["cache_read"]) + Number(frame["cache_write"]);
      const cumulative = frame["cumulative"] as { cost_usd: number };
      const shown = frame["auxiliary"] ? (lastUsage.value?.input ?? 0) : input + Number(frame["output"]);
      lastUsage.value = { input: shown, cost: cumulative.cost_usd };
      break;
    }
    case "done":
    case "compact_done":
      doneCount.value++;
      announce("the agent is done");
      void refresh();
      break;
    case "todos":
      todos.value = frame["items"] as Todo[];
      break;
    case "clients_changed":
      clients.value = frame["clients"] as ClientInfo[];
      break;
    case "driver_changed":
      driver.value = String(frame["driver"]);
      announce(drives.value ? "you drive this conversation" : `${String(frame["device"]) || "nobody"} drives`);
      break;
    case "session_changed":
      void (frame["action"] === "rename" ? refresh() : reload());
      break;
    case "lost":
      toast("warning", String(frame["reason"]));
      break;
    case "mcp_state":
      void loadCommands();
      break;
  }
}
