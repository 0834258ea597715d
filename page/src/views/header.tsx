/** Title, connection, who drives, and the pickers of mode, reasoning and model. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import * as conversation from "../state/conversation.ts";
import * as overview from "../state/overview.ts";
import { dialog, hasSidebar, view, type ViewName } from "../state/route.ts";
import { requests } from "../state/requests.ts";
import { Icon } from "./icon.tsx";
import { visible } from "../text/visible.ts";

const VIEWS: [ViewName, string][] = [
  ["chat", "Chat"],
  ["timeline", "Timeline"],
  ["swarm", "Swarm"],
];

export function Header(): VNode {
  const isJoined = conversation.link.value !== "none";
  return (
    <header class="header">
      <div class="header-row">
        <button type="button" class="quiet icon-button menu" aria-label="Conversations" aria-expanded={hasSidebar.value} onClick={() => (hasSidebar.value = !hasSidebar.value)}>
          <Icon name="menu" />
        </button>
        <Title />
        {isJoined && <Views />}
      </div>
      {isJoined && (
        <div class="header-row tools">
          <Connection />
          <Driver />
          <span class="grow" />
          <ModePicker />
          <ReasoningPicker />
          <ModelButton />
        </div>
      )}
    </header>
  );
}

function Title(): VNode {
  const title = conversation.title.value || listedTitle() || (conversation.name.value ? "Conversation" : "zot");
  return (
    <div class="title">
      <h1>{visible(title, true)}</h1>
      {conversation.cwd.value && <span class="cwd" title={visible(conversation.cwd.value, true)}>{visible(conversation.cwd.value, true)}</span>}
    </div>
  );
}

/** The title that the lists of the sidebar have. */
function listedTitle(): string {
  const isIt = (row: { conversation: string }) => row.conversation === conversation.name.value;
  return overview.running.value.find(isIt)?.title || overview.sessions.value.find(isIt)?.title || "";
}

function Views(): VNode {
  return (
    <nav class="views" aria-label="Views">
      {VIEWS.map(([name, label]) => (
        <button type="button" aria-current={view.value === name ? "page" : undefined} onClick={() => (view.value = name)}>
          {label}
          {name === "chat" && requests.value.length > 0 && view.value !== "chat" && <span class="badge">{requests.value.length}</span>}
        </button>
      ))}
    </nav>
  );
}

function Connection(): VNode | null {
  const link = conversation.link.value;
  if (link === "open") return null;
  if (link === "connecting") return <span class="link waiting">Connecting…</span>;
  if (link === "waiting") {
    return (
      <span class="link waiting">
        <Countdown at={conversation.retryAt.value} />{" "}
        <button type="button" class="quiet" onClick={conversation.retry}>Now</button>
      </span>
    );
  }
  return <span class="link ended">{conversation.linkReason.value}</span>;
}

function Countdown({ at }: { at: number }): VNode {
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => redraw((count) => count + 1), 500);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(Math.ceil((at - Date.now()) / 1000), 0);
  return <>{`No connection; next attempt in ${seconds} s`}</>;
}

/** Who drives, and what this page can do about it. */
function Driver(): VNode | null {
  if (conversation.link.value !== "open") return null;
  const count = conversation.clients.value.length;
  const label = conversation.drives.value ? "You drive" : driverName();
  return (
    <span class="driver">
      <button type="button" class="quiet" aria-haspopup="dialog" onClick={() => (dialog.value = "clients")}>
        <span class={conversation.drives.value ? "dot drives" : "dot"} aria-hidden="true" />
        {label}
        {count > 1 && <span class="muted">{` · ${count} here`}</span>}
      </button>
      {!conversation.drives.value && (
        <button type="button" class="primary small" onClick={() => void conversation.tell("take_over")}>Take over</button>
      )}
    </span>
  );
}

export function driverName(): string {
  const found = conversation.clients.value.find((each) => each.client === conversation.driver.value);
  return found ? `${visible(found.device, true)} drives` : "Nobody drives";
}

const MODES: [string, string][] = [
  ["plan", "plan"],
  ["ask", "ask"],
  ["accept-edits", "accept edits"],
  ["everything", "everything"],
];

function ModePicker(): VNode | null {
  const state = conversation.state.value;
  if (!state) return null;
  const limit = MODES.findIndex(([mode]) => mode === state.permission_limit);
  return (
    <label class="picker">
      <span class="visually-hidden">Permission mode</span>
      <select id="mode" title="Permission mode: what runs without asking" disabled={!conversation.drives.value} value={state.permission_mode} onChange={(event) => void setMode(event.currentTarget)}>
        {MODES.map(([mode, label], at) => (
          <option value={mode} disabled={limit >= 0 && at > limit}>{label}</option>
        ))}
      </select>
    </label>
  );
}

async function setMode(select: HTMLSelectElement): Promise<void> {
  if (!(await conversation.setMode(select.value))) select.value = conversation.state.value?.permission_mode ?? select.value;
}

const LEVELS = ["off", "minimum", "low", "medium", "high", "xhigh", "max"];

function ReasoningPicker(): VNode | null {
  const level = conversation.state.value?.reasoning;
  if (!level) return null;
  return (
    <label class="picker">
      <span class="visually-hidden">Reasoning</span>
      <select id="reasoning" title="Reasoning effort" disabled={!conversation.drives.value || conversation.isBusy.value} value={level} onChange={(event) => void setReasoning(event.currentTarget)}>
        {LEVELS.map((each) => (
          <option value={each}>{`reasoning: ${each}`}</option>
        ))}
      </select>
    </label>
  );
}

async function setReasoning(select: HTMLSelectElement): Promise<void> {
  const worked = await conversation.tell("set_reasoning", { reasoning: select.value });
  if (!worked) select.value = conversation.state.value?.reasoning ?? select.value;
  await conversation.refresh();
}

function ModelButton(): VNode | null {
  const state = conversation.state.value;
  if (!state) return null;
  return (
    <button type="button" class="quiet model" id="model" aria-haspopup="dialog" title={`Model: ${state.provider} ${state.model}`} disabled={!conversation.drives.value} onClick={() => (dialog.value = "models")}>
      {state.model}
    </button>
  );
}
