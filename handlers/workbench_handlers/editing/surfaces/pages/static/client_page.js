"use strict";
// The review page inside of a client with MCP Apps: the client is `window.parent`, and passes on the requests of the page.

const PROTOCOL = "2026-01-26";
const ARM_MS = 700;
const waiting = new Map();
let lastId = 0;

function post(message) {
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    post({ id, method, params });
  });
}

function show(text) {
  document.getElementById("waiting").textContent = text;
}

window.addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== window.parent || message?.jsonrpc !== "2.0") return;
  if (!message.method) {
    const open = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) open?.reject(new Error(String(message.error.message)));
    else open?.resolve(message.result);
  } else if (message.method === "ui/notifications/tool-result") start(message.params);
  else if (message.method === "ui/notifications/tool-cancelled") show("The call was cancelled.");
  else if (message.method === "ui/notifications/host-context-changed") theme(message.params);
  else if (message.id !== undefined) post({ id: message.id, result: {} });
});

// Only a person decides: events that a script makes are dropped, and so are those in the moment after the page appears,
// which were meant for another part of the client.
let armedAt = Infinity;
for (const kind of ["click", "keydown", "submit", "change"]) {
  window.addEventListener(kind, (event) => {
    if (event.isTrusted && performance.now() >= armedAt) return;
    event.stopImmediatePropagation();
    event.preventDefault();
  }, true);
}

function theme(context) {
  if (context?.theme) document.documentElement.style.colorScheme = context.theme;
}

let started = false;
async function start(result) {
  const page = result?._meta?.["toolmason/page"];
  if (started) return;
  if (!page) return show("This call has no review to decide.");
  started = true;
  const call = async (more) => {
    const answer = await request("tools/call", {
      name: page.action,
      arguments: { review: page.review, token: page.token, ...more },
    });
    if (answer.isError) return { error: answer.content?.[0]?.text ?? "The server refused the request." };
    return answer.structuredContent ?? JSON.parse(answer.content[0].text);
  };
  const send = async (decision) => {
    try {
      const answer = await call(decision ? { decision } : {});
      if (decision && !answer.error && !answer.open) tell(answer);
      return answer;
    } catch (error) {
      return { error: `The client did not pass on the request: ${error.message}` };
    }
  };
  window.reviewClient = { send, pollMs: 5000 };
  let first;
  try {
    first = await call({ first: true });
  } catch (error) {
    return show(`The client did not pass on the request: ${error.message}`);
  }
  if (first.error) return show(first.error);
  document.body.innerHTML = first.html;
  document.title = first.title;
  startReview();
  armedAt = performance.now() + ARM_MS;
  resize();
}

/** Tell the model that the person has decided. The text is fixed, so the reviewed file cannot speak through it. */
function tell(answer) {
  if (!host.updateModelContext) return;
  const text = `The user has decided the review ${answer.review}. Call review_status to get the decision.`;
  request("ui/update-model-context", { content: [{ type: "text", text }] }).catch(() => {});
}

function resize() {
  const { scrollWidth: width, scrollHeight: height } = document.documentElement;
  post({ method: "ui/notifications/size-changed", params: { width, height: Math.min(height, 900) } });
}

let host = {};
request("ui/initialize", {
  protocolVersion: PROTOCOL,
  appInfo: { name: "review", version: "1" },
  appCapabilities: {},
}).then((answer) => {
  host = answer?.hostCapabilities ?? {};
  theme(answer?.hostContext);
  post({ method: "ui/notifications/initialized", params: {} });
}, (error) => show(`The client does not show this page: ${error.message}`));
