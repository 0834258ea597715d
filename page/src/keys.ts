/** Keys that work on the whole page. */

import * as conversation from "./state/conversation.ts";
import { requests } from "./state/requests.ts";
import { dialog, hasSidebar, view } from "./state/route.ts";
import { diffLayout, opensTools } from "./state/settings.ts";
import { toast } from "./state/toasts.ts";

export function listenForKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.altKey && !event.ctrlKey && !event.metaKey) {
      const action = ALT[event.code];
      if (!action) return;
      event.preventDefault();
      action();
    } else if (event.key === "Escape") escape(event);
    else if (!writes(event.target) && !event.ctrlKey && !event.metaKey) plain(event);
  });
}

const ALT: Record<string, () => void> = {
  Digit1: () => (view.value = "chat"),
  Digit2: () => (view.value = "timeline"),
  Digit3: () => (view.value = "swarm"),
  KeyA: () => {
    view.value = "chat";
    requestAnimationFrame(() => document.querySelector<HTMLElement>(".request")?.focus());
    if (!requests.value.length) toast("info", "no request waits");
  },
  KeyS: () => {
    hasSidebar.value = true;
    requestAnimationFrame(() => document.getElementById("search")?.focus());
  },
  KeyN: () => (dialog.value = "new"),
  KeyM: () => (dialog.value = "models"),
  KeyP: () => void nextMode(),
  KeyD: () => (diffLayout.value = diffLayout.value === "side" ? "unified" : "side"),
  KeyT: () => (opensTools.value = opensTools.value === "yes" ? "no" : "yes"),
  KeyO: () => {
    if (conversation.drives.value) dialog.value = "clients";
    else void conversation.tell("take_over");
  },
  KeyG: () => document.getElementById("transcript")?.focus(),
};

const MODES = ["plan", "ask", "accept-edits", "everything"];

async function nextMode(): Promise<void> {
  const state = conversation.state.value;
  if (!state) return;
  const limit = state.permission_limit ? MODES.indexOf(state.permission_limit) : MODES.length - 1;
  const shown = document.querySelector<HTMLSelectElement>("#mode")?.value ?? state.permission_mode; // may be on its way
  const next = MODES[(MODES.indexOf(shown) + 1) % (limit + 1)] ?? "ask";
  if (await conversation.setMode(next)) toast("info", `permission mode: ${next}`);
}

function escape(event: KeyboardEvent): void {
  if (dialog.value) return; // the dialog closes itself
  if (hasSidebar.value && matchMedia("(max-width: 900px)").matches) hasSidebar.value = false;
  else if (conversation.isBusy.value && conversation.drives.value) {
    event.preventDefault();
    void conversation.tell("abort");
  }
}

function plain(event: KeyboardEvent): void {
  if (event.key === "?") dialog.value = "help";
  else if (event.key === "/") {
    view.value = "chat";
    requestAnimationFrame(() => document.getElementById("prompt")?.focus());
  } else return;
  event.preventDefault();
}

function writes(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
