/** Notifications on this device, and the end of its key. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { describe, dropKey, fetchJson } from "../net/access.ts";
import { allowNotifications, canNotify } from "../state/notifications.ts";
import { version } from "../state/overview.ts";
import { notifies } from "../state/settings.ts";
import { toast } from "../state/toasts.ts";
import { Modal } from "./dialogs.tsx";

export function DeviceDialog(): VNode {
  const isSure = useSignal(false);
  return (
    <Modal title="This device">
      <section>
        <h3>Notifications</h3>
        {canNotify() ? (
          <label class="check">
            <input type="checkbox" checked={notifies.value === "yes"} onChange={(event) => void allowNotifications(event.currentTarget.checked)} />
            Notify me when a question waits or the agent is done, while the page is hidden
          </label>
        ) : (
          <p class="muted">This browser allows none here. They need a secure address (this machine, or TLS).</p>
        )}
      </section>
      <section>
        <h3>Key</h3>
        <p>The key of this browser opens every conversation of the server. Forget it on a machine that is not yours.</p>
        <div class="row-of-buttons">
          {isSure.value ? (
            <button type="button" class="danger" onClick={() => void forget()}>Forget it now</button>
          ) : (
            <button type="button" onClick={() => (isSure.value = true)}>Forget this device</button>
          )}
        </div>
      </section>
      {version.value && <p class="muted small">zot {version}</p>}
    </Modal>
  );
}

async function forget(): Promise<void> {
  try {
    await fetchJson("DELETE", "/device");
  } catch (error) {
    toast("error", describe(error));
    return;
  }
  dropKey();
  location.hash = "";
  location.reload();
}
