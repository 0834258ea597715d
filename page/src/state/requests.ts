/** Requests that wait for an answer of the user, oldest first. */

import { signal } from "@preact/signals";
import type { Frame, Request } from "../wire.ts";
import { interrupt } from "./announcer.ts";

export const requests = signal<readonly Request[]>([]);

const KINDS = new Set(["approval_request", "question_request", "plan_request", "elicitation_request", "ext_dialog"]);

export function reset(): void {
  requests.value = [];
}

export function replace(open: readonly Frame[]): void {
  requests.value = open.filter((frame) => KINDS.has(frame.type)) as unknown as Request[];
}

export function apply(frame: Frame): boolean {
  if (KINDS.has(frame.type)) {
    const request = frame as unknown as Request;
    requests.value = [...requests.value.filter((each) => each.request_id !== request.request_id), request];
    interrupt(summary(request));
    return true;
  }
  if (frame.type === "request_closed" || frame.type === "ext_dialog_close") {
    close(String(frame["request_id"]));
    return true;
  }
  if (frame.type === "tool_result") closeOf(String(frame["id"]));
  return false;
}

export function close(id: string): void {
  if (requests.value.some((each) => each.request_id === id)) {
    requests.value = requests.value.filter((each) => each.request_id !== id);
  }
}

/** The call ended while it waited. */
function closeOf(call: string): void {
  const rest = requests.value.filter((each) => !("tool_id" in each) || each.tool_id !== call);
  if (rest.length !== requests.value.length) requests.value = rest;
}

/** One line for a notification or a screen reader. */
export function summary(request: Request): string {
  switch (request.type) {
    case "approval_request":
      return `approval needed: ${request.name}: ${request.preview}`;
    case "question_request":
      return `the model asks: ${request.questions[0]?.question ?? ""}`;
    case "plan_request":
      return "the model presents a plan";
    case "elicitation_request":
      return `${request.server} asks: ${request.message}`;
    case "ext_dialog":
      return `${request.extension} asks: ${request.title}`;
  }
}
