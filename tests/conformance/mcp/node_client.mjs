// The client of the official TypeScript SDK against `zot mcp serve`: lists tools, gives a task, answers a question.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [place, token] = process.argv.slice(2);
const client = new Client({ name: "node", version: "1" }, { capabilities: { elicitation: { form: {} } } });
const asked = [];
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { decision: "allow" } };
});
const headers = token ? { Authorization: `Bearer ${token}` } : {};
const transport = place.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(place), { requestInit: { headers } })
  : new StdioClientTransport({ command: place.split("\n")[0], args: place.split("\n").slice(1), env: process.env });
await client.connect(transport);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const steps = [];
const request = { name: "prompt", arguments: { text: "touch it" } };
const answer = await client.callTool(request, undefined, { onprogress: (each) => steps.push(each.message) });
const aborted = new AbortController();
const options = { signal: aborted.signal };
setTimeout(() => aborted.abort("enough"), 300);
let cancelled = false;
await client.callTool({ name: "prompt", arguments: { text: "again" } }, undefined, options).catch(() => (cancelled = true));
const sessions = (await client.callTool({ name: "sessions_list", arguments: {} })).structuredContent.total;
await client.close();
console.log(JSON.stringify({ tools, steps, asked, answer: answer.structuredContent, cancelled, sessions }));
