/** A question of an MCP server: fields to fill in, or an address to open. */

import { useMemo } from "preact/hooks";
import type { VNode } from "preact";
import type { DialogField, ElicitationRequest } from "../wire.ts";
import { contentOf, Fields, initialValues } from "./form.tsx";
import { answer } from "./requests.tsx";
import { AddressToOpen } from "./address.tsx";
import { Visible } from "./visible_text.tsx";

export function Elicitation({ request }: { request: ElicitationRequest }): VNode {
  const fields = (request.fields ?? []) as readonly DialogField[];
  const values = useMemo(() => initialValues(fields), []);
  const send = (action: string, content?: object) => void answer("answer_elicitation", request, { action, ...(content ? { content } : {}) });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send("accept", request.url ? undefined : contentOf(fields, values));
      }}
    >
      <h2>The MCP server <Visible text={request.server} oneLine /> asks</h2>
      <p class="plain"><Visible text={request.message} /></p>
      {request.url && <AddressToOpen address={request.url} />}
      <Fields fields={fields} values={values} id={request.request_id} />
      <div class="row-of-buttons">
        <button type="submit" class="primary">{request.url ? "I opened it" : "Send"}</button>
        <button type="button" onClick={() => send("decline")}>Decline</button>
        <button type="button" class="quiet" onClick={() => send("cancel")}>Cancel</button>
      </div>
    </form>
  );
}
