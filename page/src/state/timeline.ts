/** Every frame of the server and of extensions, for the timeline. The newest are kept. */

import { signal } from "@preact/signals";
import type { ExtFrame, Frame } from "../wire.ts";

export interface Row {
  id: number;
  at: number; // milliseconds since 1970
  kind: string;
  source: string; // the extension, if it is one of its frames
  direction: "" | "in" | "out";
  size: number;
  latency: number | null;
  frame: unknown;
}

const MOST = 5_000;
const MOST_BYTES = 24_000_000;

/** Raised when rows are added; the list itself is read from `rows`. */
export const change = signal(0);
export const isWatching = signal(false);
export let rows: Row[] = [];
let bytes = 0;
let next = 1;

type Ask = <T>(type: string, fields?: object) => Promise<T>;

export function reset(): void {
  rows = [];
  bytes = 0;
  change.value++;
}

export function add(frame: Frame, size: number): void {
  const ext = frame.type === "ext_frame" ? (frame as unknown as ExtFrame) : null;
  const inner = ext?.frame as { type?: unknown } | undefined;
  rows.push({
    id: next++,
    at: Date.now(),
    kind: ext ? String(inner?.type ?? "frame") : frame.type === "response" ? `response ${frame["command"]}` : frame.type,
    source: ext?.extension ?? "",
    direction: ext?.direction ?? "",
    size,
    latency: ext?.latency === undefined ? null : Math.round(ext.latency * 10_000) / 10,
    frame: ext ? (ext.frame ?? ext.text) : frame,
  });
  bytes += size;
  if (rows.length > MOST + 500 || bytes > MOST_BYTES) prune();
  change.value++;
}

function prune(): void {
  let at = Math.max(rows.length - MOST, 0);
  for (let n = 0; n < at; n++) bytes -= rows[n]?.size ?? 0;
  while (bytes > MOST_BYTES && at < rows.length - 1) bytes -= rows[at++]?.size ?? 0;
  rows = rows.slice(at);
}

/** Frames of extensions cost something, so they come only while the timeline is open. */
export async function watch(ask: Ask, on: boolean): Promise<string> {
  isWatching.value = on;
  try {
    await ask("watch_frames", { on });
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function resume(ask: Ask): void {
  if (isWatching.value) void watch(ask, true);
}
