/** The dialog that is open, if any. */

import type { ComponentChildren, VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { dialog } from "../state/route.ts";
import { ClientsDialog } from "./clients_dialog.tsx";
import { DeviceDialog } from "./device_dialog.tsx";
import { HelpDialog } from "./help_dialog.tsx";
import { Icon } from "./icon.tsx";
import { ModelDialog } from "./model_dialog.tsx";
import { NewDialog } from "./new_dialog.tsx";
import { RewindDialog } from "./rewind_dialog.tsx";

export function Dialogs(): VNode | null {
  switch (dialog.value) {
    case "help":
      return <HelpDialog />;
    case "models":
      return <ModelDialog />;
    case "new":
      return <NewDialog />;
    case "rewind":
      return <RewindDialog />;
    case "device":
      return <DeviceDialog />;
    case "clients":
      return <ClientsDialog />;
    default:
      return null;
  }
}

export function closeDialog(): void {
  dialog.value = "";
}

/** The browser keeps the focus inside and gives it back at the end. */
export function Modal({ title, children, wide = false }: { title: string; children: ComponentChildren; wide?: boolean }): VNode {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const shown = element.current;
    const before = document.activeElement;
    shown?.showModal();
    return () => {
      shown?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={wide ? "modal wide" : "modal"}
      aria-labelledby="modal-title"
      onCancel={(event) => {
        event.preventDefault();
        closeDialog();
      }}
      onClick={(event) => event.target === element.current && closeDialog()}
    >
      <div class="modal-inner">
        <header>
          <h2 id="modal-title">{title}</h2>
          <button type="button" class="quiet icon-button" aria-label="Close" onClick={closeDialog}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
