// Runs schemas through the converters of JavaScript clients: {name: schema} on standard input,
// {converter: {name: {schema} or {error}}} on standard output. Nothing is sent: requests are caught before they leave.

import { text } from "node:stream/consumers";

import { createGoogle } from "@ai-sdk/google";
import { discoverTools } from "@google/gemini-cli-core";
import { mcpToTool } from "@google/genai";
import { GoogleSchemaCompatLayer, jsonSchema } from "@mastra/schema-compat";
import { createGoogleGenerativeAI } from "ai-sdk-google-3";


const NAME = "tool";
const ANSWER = { candidates: [{ content: { role: "model", parts: [{ text: "" }] }, finishReason: "STOP" }] };

globalThis.fetch = () => {
  throw new Error("a converter wants the network");
};

/** What the AI SDK sends to Gemini for a tool. */
function aiSdk(create) {
  return async (inputSchema) => {
    let sent;
    const fetch = async (_url, request) => {
      sent = JSON.parse(request.body);
      return Response.json(ANSWER);
    };
    const { warnings } = await create({ apiKey: "none", fetch })("gemini-2.5-flash").doGenerate({
      prompt: [{ role: "user", content: [{ type: "text", text: "Go" }] }],
      tools: [{ type: "function", name: NAME, description: "A tool", inputSchema }],
    });
    if (warnings.length > 0) throw new Error(JSON.stringify(warnings));
    return declared(sent.tools[0].functionDeclarations[0]);
  };
}

/** An MCP client whose server has one tool. */
function clientOf(inputSchema) {
  return {
    getServerCapabilities: () => ({ tools: {} }),
    listTools: async () => ({ tools: [{ name: NAME, description: "A tool", inputSchema }] }),
  };
}

async function googleGenai(inputSchema) {
  const { functionDeclarations } = await mcpToTool(clientOf(inputSchema)).tool();
  return declared(functionDeclarations[0]);
}

async function geminiCli(inputSchema) {
  const told = [];
  const config = { emitMcpDiagnostic: (...diagnostic) => told.push(String(diagnostic[1])) };
  const tools = await discoverTools("server", {}, clientOf(inputSchema), config, {});
  if (told.length > 0) throw new Error(told.join("\n"));
  return declared(tools[0].schema);
}

async function mastra(inputSchema) {
  const model = { provider: "google", modelId: "gemini-2.5-flash", supportsStructuredOutputs: true };
  return new GoogleSchemaCompatLayer(model).processToJSONSchema(jsonSchema(inputSchema));
}

/** The schema of a declaration, null for one that leaves it out. */
function declared(declaration) {
  return declaration.parametersJsonSchema ?? declaration.parameters ?? null;
}

const CONVERTERS = {
  "@ai-sdk/google 4": aiSdk(createGoogle),
  "@ai-sdk/google 3": aiSdk(createGoogleGenerativeAI),
  "@google/genai": googleGenai,
  "@google/gemini-cli-core": geminiCli,
  "@mastra/schema-compat": mastra,
};

// Further clients of `python -m bench.schemas survival`. Neither package exports its conversion.
if (process.argv[2] === "all") {
  const dist = (path) => import(new URL(`node_modules/@langchain/${path}`, import.meta.url));
  const common = await dist("google-common/dist/utils/zod_to_gemini_parameters.js");
  const genai = await dist("google-genai/dist/utils/zod_to_genai_parameters.js");
  CONVERTERS["@langchain/google-common"] = (schema) => common.jsonSchemaToGeminiParameters(schema);
  CONVERTERS["@langchain/google-genai"] = (schema) => genai.jsonSchemaToGeminiParameters(schema);
}

const schemas = JSON.parse(await text(process.stdin));
const results = {};
for (const [converter, convert] of Object.entries(CONVERTERS)) {
  results[converter] = {};
  for (const [name, schema] of Object.entries(schemas)) {
    try {
      results[converter][name] = { schema: await convert(structuredClone(schema)) };
    } catch (error) {
      results[converter][name] = { error: `${error.name}: ${error.message}` };
    }
  }
}
process.stdout.write(JSON.stringify(results));
