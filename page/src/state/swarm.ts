/** Background workers: the list, the worker that is looked at, and its events. */

import { signal } from "@preact/signals";
import type { Frame, WorkerInfo } from "../wire.ts";
import { Transcript } from "./transcript.ts";

export const workers = signal<readonly WorkerInfo[]>([]);
export const chosen = signal("");
export const isSubscribed = signal(false);
/** Requests of workers, by worker. */
export const asked = signal<readonly { worker: string; request: Frame }[]>([]);
/** The conversation of the chosen worker. */
export const log = new Transcript();

let onResume: () => void = () => undefined;

export function reset(): void {
  workers.value = [];
  asked.value = [];
  chosen.value = "";
  log.clear();
}

/** Called after each new connection while the dashboard is open. */
export function whenConnected(action: () => void): void {
  onResume = action;
}

export function resume(): void {
  onResume();
}

export function apply(frame: Frame): boolean {
  if (frame.type === "swarm_update") {
    const fresh = frame["worker"] as WorkerInfo;
    const at = workers.value.findIndex((each) => each.id === fresh.id);
    workers.value = at >= 0 ? workers.value.with(at, fresh) : [...workers.value, fresh];
    return true;
  }
  if (frame.type !== "swarm_event") return false;
  const worker = String(frame["id"]);
  const event = frame["event"] as Frame;
  if (event.type === "approval_request") {
    const rest = asked.value.filter((each) => each.request["request_id"] !== event["request_id"] || each.worker !== worker);
    asked.value = [...rest, { worker, request: event }];
  }
  if (event.type === "tool_result" || event.type === "done") closeRequests(worker, event);
  if (worker === chosen.value) log.apply(event);
  return true;
}

export function closeRequest(worker: string, id: string): void {
  asked.value = asked.value.filter((each) => each.worker !== worker || each.request["request_id"] !== id);
}

function closeRequests(worker: string, event: Frame): void {
  asked.value = asked.value.filter(
    (each) => each.worker !== worker || (event.type !== "done" && each.request["tool_id"] !== event["id"]),
  );
}
