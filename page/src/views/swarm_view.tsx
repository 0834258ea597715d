/** Background workers: their state, what they wait for, their changes, and what can be done with them. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { describe } from "../net/access.ts";
import * as conversation from "../state/conversation.ts";
import * as swarm from "../state/swarm.ts";
import { toast } from "../state/toasts.ts";
import { visible } from "../text/visible.ts";
import type { WorkerInfo } from "../wire.ts";
import { WorkerDetail } from "./worker_detail.tsx";

const ACTIVE = new Set(["queued", "running", "waiting", "idle"]);

export function SwarmView(): VNode {
  const fault = useSignal("");
  const showsAll = useSignal(true);
  useEffect(() => {
    const load = async () => {
      try {
        await conversation.ask("swarm_subscribe").catch(() => undefined); // a watcher cannot subscribe; the list is read
        swarm.workers.value = (await conversation.ask<{ workers: WorkerInfo[] }>("swarm_list", { all: true })).workers;
        fault.value = "";
      } catch (error) {
        fault.value = describe(error);
      }
    };
    swarm.whenConnected(() => void load());
    void load();
    const timer = setInterval(() => !conversation.drives.value && void load(), 5_000);
    return () => {
      clearInterval(timer);
      swarm.whenConnected(() => undefined);
      void conversation.ask("swarm_subscribe", { off: true }).catch(() => undefined);
    };
  }, []);
  const shown = swarm.workers.value.filter((each) => showsAll.value || ACTIVE.has(each.status)).slice().reverse();
  const chosen = swarm.workers.value.find((each) => each.id === swarm.chosen.value);
  return (
    <div class={chosen ? "swarm has-detail" : "swarm"}>
      <section class="swarm-list" aria-labelledby="swarm-title">
        <header>
          <h2 id="swarm-title">Workers</h2>
          <span class="grow" />
          <label class="check"><input type="checkbox" checked={showsAll} onChange={(event) => (showsAll.value = event.currentTarget.checked)} /> ended ones too</label>
          <button type="button" class="danger small" disabled={!conversation.drives.value || !shown.some((each) => ACTIVE.has(each.status))} onClick={() => void conversation.tell("swarm_stop", { all: true })}>Stop all</button>
        </header>
        <StartForm />
        {fault.value && <p class="level-error">{fault}</p>}
        {!shown.length && !fault.value && <p class="muted">No workers. Start one above, or with <code>zot swarm</code>.</p>}
        <ul class="rows">
          {shown.map((worker) => (
            <WorkerRow key={worker.id} worker={worker} />
          ))}
        </ul>
      </section>
      {chosen && <WorkerDetail key={chosen.id} worker={chosen} />}
    </div>
  );
}

function WorkerRow({ worker }: { worker: WorkerInfo }): VNode {
  const waits = swarm.asked.value.filter((each) => each.worker === worker.id).length || (worker.status === "waiting" ? 1 : 0);
  const parts = [worker.model, worker.steps ? `${worker.steps} steps` : "", `$${worker.usage.cost_usd.toFixed(2)}`, worker.merged ? `merged into ${worker.merged}` : ""];
  return (
    <li class={swarm.chosen.value === worker.id ? "row-item current" : "row-item"}>
      <button type="button" class="row-main" aria-current={swarm.chosen.value === worker.id ? "true" : undefined} onClick={() => (swarm.chosen.value = worker.id)}>
        <span class="row-title">
          <span class={`worker-status ${worker.status}`}>{worker.status}</span> {visible(worker.name, true)}
        </span>
        <span class="row-snippet">{visible(worker.activity || worker.last || worker.reason || worker.task, true)}</span>
        <span class="row-detail">{parts.filter((part) => part).join(" · ")}</span>
      </button>
      {waits > 0 && <span class="badge" title="waits for an answer">{waits}</span>}
    </li>
  );
}

function StartForm(): VNode {
  const task = useSignal("");
  const start = async () => {
    try {
      const { worker } = await conversation.ask<{ worker: WorkerInfo }>("swarm_start", { task: task.value });
      task.value = "";
      if (!swarm.workers.value.some((each) => each.id === worker.id)) swarm.workers.value = [...swarm.workers.value, worker];
      swarm.chosen.value = worker.id;
    } catch (error) {
      toast("error", describe(error));
    }
  };
  return (
    <form
      class="swarm-start"
      onSubmit={(event) => {
        event.preventDefault();
        if (task.value.trim()) void start();
      }}
    >
      <input type="text" aria-label="Task of a new worker" placeholder="Task of a new worker" disabled={!conversation.drives.value} value={task} onInput={(event) => (task.value = event.currentTarget.value)} />
      <button type="submit" disabled={!conversation.drives.value || !task.value.trim()}>Start</button>
    </form>
  );
}
