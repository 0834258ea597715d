/** Going back to before a prompt: a preview first, then the rewind. */

import { signal } from "@preact/signals";
import { describe } from "../net/access.ts";
import type { Rewound } from "../wire.ts";
import { draft } from "./composer.ts";
import * as conversation from "./conversation.ts";
import { dialog } from "./route.ts";
import { toast } from "./toasts.ts";

export type What = "both" | "files" | "conversation";

export const prompt = signal(0);

export function rewindTo(number: number): void {
  prompt.value = number;
  dialog.value = "rewind";
}

export function preview(number: number, what: What, overwrite: boolean): Promise<Rewound> {
  return conversation.ask<Rewound>("rewind", { prompt: number, what, overwrite, dry_run: true });
}

export async function rewind(number: number, what: What, overwrite: boolean): Promise<boolean> {
  try {
    const done = await conversation.ask<Rewound>("rewind", { prompt: number, what, overwrite });
    if (what !== "files" && !draft.value) draft.value = done.text;
    toast("success", number ? `back to before prompt ${number}` : "the last rewind of files is undone");
    return true;
  } catch (error) {
    toast("error", describe(error));
    return false;
  }
}
