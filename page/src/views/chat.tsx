/** The transcript, what waits for an answer, and the prompt. */

import type { VNode } from "preact";
import * as conversation from "../state/conversation.ts";
import { Composer } from "./composer.tsx";
import { TodoList } from "./todo_list.tsx";
import { Panels } from "./panels.tsx";
import { Requests } from "./requests.tsx";
import { StatusBar, Surface, Widgets } from "./surfaces.tsx";
import { TranscriptList } from "./transcript_list.tsx";

export function ChatView(): VNode {
  return (
    <div class="chat">
      <Surface kind="header" />
      <TranscriptList transcript={conversation.transcript} />
      <div class="dock">
        <Panels />
        <Requests />
        <TodoList />
        <Widgets place="above" />
        <Composer />
        <Widgets place="below" />
        <StatusBar />
      </div>
    </div>
  );
}
