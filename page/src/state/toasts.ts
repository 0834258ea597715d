/** Short notices that disappear, and notes of extensions that stay until they are removed. */

import { signal } from "@preact/signals";
import { announce, interrupt } from "./announcer.ts";

export interface Toast {
  id: number;
  level: string;
  text: string;
  source: string;
}

export const toasts = signal<readonly Toast[]>([]);
const SHOWN_MS = 6_000;
const MOST = 5;
let next = 1;

export function toast(level: string, text: string, source = ""): void {
  const id = next++;
  toasts.value = [...toasts.value.slice(1 - MOST), { id, level, text, source }];
  (level === "error" ? interrupt : announce)(source ? `${source}: ${text}` : text);
  setTimeout(() => dismiss(id), level === "error" ? 2 * SHOWN_MS : SHOWN_MS);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

export function dismissSource(source: string): void {
  toasts.value = toasts.value.filter((each) => each.source !== source);
}
