/** The model's list of steps. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { todos } from "../state/conversation.ts";
import { Fold } from "./code.tsx";

const MARKS = { pending: "○", in_progress: "◐", done: "●" } as const;
const SPOKEN = { pending: "open", in_progress: "in progress", done: "done" } as const;

export function TodoList(): VNode | null {
  const open = useSignal(true);
  const items = todos.value;
  if (!items.length || items.every((item) => item.status === "done")) return null;
  const done = items.filter((item) => item.status === "done").length;
  const current = items.find((item) => item.status === "in_progress") ?? items.find((item) => item.status === "pending");
  return (
    <section class="todos" aria-label="Steps">
      <Fold
        summary={<span>{`Steps ${done} of ${items.length}`}{!open.value && current ? `: ${current.text}` : ""}</span>}
        open={open.value}
        onToggle={() => (open.value = !open.value)}
      >
        <ol>
          {items.map((item) => (
            <li class={item.status}>
              <span class="mark" role="img" aria-label={SPOKEN[item.status]}>{MARKS[item.status]}</span>
              {item.text}
            </li>
          ))}
        </ol>
      </Fold>
    </section>
  );
}
