/** The suggestions above the prompt. */

import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Suggestion } from "../state/completion.ts";
import { Visible } from "./visible_text.tsx";

export function CompletionList({ suggestions, chosen, onChoose }: { suggestions: readonly Suggestion[]; chosen: number; onChoose: (suggestion: Suggestion) => void }): VNode {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: "nearest" }), [chosen]);
  return (
    <ul class="completion" id="suggestions" role="listbox" aria-label="Suggestions" ref={list}>
      {suggestions.map((each, at) => (
        <li
          id={`suggestion-${at}`}
          role="option"
          aria-selected={at === chosen}
          onPointerDown={(event) => {
            event.preventDefault(); // the prompt keeps the focus
            onChoose(each);
          }}
        >
          <span class="completion-label"><Visible text={each.label} oneLine /></span>
          {each.detail && <span class="completion-detail"><Visible text={each.detail} oneLine /></span>}
        </li>
      ))}
    </ul>
  );
}
