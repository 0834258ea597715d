/** What the keys do, as the help shows it. */

export const KEYS: readonly (readonly [string, string])[] = [
  ["Enter", "send the prompt, or queue it while the agent works"],
  ["Shift+Enter", "new line"],
  ["Ctrl+Enter", "steer: the running prompt sees the message before its next step"],
  ["Esc", "stop the agent; close a dialog, a panel or a list"],
  ["/", "go to the prompt; at its start: slash commands"],
  ["@", "in the prompt: files"],
  ["1 … 9", "choose an answer of a request that has the focus"],
  ["Alt+A", "go to the request that waits"],
  ["Alt+1, 2, 3", "chat, timeline, swarm"],
  ["Alt+S", "search the sessions"],
  ["Alt+N", "new conversation"],
  ["Alt+M", "choose the model"],
  ["Alt+P", "next permission mode"],
  ["Alt+D", "diffs side by side or unified"],
  ["Alt+T", "open or fold all tool calls"],
  ["Alt+O", "take over, or hand over"],
  ["Alt+G", "go to the conversation, to scroll with the arrow keys"],
  ["?", "show these keys"],
];
