/** Running conversations, stored sessions with search, and what concerns this device. */

import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { describe, download } from "../net/access.ts";
import * as conversation from "../state/conversation.ts";
import * as overview from "../state/overview.ts";
import { dialog, hasSidebar } from "../state/route.ts";
import { themeChoice } from "../state/settings.ts";
import { toast } from "../state/toasts.ts";
import { visible } from "../text/visible.ts";
import type { ConversationRow, SessionRow } from "../wire.ts";
import { Icon } from "./icon.tsx";
import { Menu } from "./menu.tsx";

const REFRESH_MS = 10_000;

export function Sidebar(): VNode {
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && void overview.loadRunning(), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    if (conversation.doneCount.value) void Promise.all([overview.loadRunning(), overview.loadSessions()]);
  }, [conversation.doneCount.value, conversation.name.value]);
  return (
    <aside class="sidebar" aria-label="Conversations">
      <div class="sidebar-head">
        <img src="/icon.svg" alt="" width="20" height="20" />
        <strong>zot</strong>
        <span class="grow" />
        <button type="button" class="primary small" id="new" onClick={() => (dialog.value = "new")}>
          <Icon name="plus" /> New
        </button>
        <button type="button" class="quiet icon-button menu" aria-label="Close the list" onClick={() => (hasSidebar.value = false)}>
          <Icon name="close" />
        </button>
      </div>
      <div class="sidebar-body">
        <Running />
        <Sessions />
      </div>
      <SidebarFoot />
    </aside>
  );
}

function Running(): VNode {
  return (
    <section aria-labelledby="running-title">
      <h2 id="running-title">Running</h2>
      {!overview.running.value.length && <p class="muted small">None runs.</p>}
      <ul class="rows">
        {overview.running.value.map((row) => (
          <RunningRow key={row.conversation} row={row} />
        ))}
      </ul>
    </section>
  );
}

function RunningRow({ row }: { row: ConversationRow }): VNode {
  const isCurrent = row.conversation === conversation.name.value;
  const clients = row.clients?.length ?? 0;
  const parts = [row.busy ? "working" : "", clients ? `${clients} ${clients === 1 ? "client" : "clients"}` : ""].filter((part) => part);
  return (
    <li class={isCurrent ? "row-item current" : "row-item"}>
      <button type="button" class="row-main" aria-current={isCurrent ? "true" : undefined} onClick={() => overview.open(row.conversation)}>
        <span class="row-title">
          {row.busy && <span class="pulse" aria-hidden="true" />}
          {visible(row.title || baseName(row.cwd), true)}
        </span>
        <span class="row-detail">{[visible(row.cwd, true), ...parts].join(" · ")}</span>
      </button>
      {Number(row.waiting) > 0 && <span class="badge" title="waits for an answer">{row.waiting}</span>}
    </li>
  );
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

function Sessions(): VNode {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const typed = (text: string) => {
    overview.search.value = text;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void overview.loadSessions(), 200);
  };
  return (
    <section aria-labelledby="sessions-title">
      <h2 id="sessions-title">Sessions</h2>
      <input type="search" id="search" class="search" placeholder="Search in all sessions" aria-label="Search in all sessions" value={overview.search} onInput={(event) => typed(event.currentTarget.value)} />
      {overview.fault.value && <p class="muted small">{overview.fault}</p>}
      {!overview.sessions.value.length && !overview.fault.value && <p class="muted small">{overview.isSearching.value ? "Searching…" : "None found."}</p>}
      <ul class="rows">
        {overview.sessions.value.map((row) => (
          <SessionItem key={row.conversation} row={row} />
        ))}
      </ul>
      {overview.hasMore.value && <button type="button" class="quiet" onClick={() => void overview.loadSessions(true)}>More</button>}
    </section>
  );
}

function SessionItem({ row }: { row: SessionRow }): VNode {
  const isCurrent = row.conversation === conversation.name.value;
  const parts = [when(row.updated), `${row.messages} ${row.messages === 1 ? "message" : "messages"}`, row.cost ? `$${row.cost.toFixed(2)}` : ""];
  return (
    <li class={isCurrent ? "row-item current" : "row-item"}>
      <button type="button" class="row-main" aria-current={isCurrent ? "true" : undefined} onClick={() => overview.open(row.conversation)}>
        <span class="row-title">{row.parent ? "⑂ " : ""}{visible(row.title || "untitled", true)}</span>
        {row.snippet && <span class="row-snippet">{visible(row.snippet, true)}</span>}
        <span class="row-detail">{parts.filter((part) => part).join(" · ")}</span>
      </button>
      <Menu
        label={`Actions for ${visible(row.title || "untitled", true)}`}
        items={[
          ["Fork", () => void overview.fork(row.conversation)],
          ["Export as HTML", () => void save(row, "html")],
          ["Export as Markdown", () => void save(row, "markdown")],
          ["Watch only", () => overview.open(row.conversation, true)],
        ]}
      />
    </li>
  );
}

async function save(row: SessionRow, format: string): Promise<void> {
  try {
    const path = `/sessions/${encodeURIComponent(row.conversation)}/export?format=${format}`;
    await download(path, `${row.conversation}.${format === "html" ? "html" : "md"}`);
  } catch (error) {
    toast("error", `cannot export: ${describe(error)}`);
  }
}

/** A time of today as hours and minutes, another one as date. */
export function when(value: number | string): string {
  const date = new Date(typeof value === "number" ? value * 1000 : value);
  if (Number.isNaN(date.getTime())) return "";
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" }) : date.toLocaleDateString();
}

const THEMES = [
  ["system", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;

function SidebarFoot(): VNode {
  return (
    <div class="sidebar-foot">
      <label class="picker">
        <span class="visually-hidden">Colours</span>
        <select id="theme" title="Colours" value={themeChoice} onChange={(event) => (themeChoice.value = event.currentTarget.value as "system")}>
          {THEMES.map(([value, label]) => (
            <option value={value}>{label}</option>
          ))}
        </select>
      </label>
      <span class="grow" />
      <button type="button" class="quiet icon-button" aria-label="Notifications and this device" title="This device" onClick={() => (dialog.value = "device")}>
        <Icon name="bell" />
      </button>
      <button type="button" class="quiet icon-button" aria-label="Keys" title="Keys (?)" onClick={() => (dialog.value = "help")}>
        <Icon name="help" />
      </button>
    </div>
  );
}
