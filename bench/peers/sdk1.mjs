// The low-level server of the TypeScript SDK 1: `node sdk1.mjs TABLE` serves over stdio.
import { readFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const tools = JSON.parse(readFileSync(process.argv[2], "utf8"));
async function call({ params }) {
  const text = params.name === "large" ? "x".repeat(params.arguments.size) : "done";
  return { content: [{ type: "text", text }] };
}

const server = new Server({ name: "synthetic", version: "0.1.0" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools }));
server.setRequestHandler(CallToolRequestSchema, call);
await server.connect(new StdioServerTransport());
