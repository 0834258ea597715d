/** Chooses a prompt to go back to, shows what would change, and does it. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { describe } from "../net/access.ts";
import * as conversation from "../state/conversation.ts";
import { prompt, preview, rewind, type What } from "../state/rewind.ts";
import type { UserEntry } from "../state/transcript.ts";
import type { Rewound } from "../wire.ts";
import { closeDialog, Modal } from "./dialogs.tsx";
import { Visible } from "./visible_text.tsx";

const WHAT: [What, string][] = [
  ["both", "conversation and files"],
  ["conversation", "only the conversation"],
  ["files", "only the files"],
];

export function RewindDialog(): VNode {
  const what = useSignal<What>("both");
  const overwrite = useSignal(false);
  const found = useSignal<Rewound | null>(null);
  const fault = useSignal("");
  const prompts = conversation.transcript.entries.filter((entry): entry is UserEntry => entry.kind === "user");
  if (!prompt.value) prompt.value = prompts[prompts.length - 1]?.prompt ?? 0;
  useEffect(() => {
    found.value = null;
    fault.value = "";
    preview(prompt.value, what.value, overwrite.value).then(
      (shown) => (found.value = shown),
      (error) => (fault.value = describe(error)),
    );
    return undefined;
  }, [prompt.value, what.value, overwrite.value]);
  useEffect(() => () => void (prompt.value = 0), []);
  const go = async () => {
    if (await rewind(prompt.value, what.value, overwrite.value)) closeDialog();
  };
  return (
    <Modal title="Rewind">
      <label class="field">
        Back to before
        <select id="rewind-prompt" value={String(prompt.value)} onChange={(event) => (prompt.value = Number(event.currentTarget.value))}>
          {prompts.map((each) => (
            <option value={String(each.prompt)}>{`${each.prompt}. ${each.text.slice(0, 80)}`}</option>
          ))}
        </select>
      </label>
      <label class="field">
        What
        <select value={what} onChange={(event) => (what.value = event.currentTarget.value as What)}>
          {WHAT.map(([value, label]) => (
            <option value={value}>{label}</option>
          ))}
        </select>
      </label>
      <label class="check">
        <input type="checkbox" checked={overwrite} onChange={(event) => (overwrite.value = event.currentTarget.checked)} />
        Also restore files that something else changed since
      </label>
      <section class="preview" aria-live="polite">
        {fault.value && <p class="level-error">{fault}</p>}
        {found.value && <Preview found={found.value} />}
      </section>
      <div class="row-of-buttons">
        <button type="button" class="danger" id="rewind-go" disabled={!found.value || !conversation.drives.value} onClick={() => void go()}>Rewind</button>
        <button type="button" onClick={closeDialog}>Cancel</button>
      </div>
    </Modal>
  );
}

function Preview({ found }: { found: Rewound }): VNode {
  return (
    <>
      {found.files.length === 0 && <p class="muted">No file changes.</p>}
      <ul class="files">
        {found.files.map((file) => (
          <li class={file.outcome}>
            <span class="tag">{file.outcome}</span> <Visible text={file.path} oneLine />
            {file.reason && <span class="muted"> {file.reason}</span>}
          </li>
        ))}
      </ul>
      {found.unknown.map((reason) => (
        <p class="muted small">{reason}</p>
      ))}
    </>
  );
}
