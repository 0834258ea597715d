/** The page: pairing, or the conversation with its sidebar. */

import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { polite, urgent } from "./state/announcer.ts";
import * as conversation from "./state/conversation.ts";
import { hasSidebar, view } from "./state/route.ts";
import { ChatView } from "./views/chat.tsx";
import { Dialogs } from "./views/dialogs.tsx";
import { Header } from "./views/header.tsx";
import { Pairing } from "./views/pairing.tsx";
import { Sidebar } from "./views/sidebar.tsx";
import { SwarmView } from "./views/swarm_view.tsx";
import { TimelineView } from "./views/timeline_view.tsx";
import { Toasts } from "./views/toasts.tsx";
import { Welcome } from "./views/welcome.tsx";

/** False until this device has a key; then with the reason of the last failure. */
export const access = signal<{ isPaired: boolean; fault: string }>({ isPaired: true, fault: "" });

export function App(): VNode {
  return (
    <>
      <div class="visually-hidden" role="status" aria-live="polite">{polite}</div>
      <div class="visually-hidden" role="alert" aria-live="assertive">{urgent}</div>
      {access.value.isPaired ? <Paired /> : <Pairing fault={access.value.fault} />}
      <Toasts />
    </>
  );
}

function Paired(): VNode {
  return (
    <div class={hasSidebar.value ? "app has-sidebar" : "app"}>
      <a class="skip" href="#prompt">Skip to the prompt</a>
      <Sidebar />
      <div class="shade" onClick={() => (hasSidebar.value = false)} />
      <div class="stage">
        <Header />
        <main class="main">{conversation.link.value === "none" ? <Welcome /> : <Current />}</main>
      </div>
      <Dialogs />
    </div>
  );
}

function Current(): VNode {
  if (view.value === "timeline") return <TimelineView />;
  if (view.value === "swarm") return <SwarmView />;
  return <ChatView />;
}
