/** For a device without a key: how to get one. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { deviceKey, pair } from "../net/access.ts";

export function Pairing({ fault }: { fault: string }): VNode {
  const typed = useSignal("");
  const problem = useSignal(fault);
  const connect = async () => {
    const token = typed.value.trim().replace(/^.*#token=/, "");
    problem.value = token ? await pair(token) : "paste the address or its token";
    if (deviceKey()) location.reload();
  };
  return (
    <main class="pairing">
      <img src="/icon.svg" alt="" width="48" height="48" />
      <h1>zot</h1>
      <p>This browser has no key for the server yet. Run <code>zot serve</code> in a terminal and open the address that it prints, or paste it here.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void connect();
        }}
      >
        <label>
          Address or token
          <input type="text" autocomplete="off" spellcheck={false} value={typed} onInput={(event) => (typed.value = event.currentTarget.value)} />
        </label>
        <button type="submit" class="primary">Connect</button>
      </form>
      {problem.value && <p class="level-error" role="alert">{problem.value}</p>}
    </main>
  );
}
