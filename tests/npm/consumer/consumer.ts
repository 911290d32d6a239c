import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ListToolsRequestSchema, type Tool } from "@modelcontextprotocol/sdk/types.js";
import { advertise, check, project, report, targets, type Finding, type Projection, type Target } from "toolmason-schema";
import { portable, portableTools } from "toolmason-schema/mcp";

const tools: Tool[] = [{ name: "find", inputSchema: { type: "object", properties: {} } }];
const low = new Server({ name: "low", version: "1" }, { capabilities: { tools: {} } });
low.setRequestHandler(ListToolsRequestSchema, () => ({ tools: portableTools(tools) }));

const transport: StdioServerTransport = portable(new StdioServerTransport());
await new McpServer({ name: "high", version: "1" }).connect(transport);

const projection: Projection = project(tools[0].inputSchema, "openai-strict", { rename: false });
const losses: readonly Finding[] = [...projection.findings, ...check({}, "groq")].filter((finding) => finding.lossy);
const target: Target = targets[0];
const text: string = report({ find: tools[0].inputSchema }, target);
const type: "object" = advertise(true, { rename: true }).schema.type;
console.log(losses.map((finding) => finding.severity === "refused"), text, type);

// @ts-expect-error  an unknown target
project({}, "nonsense");
