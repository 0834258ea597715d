// What handlers give back: a command's Response, a tool's ToolResult and an interceptor's decision.

import type { CommandResponse, Content, Panel } from "./frames.js";

/** One block of a tool result. */
export type ToolContent = Content;

/** The answer to a slash command; made by one of the methods below. */
export class Response {
  readonly keys: Omit<CommandResponse, "type" | "id">;

  private constructor(keys: Omit<CommandResponse, "type" | "id">) {
    this.keys = keys;
  }

  /** Submit the text as a user message and run the agent. */
  static prompt(text: string): Response {
    return new Response({ action: "prompt", prompt: text });
  }

  /** Put the text into the editor, at the cursor. */
  static insert(text: string): Response {
    return new Response({ action: "insert", insert: text });
  }

  /** Show the text once; the model does not see it. */
  static display(text: string): Response {
    return new Response({ action: "display", display: text });
  }

  /** Open a panel; its keys come to the handlers given to onPanelKey. */
  static openPanel(panel: Panel): Response {
    return new Response({ action: "open_panel", open_panel: panel });
  }

  /** Run a tool, then a turn that sees its result. */
  static toolPrompt(prompt: string, tool: string, args: object): Response {
    return new Response({ action: "tool_prompt", prompt, tool_name: tool, tool_args: args });
  }

  /** Nothing more to do. */
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

  constructor(parts: Partial<ToolResult> = {}) {
    this.content = parts.content ?? [];
    this.is_error = parts.is_error ?? false;
    this.activate_tools = parts.activate_tools ?? [];
    this.structured_content = parts.structured_content;
  }
}

/** A block of text. */
export function text(words: string): ToolContent {
  return { type: "text", text: words };
}

/** A block with an image whose data already is base64. */
export function image(mimeType: string, data: string): ToolContent {
  return { type: "image", mime_type: mimeType, data };
}

/** A block with an image. */
export function imageBytes(mimeType: string, data: Uint8Array): ToolContent {
  return image(mimeType, Buffer.from(data).toString("base64"));
}

/** A result of one block of text. */
export function textResult(words: string): ToolResult {
  return new ToolResult({ content: [text(words)] });
}

/** A failure; the model reads the words. */
export function textErrorResult(words: string): ToolResult {
  return new ToolResult({ content: [text(words)], is_error: true });
}

/** A result of one block that screens draw as markdown. */
export function markdownResult(words: string): ToolResult {
  return new ToolResult({ content: [{ type: "text", text: words, format: "markdown" }] });
}

/** May this tool run, and with which arguments? `{}` allows and changes nothing. */
export interface ToolCallDecision {
  block?: boolean;
  reason?: string;
  modified_args?: object;
}

/** May the model be asked? `{}` allows. */
export interface TurnStartDecision {
  block?: boolean;
  reason?: string;
}

/** May the user see this message, and in which words? `{}` allows and changes nothing. */
export interface AssistantMessageDecision {
  block?: boolean;
  reason?: string;
  replace_text?: string;
}
