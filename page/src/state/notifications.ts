/** Questions in the title, as a badge, and as notifications while the page is hidden. */

import { effect } from "@preact/signals";
import * as conversation from "./conversation.ts";
import { requests, summary } from "./requests.ts";
import { notifies } from "./settings.ts";
import { toast } from "./toasts.ts";

const seen = new Set<string>();

export function canNotify(): boolean {
  return window.isSecureContext && "Notification" in window && "serviceWorker" in navigator;
}

export async function allowNotifications(on: boolean): Promise<void> {
  if (on && (await Notification.requestPermission()) !== "granted") {
    toast("warning", "the browser does not allow notifications for this page");
    notifies.value = "no";
    return;
  }
  notifies.value = on ? "yes" : "no";
  if (on) await navigator.serviceWorker.register("/worker.js");
}

export function startNotifications(): void {
  effect(() => {
    const count = requests.value.length;
    const busy = conversation.isBusy.value ? "… " : "";
    const title = conversation.title.value || conversation.cwd.value || "zot";
    document.title = count ? `(${count}) ${title}` : `${busy}${title}`;
    badge(count);
  });
  effect(() => {
    for (const request of requests.value) {
      if (seen.has(request.request_id)) continue;
      seen.add(request.request_id);
      void notify(summary(request), request.request_id);
    }
  });
  let known = 0;
  effect(() => {
    const count = conversation.doneCount.value;
    if (count > known) void notify("the agent is done", "done");
    known = count;
  });
}

function badge(count: number): void {
  const target = navigator as Navigator & { setAppBadge?: (count: number) => Promise<void>; clearAppBadge?: () => Promise<void> };
  const done = count ? target.setAppBadge?.(count) : target.clearAppBadge?.();
  done?.catch(() => undefined); // only installed pages have one
}

async function notify(text: string, tag: string): Promise<void> {
  if (document.visibilityState !== "hidden" || notifies.value !== "yes" || !canNotify()) return;
  if (Notification.permission !== "granted") return;
  const worker = await navigator.serviceWorker.ready;
  await worker.showNotification(conversation.title.value || "zot", { body: text.slice(0, 300), tag, icon: "/icon-192.png" });
}
