/** A new conversation in a directory. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import * as conversation from "../state/conversation.ts";
import * as overview from "../state/overview.ts";
import { recentDirectories } from "../state/settings.ts";
import { closeDialog, Modal } from "./dialogs.tsx";

export function NewDialog(): VNode {
  const typed = useSignal(conversation.cwd.value || overview.directory.value);
  const known = [conversation.cwd.value, overview.directory.value, ...recentDirectories.value.split("\n")];
  const offered = [...new Set([...known, ...overview.running.value.map((row) => row.cwd), ...overview.sessions.value.map((row) => row.cwd)])].filter((each) => each);
  const start = () => {
    closeDialog();
    overview.startNew(typed.value.trim());
  };
  return (
    <Modal title="New conversation">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <label class="field">
          Directory to work in
          <input type="text" id="directory" autofocus list="directories" autocomplete="off" spellcheck={false} placeholder="the directory of the server" value={typed} onInput={(event) => (typed.value = event.currentTarget.value)} />
        </label>
        <datalist id="directories">{offered.map((each) => <option value={each} />)}</datalist>
        <div class="row-of-buttons">
          <button type="submit" class="primary">Start</button>
          <button type="button" onClick={closeDialog}>Cancel</button>
        </div>
      </form>
    </Modal>
  );
}
