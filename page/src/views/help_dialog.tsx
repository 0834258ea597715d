/** The keys of the page. */

import type { VNode } from "preact";
import { KEYS } from "../state/key_table.ts";
import { Modal } from "./dialogs.tsx";

export function HelpDialog(): VNode {
  return (
    <Modal title="Keys">
      <table class="keys">
        <tbody>
          {KEYS.map(([key, what]) => (
            <tr>
              <th scope="row"><kbd>{key}</kbd></th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Modal>
  );
}
