/** An approval: the exact call in full, and every decision that zot accepts for it. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import type { ApprovalRequest, Outside } from "../wire.ts";
import { changeIn } from "../text/tool_summary.ts";
import { visible } from "../text/visible.ts";
import { DiffView } from "./diff_view.tsx";
import { type Choice, Choices } from "./requests.tsx";
import { Visible } from "./visible_text.tsx";

interface Props {
  request: ApprovalRequest & { call_hash?: string };
  onAnswer: (fields: object) => unknown;
}

export function Approval({ request, onAnswer }: Props): VNode {
  const reason = useSignal("");
  const isDenying = useSignal(false);
  const bound = request.call_hash ? { call_hash: request.call_hash } : {};
  const decide = (decision: string, more: object = {}) => void onAnswer({ decision, ...bound, ...more });
  const choices = choicesFor(request, decide);
  choices.push({ label: "Deny…", kind: "danger", detail: "with a reason for the model", run: () => (isDenying.value = true) });
  return (
    <>
      <h2>{request.outside?.length ? "Allow access outside the jail?" : `Allow this call of ${visible(request.name, true)}?`}</h2>
      {request.reason && <p class="reason">Approval is required: <Visible text={request.reason} oneLine /></p>}
      {request.outside?.map((each) => <OutsideRow outside={each} />)}
      <Call name={request.name} args={request.args} />
      {isDenying.value ? (
        <form
          class="deny"
          onSubmit={(event) => {
            event.preventDefault();
            decide("deny", reason.value ? { reason: reason.value } : {});
          }}
        >
          <label>
            Reason for the model (optional)
            <input type="text" value={reason} ref={(input) => input?.focus()} onInput={(event) => (reason.value = event.currentTarget.value)} />
          </label>
          <div class="row-of-buttons">
            <button type="submit" class="danger">Deny</button>
            <button type="button" onClick={() => (isDenying.value = false)}>Back</button>
          </div>
        </form>
      ) : (
        <Choices choices={choices} />
      )}
    </>
  );
}

function choicesFor(request: ApprovalRequest, decide: (decision: string) => void): Choice[] {
  const once: Choice = { label: "Allow once", kind: "primary", run: () => decide("once") };
  if (request.outside?.length) {
    return [
      once,
      { label: "Allow for this session", run: () => decide("session") },
      { label: "Never", detail: "deny, and do not ask again", run: () => decide("never") },
    ];
  }
  if (request.reason) return [once]; // a hook or a rule asks: approval is for this call only
  const choices = [once];
  const prefixes = request.prefixes?.length ? request.prefixes : request.prefix ? [request.prefix] : [];
  if (prefixes.length) {
    const named = prefixes.map((prefix) => visible(prefix, true)).join(", ");
    choices.push({ label: "Allow commands like this", detail: `that begin with: ${named}`, run: () => decide("prefix") });
  }
  if (request.name !== "bash") { // all commands are never one tap away: "everything" says what it is
    choices.push({ label: `Always allow ${visible(request.name, true)}`, run: () => decide("tool") });
  }
  choices.push({ label: "Allow everything", detail: "in this conversation", run: () => decide("all") });
  return choices;
}

const ACCESS: Record<string, string> = { read: "read", write: "write", network: "use the network" };

function OutsideRow({ outside }: { outside: Outside }): VNode {
  if (outside.access === "network") {
    return <p class="outside">The call wants to use the <strong>network</strong>{outside.host && <>; it tried <code><Visible text={outside.host} oneLine /></code></>}. Approval allows the whole network.</p>;
  }
  return (
    <p class="outside">
      The call wants to <strong>{ACCESS[outside.access]}</strong> the {outside.kind}{outside.missing ? " (it does not exist yet)" : ""}{" "}
      <code><Visible text={outside.path} oneLine /></code>
    </p>
  );
}

/** The arguments whole; nothing is cut, and characters that hide are spelled out. */
export function Call({ name, args }: { name: string; args: unknown }): VNode {
  const change = changeIn(name, args);
  const fields = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  if (change) {
    const others = Object.entries(fields).filter(([key]) => !["path", "content", "edits", "diff"].includes(key));
    return (
      <div class="call">
        <p class="call-path"><code><Visible text={change.path} oneLine /></code></p>
        <DiffView diff={change} path={change.path} />
        {others.length > 0 && <Exact text={JSON.stringify(Object.fromEntries(others), null, 2)} />}
      </div>
    );
  }
  const isCommand = typeof fields["command"] === "string" && Object.keys(fields).length === 1;
  return (
    <div class="call">
      <Exact text={isCommand ? String(fields["command"]) : JSON.stringify(args, null, 2)} />
    </div>
  );
}

function Exact({ text }: { text: string }): VNode {
  return <pre class="exact" tabIndex={0} aria-label="The exact call"><Visible text={text} /></pre>;
}
