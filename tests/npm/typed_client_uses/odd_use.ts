import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

import { OddServerClient } from "./odd/index.js";
import type { params } from "./odd/index.js";

const client = await OddServerClient.stdio();
const args = JSON.parse((await client.import({ from: "a", self: "b" })).text);
const union = await client.unionResult();
const tree = await client.treeResult();
await client.close();

const server = new McpServer({ name: "other", version: "1.0.0" });
const shape = { "content-type": z.string(), $top: z.number() };
server.registerTool("http", { inputSchema: shape }, async (given) => ({
  content: [{ type: "text", text: JSON.stringify(given) }],
}));
server.registerTool("plain_result", {}, async () => ({ content: [], structuredContent: { count: "many" } }));
const other = await OddServerClient.inProcess(server);
const sent = JSON.parse((await other.http_({ "content-type": "x", $top: 1 })).text);
const mismatch = await other.plainResult().catch((error) => [error.name, error.tool]);
await other.close();
const noServer = await OddServerClient.stdio({ command: ["no-such-program"] }).catch((error) => error.name);

const json: params.Json = [{ a: ["b"] }];
// @ts-expect-error a circle has a radius
const circle: params.VariantsArguments = { shape: { kind: "circle" } };
void [json, circle];

console.log(
  JSON.stringify({
    args,
    union: union.status === "failed" ? union.reason : union.value,
    tree: tree.children?.[0]?.name,
    in_process: sent,
    mismatch,
    no_server: noServer,
  }),
);
