/** What is on the screen: the view, and which drawers and dialogs are open. */

import { effect, signal } from "@preact/signals";

export type ViewName = "chat" | "timeline" | "swarm";
export type DialogName = "" | "help" | "models" | "rewind" | "new" | "device" | "clients";

export const view = signal<ViewName>("chat");
export const dialog = signal<DialogName>("");
export const hasSidebar = signal(false); // on narrow windows: whether it is drawn over the conversation

/** The conversation that the address names. */
export function routed(): string {
  return new URLSearchParams(location.hash.slice(1)).get("c") ?? "";
}

export function keepInAddress(name: { value: string }): void {
  effect(() => {
    if (name.value) history.replaceState(null, "", `#c=${encodeURIComponent(name.value)}`);
  });
}
