/** An address that the user may open: shown whole, opened only by a click. */

import type { VNode } from "preact";
import { safeLink } from "../text/visible.ts";
import { Visible } from "./visible_text.tsx";

export function AddressToOpen({ address, onOpen }: { address: string; onOpen?: () => void }): VNode {
  const safe = safeLink(address);
  return (
    <p class="address">
      <code><Visible text={address} oneLine /></code>
      {safe && (
        <a href={safe} target="_blank" rel="noopener noreferrer" class="button" onClick={onOpen}>Open</a>
      )}
    </p>
  );
}
