/** A plan of the model: read it, change it, approve it with a permission mode, or send it back with a comment. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { Markdown } from "../text/markdown_view.tsx";
import type { PlanRequest } from "../wire.ts";
import { answer, Choices } from "./requests.tsx";
import { Visible } from "./visible_text.tsx";

export function Plan({ request }: { request: PlanRequest }): VNode {
  const mode = useSignal(request.mode);
  const isFresh = useSignal(false);
  const isEditing = useSignal(false);
  const text = useSignal(request.plan);
  const isRefusing = useSignal(false);
  const comment = useSignal("");
  const approve = () => {
    const plan = text.value === request.plan ? "" : text.value;
    void answer("answer_plan", request, { decision: "approve", mode: mode.value, fresh: isFresh.value, plan });
  };
  const refuse = () => void answer("answer_plan", request, { decision: "refuse", comment: comment.value });
  return (
    <>
      <h2>Plan</h2>
      {isEditing.value ? (
        <textarea class="plan-editor" aria-label="Plan, as Markdown" rows={14} value={text} onInput={(event) => (text.value = event.currentTarget.value)} />
      ) : (
        <div class="plan" tabIndex={0} role="region" aria-label="Text of the plan"><Markdown text={text.value} /></div>
      )}
      {request.path && <p class="muted small">saved in <Visible text={request.path} oneLine /></p>}
      <div class="plan-options">
        <label>
          Then work in mode{" "}
          <select value={mode} onChange={(event) => (mode.value = event.currentTarget.value)}>
            {request.modes.map((each) => <option value={each}>{each}</option>)}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={isFresh} onChange={(event) => (isFresh.value = event.currentTarget.checked)} /> in a new session
        </label>
        <button type="button" class="quiet" onClick={() => (isEditing.value = !isEditing.value)}>
          {isEditing.value ? "Show" : "Edit the plan"}
        </button>
      </div>
      {isRefusing.value ? (
        <form
          class="deny"
          onSubmit={(event) => {
            event.preventDefault();
            refuse();
          }}
        >
          <label>
            What should change? (empty: the prompt ends)
            <input type="text" value={comment} ref={(input) => input?.focus()} onInput={(event) => (comment.value = event.currentTarget.value)} />
          </label>
          <div class="row-of-buttons">
            <button type="submit" class="danger">Send back</button>
            <button type="button" onClick={() => (isRefusing.value = false)}>Back</button>
          </div>
        </form>
      ) : (
        <Choices
          choices={[
            { label: "Approve", kind: "primary", run: approve },
            { label: "Keep planning…", run: () => (isRefusing.value = true) },
          ]}
        />
      )}
    </>
  );
}
