/** All models that can be chosen, with a filter. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { describe } from "../net/access.ts";
import * as conversation from "../state/conversation.ts";
import type { ModelRow } from "../wire.ts";
import { closeDialog, Modal } from "./dialogs.tsx";
import { short } from "./surfaces.tsx";

const MOST = 200;

export function ModelDialog(): VNode {
  const models = useSignal<readonly ModelRow[]>([]);
  const fault = useSignal("");
  const filter = useSignal("");
  const at = useSignal(0);
  useEffect(() => {
    load().then(
      (found) => (models.value = found),
      (error) => (fault.value = describe(error)),
    );
  }, []);
  const words = filter.value.toLowerCase().split(/\s+/);
  const shown = models.value.filter((each) => words.every((word) => `${each.provider} ${each.id}`.toLowerCase().includes(word))).slice(0, MOST);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") at.value = Math.min(at.value + 1, shown.length - 1);
    else if (event.key === "ArrowUp") at.value = Math.max(at.value - 1, 0);
    else if (event.key === "Enter" && shown[at.value]) void choose(shown[at.value] as ModelRow);
    else return;
    event.preventDefault();
    requestAnimationFrame(() => document.getElementById(`model-${at.value}`)?.scrollIntoView({ block: "nearest" }));
  };
  return (
    <Modal title="Model">
      <input
        type="search"
        autofocus
        placeholder="Filter"
        aria-label="Filter models"
        aria-autocomplete="list"
        aria-controls="models"
        aria-activedescendant={shown.length ? `model-${at.value}` : undefined}
        value={filter}
        onInput={(event) => {
          filter.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      {fault.value && <p class="level-error">{fault}</p>}
      <ul class="models" id="models" role="listbox" aria-label="Models">
        {shown.map((each, number) => (
          <li id={`model-${number}`} role="option" aria-selected={number === at.value} onClick={() => void choose(each)}>
            <span class="row-title">{each.id}</span>
            <span class="row-detail">
              {[each.provider, each.context_window ? `${short(each.context_window)} context` : "", each.reasoning ? "reasoning" : ""].filter((part) => part).join(" · ")}
            </span>
          </li>
        ))}
      </ul>
      {!shown.length && !fault.value && <p class="muted">No model matches.</p>}
    </Modal>
  );
}

/** Of all providers with a credential; of the current one where the server cannot say. */
async function load(): Promise<readonly ModelRow[]> {
  try {
    return (await conversation.ask<{ models: ModelRow[] }>("get_models", { all: true })).models;
  } catch {
    return (await conversation.ask<{ models: ModelRow[] }>("get_models")).models;
  }
}

async function choose(model: ModelRow): Promise<void> {
  const other = model.provider && model.provider !== conversation.state.value?.provider ? { provider: model.provider } : {};
  if (await conversation.tell("set_model", { model: model.id, ...other })) closeDialog();
  await conversation.refresh();
}
