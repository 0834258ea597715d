// A tool that lets a sub-agent read: it answers a question about the code without filling the conversation.

import { Extension, line } from "./zot-ext/index.ts";

const READING = ["read", "glob", "grep"];
const ext = new Extension("scout", "1.0.0");

ext.tool(
  "scout",
  "Ask a sub-agent about the code. It reads on its own and answers in a few sentences with file names.",
  { question: "string" },
  async ({ question }, ctx) => {
    const rows: string[] = [];
    const answer = await ctx.runAgent(question, {
      system: "You answer one question about the code in the working directory. Read what you need; name files and lines.",
      tools: READING,
      max_steps: 15,
      onProgress: ({ data }) => {
        if (!data?.tool_name) return;
        rows.push(`${data.step}. ${data.tool_name}`);
        ctx.progress(rows.at(-1) ?? "", { view: { lines: rows.slice(-5) } });
      },
    });
    const cost = answer["usage"].cost_usd as number;
    const title = line(`${answer["steps"]} steps, `, [`$${cost.toFixed(4)}`, "muted"]);
    return ctx.result(answer["text"] || `no answer: ${answer["status"]}`, {
      is_error: answer["status"] === "failed",
      view: { title, lines: rows.slice(-3), expanded: rows },
    });
  },
  { timeoutS: 600, parallel: true },
);

await ext.run();
