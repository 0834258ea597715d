// Return values of handlers: a command's Response, a tool's ToolResult and an interceptor's decision.

import type { CommandResponse, Content, Panel } from "./frames.js";
import type { View } from "./lines.js";

/** One block of a tool result. */
export type ToolContent = Content;

/** The answer to a slash command; create it with one of the methods below. */
export class Response {
  readonly keys: Omit<CommandResponse, "type" | "id">;

  private constructor(keys: Omit<CommandResponse, "type" | "id">) {
    this.keys = keys;
  }

  /** Submit the text as a user message and run the agent. */
  static prompt(text: string): Response {
    return new Response({ action: "prompt", prompt: text });
  }

  /** Insert the text into the editor at the cursor. */
  static insert(text: string): Response {
    return new Response({ action: "insert", insert: text });
  }

  /** Show the text once; the model does not see it. */
  static display(text: string): Response {
    return new Response({ action: "display", display: text });
  }

  /** Open a panel; `onPanelKey` registers the handlers of its keys. */
  static openPanel(panel: Panel): Response {
    return new Response({ action: "open_panel", open_panel: panel });
  }

  /** Run a tool, then a turn with its result. */
  static toolPrompt(prompt: string, tool: string, args: object): Response {
    return new Response({ action: "tool_prompt", prompt, tool_name: tool, tool_args: args });
  }

  /** No further action. */
  static noop(): Response {
    return new Response({ action: "noop" });
  }

  /** Show an error. */
  static error(text: string): Response {
    return new Response({ action: "noop", error: text });
  }
}

/** The answer to a tool call: `content` for the model, `structured_content` for programs. */
export class ToolResult {
  readonly content: readonly ToolContent[];
  readonly is_error: boolean;
  readonly activate_tools: readonly string[];
  readonly structured_content: unknown;
  /** How users see the result. */
  readonly view: View | undefined;
  /** Kept in the session for renderers and the extension itself. */
  readonly details: object | undefined;
  /** Money spent elsewhere. */
  readonly usage: { cost_usd: number } | undefined;
  /** If every result of the message says so, the prompt ends without another model call. */
  readonly end_turn: boolean;

  constructor(parts: Partial<ToolResult> = {}) {
    this.content = parts.content ?? [];
    this.is_error = parts.is_error ?? false;
    this.activate_tools = parts.activate_tools ?? [];
    this.structured_content = parts.structured_content;
    this.view = parts.view;
    this.details = parts.details;
    this.usage = parts.usage;
    this.end_turn = parts.end_turn ?? false;
  }
}

/** A text block. */
export function text(words: string): ToolContent {
  return { type: "text", text: words };
}

/** An image block from base64 data. */
export function image(mimeType: string, data: string): ToolContent {
  return { type: "image", mime_type: mimeType, data };
}

/** An image block from bytes. */
export function imageBytes(mimeType: string, data: Uint8Array): ToolContent {
  return image(mimeType, Buffer.from(data).toString("base64"));
}

/** A result with one text block. */
export function textResult(words: string): ToolResult {
  return new ToolResult({ content: [text(words)] });
}

/** A failure; the model gets the text. */
export function textErrorResult(words: string): ToolResult {
  return new ToolResult({ content: [text(words)], is_error: true });
}

/** A result with one text block that is displayed as Markdown. */
export function markdownResult(words: string): ToolResult {
  return new ToolResult({ content: [{ type: "text", text: words, format: "markdown" }] });
}

/** Allows or blocks a tool call, or changes its arguments. `{}` allows it unchanged. */
export interface ToolCallDecision {
  block?: boolean;
  reason?: string;
  modified_args?: object;
}

/** Allows or blocks a model call. `{}` allows it. */
export interface TurnStartDecision {
  block?: boolean;
  reason?: string;
}

/** Allows or blocks a message, or replaces its text. `{}` allows it unchanged. */
export interface AssistantMessageDecision {
  block?: boolean;
  reason?: string;
  replace_text?: string;
}
