/** The running conversations and the stored sessions of the sidebar. */

import { signal } from "@preact/signals";
import { describe, fetchJson } from "../net/access.ts";
import type { ConversationRow, Conversations, SessionRow, Sessions } from "../wire.ts";
import * as conversation from "./conversation.ts";
import { hasSidebar, view } from "./route.ts";
import { recentDirectories } from "./settings.ts";
import { toast } from "./toasts.ts";

export const running = signal<readonly ConversationRow[]>([]);
export const directory = signal("");
export const version = signal("");
export const sessions = signal<readonly SessionRow[]>([]);
export const hasMore = signal(false);
export const search = signal("");
export const fault = signal("");
export const isSearching = signal(false);

const PAGE = 40;
let latest = 0;

/** Read both lists; with `joins`, open the only conversation that runs, or start the first one. */
export async function loadOverview(joins = false): Promise<void> {
  await Promise.all([loadRunning(), loadSessions()]);
  const first = running.value[0];
  if (joins && conversation.link.value === "none" && first) open(first.conversation);
}

export async function loadRunning(): Promise<void> {
  try {
    const found = await fetchJson<Conversations>("GET", "/conversations");
    running.value = found.conversations;
    directory.value = found.directory ?? directory.value;
    version.value = found.version ?? "";
  } catch (error) {
    fault.value = describe(error);
  }
}

export async function loadSessions(isNextPage = false): Promise<void> {
  const number = ++latest;
  const query = new URLSearchParams({ limit: String(PAGE) });
  if (search.value) query.set("search", search.value);
  const last = sessions.value[sessions.value.length - 1];
  if (isNextPage && last) query.set("after", last.conversation);
  isSearching.value = true;
  try {
    const found = await fetchJson<Sessions>("GET", `/sessions?${query}`);
    if (number !== latest) return; // a later search was faster
    sessions.value = isNextPage ? [...sessions.value, ...found.sessions] : found.sessions;
    hasMore.value = found.more;
    fault.value = "";
  } catch (error) {
    if (number === latest) fault.value = describe(error);
  } finally {
    if (number === latest) isSearching.value = false;
  }
}

export function open(name: string, watch = false): void {
  hasSidebar.value = false;
  view.value = "chat";
  conversation.join({ conversation: name, watch });
}

export function startNew(where: string): void {
  hasSidebar.value = false;
  view.value = "chat";
  if (where) {
    const rest = recentDirectories.value.split("\n").filter((each) => each && each !== where);
    recentDirectories.value = [where, ...rest].slice(0, 8).join("\n");
  }
  conversation.join({ conversation: "new", directory: where });
}

/** A copy of a stored session with its first messages, which is opened. */
export async function fork(name: string, messages?: number): Promise<void> {
  try {
    const body = messages === undefined ? {} : { messages };
    const made = await fetchJson<{ conversation: string }>("POST", `/sessions/${encodeURIComponent(name)}/fork`, body);
    open(made.conversation);
    toast("success", "forked: this is the copy");
    void loadSessions();
  } catch (error) {
    toast("error", `cannot fork: ${describe(error)}`);
  }
}
