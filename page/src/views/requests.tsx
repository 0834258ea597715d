/** Requests that wait for the user, above the prompt. The oldest is shown; others are counted. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { describe } from "../net/access.ts";
import * as conversation from "../state/conversation.ts";
import { close, requests } from "../state/requests.ts";
import { toast } from "../state/toasts.ts";
import type { Request } from "../wire.ts";
import { Approval } from "./approval.tsx";
import { ExtensionDialog } from "./extension_dialog.tsx";
import { Elicitation } from "./elicitation.tsx";
import { Plan } from "./plan.tsx";
import { Questions } from "./questions.tsx";

export function Requests(): VNode | null {
  const chosen = useSignal(0);
  const all = requests.value;
  if (!all.length) return null;
  const at = Math.min(chosen.value, all.length - 1);
  const request = all[at] as Request;
  return (
    <Card key={request.request_id} request={request} number={at} total={all.length} onChoose={(next) => (chosen.value = next)} />
  );
}

interface CardProps {
  request: Request;
  number: number;
  total: number;
  onChoose: (number: number) => void;
}

function Card({ request, number, total, onChoose }: CardProps): VNode {
  const card = useRef<HTMLElement>(null);
  useEffect(() => takeFocus(card.current), []);
  return (
    <section class="request" ref={card} tabIndex={-1} aria-label={labelOf(request)}>
      {total > 1 && (
        <div class="request-count">
          <span>{`${number + 1} of ${total}`}</span>
          <button type="button" class="quiet" onClick={() => onChoose((number + 1) % total)}>Next</button>
        </div>
      )}
      <fieldset disabled={!conversation.drives.value} class="request-body">
        <Content request={request} />
      </fieldset>
      {!conversation.drives.value && <WatchingNotice />}
    </section>
  );
}

function Content({ request }: { request: Request }): VNode {
  switch (request.type) {
    case "approval_request":
      return <Approval request={request} onAnswer={(fields) => answer("approve", request, fields)} />;
    case "question_request":
      return <Questions request={request} />;
    case "plan_request":
      return <Plan request={request} />;
    case "elicitation_request":
      return <Elicitation request={request} />;
    case "ext_dialog":
      return <ExtensionDialog request={request} />;
  }
}

function labelOf(request: Request): string {
  if (request.type === "approval_request") return `Approval of ${request.name}`;
  if (request.type === "question_request") return "Question of the model";
  if (request.type === "plan_request") return "Plan of the model";
  if (request.type === "elicitation_request") return `Question of ${request.server}`;
  return `Dialog of ${request.extension}`;
}

function WatchingNotice(): VNode {
  return (
    <p class="watching-notice">
      You watch; only the driver answers.{" "}
      <button type="button" onClick={() => void conversation.tell("take_over")}>Take over</button>
    </p>
  );
}

/** Focus goes to the request, unless the user writes something. */
function takeFocus(card: HTMLElement | null): void {
  const active = document.activeElement;
  const writes = active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement ? active.value !== "" : false;
  if (!writes && !document.querySelector("dialog[open]")) card?.focus({ preventScroll: true });
}

/** Send an answer; a request that is over disappears, one that was refused stays with the reason. */
export async function answer(type: string, request: Request, fields: object): Promise<boolean> {
  try {
    await conversation.ask(type, { request_id: request.request_id, ...fields });
    close(request.request_id);
    if (!requests.value.length) document.getElementById("prompt")?.focus({ preventScroll: true });
    return true;
  } catch (error) {
    toast("error", describe(error));
    return false;
  }
}

export interface Choice {
  label: string;
  detail?: string;
  kind?: "primary" | "danger";
  run: () => void;
}

const GUARD_MS = 350; // keys that were meant for something else do not answer

/** Buttons with numbers: 1, 2, 3 … choose while the focus is in the request. */
export function Choices({ choices, children }: { choices: Choice[]; children?: ComponentChildren }): VNode {
  const list = useRef<HTMLDivElement>(null);
  const since = useRef(performance.now());
  const latest = useRef(choices);
  latest.current = choices;
  useEffect(() => {
    const card = list.current?.closest<HTMLElement>(".request, .worker-request");
    if (!card) return;
    const onKey = (event: KeyboardEvent) => {
      const isText = event.target instanceof HTMLTextAreaElement || (event.target instanceof HTMLInputElement && event.target.type !== "radio" && event.target.type !== "checkbox");
      if (isText || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
      const choice = /^[1-9]$/.test(event.key) ? latest.current[Number(event.key) - 1] : undefined;
      if (!choice || performance.now() - since.current < GUARD_MS || card.querySelector("fieldset:disabled")) return;
      event.preventDefault();
      choice.run();
    };
    card.addEventListener("keydown", onKey);
    return () => card.removeEventListener("keydown", onKey);
  }, []);
  return (
    <div class="choices" ref={list}>
      {choices.map((choice, at) => (
        <button type="button" class={choice.kind ?? ""} onClick={choice.run}>
          <kbd aria-hidden="true">{at + 1}</kbd>
          <span class="choice-label">{choice.label}</span>
          {choice.detail && <span class="choice-detail">{choice.detail}</span>}
        </button>
      ))}
      {children}
    </div>
  );
}
