// A server with two tools. With the argument `portable`, one import makes them portable.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { portable } from "toolmason-schema/mcp";
import { z } from "zod";

const server = new McpServer({ name: "pages", version: "1.0.0" });
const inputSchema = { query: z.string(), page: z.number().int().min(1).nullable().optional() };
server.registerTool("find", { description: "Find pages", inputSchema }, ({ query, page }) => ({
  content: [{ type: "text", text: `${query} ${page}` }],
}));
const shape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("circle"), radius: z.number() }),
  z.object({ kind: z.literal("square"), side: z.number() }),
]);
server.registerTool("shape", { description: "Draw", inputSchema: { shape } }, () => ({ content: [] }));

const transport = new StdioServerTransport();
await server.connect(process.argv[2] === "portable" ? portable(transport) : transport);
