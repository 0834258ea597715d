/** Who is here, and who drives. */

import type { VNode } from "preact";
import * as conversation from "../state/conversation.ts";
import { visible } from "../text/visible.ts";
import { closeDialog, Modal } from "./dialogs.tsx";

export function ClientsDialog(): VNode {
  const drives = conversation.drives.value;
  return (
    <Modal title="Who is here">
      <p class="muted">One client drives; the others watch and cannot change anything.</p>
      <ul class="clients">
        {conversation.clients.value.map((each) => (
          <li>
            <span class={each.client === conversation.driver.value ? "dot drives" : "dot"} aria-hidden="true" />
            <span class="grow">
              {visible(each.device, true)}
              <span class="muted">
                {` · ${each.client}${each.client === conversation.me.value ? " (this page)" : ""}`}
                {each.client === conversation.driver.value ? " · drives" : each.watches ? " · only watches" : ""}
              </span>
            </span>
            {drives && each.client !== conversation.me.value && !each.watches && (
              <button type="button" onClick={() => void handOver(each.client)}>Hand over</button>
            )}
          </li>
        ))}
      </ul>
      <div class="row-of-buttons">
        {drives ? (
          <button type="button" onClick={() => void handOver("")}>Stop driving</button>
        ) : (
          <button type="button" class="primary" onClick={() => void takeOver()}>Take over</button>
        )}
      </div>
    </Modal>
  );
}

async function handOver(client: string): Promise<void> {
  if (await conversation.tell("hand_over", client ? { client } : {})) closeDialog();
}

async function takeOver(): Promise<void> {
  if (await conversation.tell("take_over")) closeDialog();
}
