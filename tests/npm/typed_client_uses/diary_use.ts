import { DiaryClient, ClientError, RequestError, ToolError } from "./diary/index.js";
import type { Progress, params, results } from "./diary/index.js";

const facts = JSON.parse(process.env["FACTS"] ?? "{}");
const questions: string[] = [];
const options = {
  onQuestion: (question: { message: string }) => {
    questions.push(question.message);
    return { sure: true };
  },
};
const client = facts.url
  ? await DiaryClient.http(facts.url, { headers: facts.headers, ...options })
  : await DiaryClient.stdio({ command: facts.command, ...options });

async function caught(work: Promise<unknown>): Promise<Error> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("no error");
}

const found: results.FoundNotes = await client.findNotes({ text: "bread", moods: ["urgent"] });
const note = found.notes[0];
const place: params.Place = { city: "Rome", "altitude-m": 5 };
const added = await client.addNote({ text: "x", place });
const old = await client.oldNotes();
const missing = await caught(client.findNotes({ text: "nothing" }));
const wrong = await caught(client.findNotes({ text: "x", limit: 0 }));
const unknown = await caught(client.callTool("find_note"));
const progress: unknown[] = [];
const onProgress = (each: Progress) => progress.push([each.progress, each.total, each.message]);
const cleaned = await client.cleanUp({}, { onProgress });
const timeout = await caught(client.cleanUp({ seconds: 60 }, { timeoutMs: 200 }));
const aborted = await caught(client.cleanUp({ seconds: 60 }, { signal: AbortSignal.timeout(200) }).catch((error) => {
  throw error.name === "TimeoutError" ? new DOMException("", "AbortError") : error;
}));
const after = (await client.oldNotes()).text.length > 0;
await client.close();

// @ts-expect-error an argument that is required
const noText: params.FindNotesArguments = {};
// @ts-expect-error a value that is not a choice
const angry: params.FindNotesArguments = { text: "x", moods: ["angry"] };
// @ts-expect-error a field that the result does not have
found.notez;
void [noText, angry];

console.log(
  JSON.stringify({
    found: [note?.id, note?.class, note?.place?.city],
    added: added.place,
    old: old.text,
    missing: missing instanceof ToolError && [missing.name, missing.tool, missing.code, missing.hint],
    wrong: wrong instanceof ToolError && [wrong.code, wrong.call],
    unknown: unknown instanceof RequestError && [unknown.name, unknown.code],
    questions: questions.slice(0, 1),
    progress,
    cleaned: cleaned.text,
    timeout: timeout instanceof ClientError && timeout.name,
    aborted: aborted.name,
    after,
  }),
);
