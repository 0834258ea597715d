/** Prompts that wait for their turn. Servers without a queue on the wire: those that this page has sent. */

import { signal } from "@preact/signals";
import type { Frame, Queue, Queued } from "../wire.ts";

export const steering = signal<readonly Queued[]>([]);
export const queued = signal<readonly Queued[]>([]);
/** Whether the server lists its queue. */
export const isListed = signal(false);

type Ask = <T>(type: string, fields?: object) => Promise<T>;

export function reset(): void {
  steering.value = [];
  queued.value = [];
  isListed.value = false;
}

export function load(ask: Ask): void {
  ask<Queue>("get_queue").then(show, () => (isListed.value = false));
}

function show(queue: Queue): void {
  isListed.value = true;
  steering.value = queue.steering ?? [];
  queued.value = queue.queued ?? [];
}

export function apply(frame: Frame): boolean {
  if (frame.type !== "queue_changed") return false;
  show(frame as unknown as Queue);
  return true;
}

/** Remember a prompt of this page until it starts; the function to call then. */
export function waits(text: string): () => void {
  if (isListed.value) return () => undefined;
  const entry: Queued = { text };
  queued.value = [...queued.value, entry];
  return () => (queued.value = queued.value.filter((each) => each !== entry));
}
