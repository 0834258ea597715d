/** One worker: its conversation, approvals, changes, and merging them. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { describe } from "../net/access.ts";
import * as conversation from "../state/conversation.ts";
import * as swarm from "../state/swarm.ts";
import { toast } from "../state/toasts.ts";
import { type FileDiff, parseUnified } from "../text/diff.ts";
import { visible } from "../text/visible.ts";
import type { ApprovalRequest, SwarmMerged, WorkerInfo } from "../wire.ts";
import { Approval } from "./approval.tsx";
import { Fold } from "./code.tsx";
import { DiffView } from "./diff_view.tsx";
import { Counts } from "./tool_call.tsx";
import { TranscriptList } from "./transcript_list.tsx";
import { Visible } from "./visible_text.tsx";

const ENDED = new Set(["done", "failed", "stopped", "lost"]);
type Tab = "work" | "changes";

export function WorkerDetail({ worker }: { worker: WorkerInfo }): VNode {
  const tab = useSignal<Tab>("work");
  useEffect(() => {
    swarm.log.clear();
    conversation.ask("swarm_subscribe", { worker: worker.id, past: true }).catch(() => undefined);
    return () => {
      conversation.ask("swarm_subscribe", { worker: worker.id, off: true }).catch(() => undefined);
      void conversation.ask("swarm_subscribe").catch(() => undefined);
    };
  }, [worker.id]);
  return (
    <section class="worker" aria-label={`Worker ${visible(worker.name, true)}`}>
      <header>
        <button type="button" class="quiet back" onClick={() => (swarm.chosen.value = "")}>Back</button>
        <h2>{visible(worker.name, true)}</h2>
        <span class={`worker-status ${worker.status}`}>{worker.status}</span>
        <span class="grow" />
        <Actions worker={worker} />
      </header>
      <p class="plain small"><Visible text={worker.task} /></p>
      <p class="muted small">
        {[worker.mode, worker.branch, worker.cwd].filter((part) => part).map((part) => visible(String(part), true)).join(" · ")}
        {worker.reason && ` · ${visible(worker.reason, true)}`}
      </p>
      <WorkerRequests worker={worker} />
      <div class="tabs" role="tablist" aria-label="Parts">
        {(["work", "changes"] as const).map((each) => (
          <button type="button" role="tab" aria-selected={tab.value === each} onClick={() => (tab.value = each)}>{each === "work" ? "Work" : "Changes"}</button>
        ))}
      </div>
      {tab.value === "work" ? <Work worker={worker} /> : <Changes worker={worker} />}
    </section>
  );
}

function Actions({ worker }: { worker: WorkerInfo }): VNode {
  const isEnded = ENDED.has(worker.status);
  const disabled = !conversation.drives.value;
  const run = (type: string, fields: object = {}) => void conversation.tell(type, { worker: worker.id, ...fields });
  return (
    <>
      {isEnded ? (
        <button type="button" disabled={disabled} onClick={() => run("swarm_resume")}>Resume</button>
      ) : (
        <button type="button" class="danger" disabled={disabled} onClick={() => run("swarm_stop")}>Stop</button>
      )}
      {isEnded && <button type="button" class="quiet" disabled={disabled} onClick={() => void remove(worker)}>Remove</button>}
    </>
  );
}

async function remove(worker: WorkerInfo): Promise<void> {
  if (!(await conversation.tell("swarm_remove", { worker: worker.id }))) return;
  swarm.workers.value = swarm.workers.value.filter((each) => each.id !== worker.id);
  swarm.chosen.value = "";
}

function WorkerRequests({ worker }: { worker: WorkerInfo }): VNode | null {
  const mine = swarm.asked.value.filter((each) => each.worker === worker.id);
  if (!mine.length) return null;
  const answer = async (id: string, fields: object) => {
    if (await conversation.tell("swarm_approve", { worker: worker.id, request_id: id, ...fields })) swarm.closeRequest(worker.id, id);
  };
  return (
    <>
      {mine.map(({ request }) => (
        <fieldset key={String(request["request_id"])} class="worker-request request-body" disabled={!conversation.drives.value}>
          <Approval request={request as unknown as ApprovalRequest} onAnswer={(fields) => answer(String(request["request_id"]), fields)} />
        </fieldset>
      ))}
    </>
  );
}

function Work({ worker }: { worker: WorkerInfo }): VNode {
  const text = useSignal("");
  const send = async () => {
    if (await conversation.tell("swarm_send", { worker: worker.id, text: text.value })) text.value = "";
  };
  return (
    <div class="worker-work">
      <TranscriptList transcript={swarm.log} />
      <form
        class="swarm-start"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.value.trim()) void send();
        }}
      >
        <input type="text" aria-label="Message to the worker" placeholder="Message to the worker" disabled={!conversation.drives.value} value={text} onInput={(event) => (text.value = event.currentTarget.value)} />
        <button type="submit" disabled={!conversation.drives.value || !text.value.trim()}>Send</button>
      </form>
    </div>
  );
}

function Changes({ worker }: { worker: WorkerInfo }): VNode {
  const files = useSignal<readonly FileDiff[] | null>(null);
  const fault = useSignal("");
  useEffect(() => {
    conversation.ask<{ diff: string }>("swarm_diff", { worker: worker.id }).then(
      ({ diff }) => (files.value = parseUnified(diff)),
      (error) => (fault.value = describe(error)),
    );
  }, [worker.id, worker.status]);
  if (fault.value) return <p class="muted">{fault}</p>;
  if (!files.value) return <p class="muted">Reading the changes…</p>;
  return (
    <div class="worker-changes">
      <MergeForm worker={worker} count={files.value.length} />
      {!files.value.length && <p class="muted">No changes.</p>}
      {files.value.map((file) => (
        <File key={file.path} file={file} />
      ))}
    </div>
  );
}

function File({ file }: { file: FileDiff }): VNode {
  const open = useSignal(file.rows.length < 200);
  return (
    <Fold summary={<span class="tool-head"><code><Visible text={file.path} oneLine /></code><Counts added={file.added} removed={file.removed} /></span>} open={open.value} onToggle={() => (open.value = !open.value)}>
      <DiffView diff={file} path={file.path} />
    </Fold>
  );
}

function MergeForm({ worker, count }: { worker: WorkerInfo; count: number }): VNode | null {
  const how = useSignal("squash");
  const check = useSignal("");
  const done = useSignal("");
  if (!count) return null;
  const merge = async (repair: boolean) => {
    try {
      const fields = { worker: worker.id, how: how.value, ...(check.value ? { check: check.value } : {}), ...(repair ? { repair } : {}) };
      done.value = outcome(await conversation.ask<SwarmMerged>("swarm_merge", fields));
    } catch (error) {
      toast("error", describe(error));
    }
  };
  return (
    <form
      class="merge"
      onSubmit={(event) => {
        event.preventDefault();
        void merge(false);
      }}
    >
      <label>
        <span class="visually-hidden">How</span>
        <select value={how} onChange={(event) => (how.value = event.currentTarget.value)}>
          <option value="squash">change the files</option>
          <option value="no-ff">merge commit</option>
          <option value="patch">patch file</option>
        </select>
      </label>
      <input type="text" aria-label="Command that must succeed first" placeholder="check first, such as make test" value={check} onInput={(event) => (check.value = event.currentTarget.value)} />
      <button type="submit" class="primary" disabled={!conversation.drives.value}>Merge</button>
      <button type="button" class="quiet" disabled={!conversation.drives.value} onClick={() => void merge(true)}>Merge, let the worker repair conflicts</button>
      {done.value && <p class="merged" role="status">{done}</p>}
    </form>
  );
}

function outcome(merged: SwarmMerged): string {
  if (merged.conflicts?.length) return `Nothing was merged: conflicts in ${merged.conflicts.join(", ")}`;
  if (merged.mending?.length) return `The worker repairs ${merged.mending.join(", ")}`;
  if (merged.patch) return `Patch written: ${merged.patch}`;
  return `Merged ${merged.files?.length ?? 0} ${merged.files?.length === 1 ? "file" : "files"} into ${merged.into}`;
}
