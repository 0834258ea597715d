// An extension that uses every verb of the SDK from plain Node; its twins in the other languages answer the same.

import {
  Extension,
  Response,
  ToolResult,
  imageBytes,
  markdownResult,
  text,
  textErrorResult,
} from "zot-ext";

const ANY = { type: "object" };
const ext = new Extension("everything", "1.2.3", { guard: true });
const boom = () => {
  throw new Error("boom");
};

ext.onHello(() => {
  ext.command(`hello-${ext.host.provider}`, "made in on_hello", () => Response.noop());
});

ext.command("show", "shows", (args) => Response.display(args));
ext.command("ask", "asks", async (args) => Response.prompt(args));
ext.command("put", "inserts", (args) => Response.insert(args));
ext.command("panel", "opens a panel", () =>
  Response.openPanel({ id: "p", title: "T", lines: ["a", "b"], footer: "f" }),
);
ext.command("toolprompt", "", () => Response.toolPrompt("and push", "skill", { name: "x" }));
ext.command("nothing", "", () => undefined);
ext.command("fail", "", (args) => Response.error(`failed: ${args}`));
ext.command("crash", "", boom);
ext.command("say", "", (args) => {
  ext.notify("info", args);
  ext.clearNotes();
  ext.openPanel({ id: "free", title: "Title", lines: ["x"], footer: "foot" });
  ext.renderPanel({ id: "free", lines: ["y"] });
  ext.closePanel("free");
  ext.submit("typed");
  ext.submitSlash("/help");
});
ext.command("where", "", () => `${ext.host.provider} ${ext.host.model} ${ext.host.cwd} ${ext.host.data_dir}`);
ext.command("print", "", (args) => {
  console.log("stray output");
  ext.log("logged", args);
});
ext.command("more", "", () => {
  ext.command("fresh", "late", () => Response.noop());
});

const echo = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
ext.tool("echo", "Echoes.", echo, (args) => args.text ?? "nothing");
ext.tool("picture", "Shows.", ANY, () => [text("look"), imageBytes("image/png", Buffer.from("hello"))]);
ext.tool(
  "data",
  "Counts.",
  ANY,
  () => new ToolResult({ content: [text("one")], activate_tools: ["later"], structured_content: { n: 1 } }),
);
ext.tool("later", "Waits.", ANY, (_args, context) => `key ${context.operationKey}`, {
  output_schema: ANY,
  namespace: "ns",
  namespace_description: "nd",
  namespace_instructions: "ni",
  exposure: "deferred",
  deferred: true,
  interactive: true,
  replay: "reconcile",
});
ext.reconciler(
  "later",
  (_args, context) =>
    new ToolResult({ content: [text(context.operationKey)], structured_content: { state: "completed" } }),
);
ext.tool("broken", "Crashes.", ANY, boom);
ext.tool("wrong", "Fails.", ANY, () => textErrorResult("no"));
ext.tool("md", "Formats.", ANY, () => markdownResult("*a*"));
ext.tool("slow", "Waits to be cancelled.", ANY, async (_args, { signal }) => {
  ext.notify("info", "slow started");
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  ext.notify("info", "slow stopped");
  return "late";
});
ext.tool("nested", "Calls back.", ANY, async () => {
  const called = await ext.callTool("hosted", { a: 1 });
  return `${called.content[0].text} ${called.name}`;
});

ext.on("turn_start", (event) => ext.notify("info", `turn ${event.step}`));
ext.on("session_end", boom);
ext.on("tool_result", (event) => ext.notify("success", `${event.tool_name} ${event.result.content[0].text}`));

ext.interceptToolCall(() => [true, ""]);
ext.interceptToolCallX((tool, args) => {
  if (tool === "rm") return { block: true, reason: `no rm ${args.path ?? ""}` };
  if (tool === "ls") return { modified_args: { command: "echo" } };
  if (tool === "crash") boom();
  return tool === "none" ? undefined : {};
});
ext.interceptTurnStart((step) => {
  if (step === 9) boom();
  return step === 3 ? { block: true, reason: "enough" } : {};
});
ext.interceptAssistantMessage(async (words) => {
  if (words === "crash") boom();
  if (words === "SECRET") return { replace_text: "[redacted]" };
  return words === "hide" ? { block: true, reason: "hidden" } : {};
});
ext.interceptBeforeAgentStart((asked) => {
  if (asked.system_prompt === "crash") boom();
  if (asked.system_prompt === "keep") return undefined;
  return asked.system_prompt === "drop" ? "" : `${asked.system_prompt}!`;
});

ext.onPanelKey(
  "p",
  (key, words) => ext.renderPanel({ id: "p", lines: [key + words] }),
  () => ext.notify("info", "closed"),
);

await ext.run();
