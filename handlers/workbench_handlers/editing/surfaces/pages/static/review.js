"use strict";

const POLL_MS = 2000;
const UNREACHABLE = "The server of this page does not answer.";
const element = (id) => document.getElementById(id);
const main = document.querySelector("main");
const nav = document.querySelector("nav");
const { base, id } = main.dataset;
const changes = [...document.querySelectorAll(id ? ".change" : ".reviews a")];
let position = -1;

function say(text, isError = false) {
  element("status").textContent = text;
  element("status").classList.toggle("error", isError);
}

function isOpen() {
  return main.dataset.open === "yes";
}

/** An open form hides the other decisions, so that no key discards the text in it. */
function canDecide() {
  return isOpen() && !nav.hidden;
}

function move(step) {
  if (!changes.length) return;
  position = Math.min(Math.max(position + step, 0), changes.length - 1);
  changes[position].focus({ preventScroll: true });
  changes[position].scrollIntoView({ block: "center" });
}

// Choice of changes

const boxes = [...document.querySelectorAll("input[data-change]")];
const boxesOf = (file) => boxes.filter((box) => box.dataset.file === file);

function showChoice() {
  for (const box of boxes) box.closest(".change").classList.toggle("left-out", !box.checked);
  for (const whole of document.querySelectorAll("input.file")) {
    const own = boxesOf(whole.dataset.file);
    whole.checked = own.some((box) => box.checked);
    whole.indeterminate = whole.checked && !own.every((box) => box.checked);
  }
  const chosen = boxes.filter((box) => box.checked).length;
  const label = chosen === boxes.length ? "Approve " : `Approve ${chosen} of ${boxes.length} `;
  document.querySelector("nav [data-key=a]").firstChild.textContent = label;
}

function toggle() {
  const box = document.activeElement.closest(".change")?.querySelector("input[data-change]");
  if (!box || !canDecide()) return;
  box.checked = !box.checked;
  showChoice();
}

function approve() {
  if (boxes.every((box) => box.checked)) return decide({ action: "approve" });
  if (!boxes.some((box) => box.checked)) return say("No change is chosen. Reject the proposal instead.", true);
  const chosen = [...document.querySelectorAll("section.diff")].map((_, file) =>
    boxesOf(String(file)).filter((box) => box.checked).map((box) => Number(box.dataset.change)));
  return decide({ action: "approve", chosen });
}

// Forms

function showForm(name) {
  for (const form of document.forms) form.hidden = form.id !== name;
  nav.hidden = Boolean(name);
  // The focus leaves a hidden form only with the next frame, and a key may come before it.
  document.activeElement.blur();
  if (!name) return;
  const form = element(name);
  form.querySelector("textarea").focus({ preventScroll: true });
  form.scrollIntoView({ block: "end" });
}

async function decide(decision) {
  if (!isOpen()) return;
  setButtons(false);
  const answer = await post(decision);
  if (answer.error) {
    setButtons(true);
    say(answer.error, true);
    return;
  }
  showForm("");
  update(answer);
  (element("next").hidden ? element("status") : element("next")).focus();
}

async function post(decision) {
  if (window.reviewClient) return window.reviewClient.send(decision);
  try {
    const response = await fetch(location.pathname, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(decision),
    });
    const isJson = response.headers.get("Content-Type") === "application/json";
    return isJson ? await response.json() : { error: await response.text() };
  } catch {
    return { error: UNREACHABLE };
  }
}

function sendForm(form) {
  const area = form.querySelector("textarea");
  const texts = [...form.querySelectorAll("textarea[data-file]")];
  if (texts.length > 1 && texts.some((each) => each.value !== each.defaultValue)) {
    decide({ action: "edit", texts: Object.fromEntries(texts.map((each) => [each.dataset.file, each.value])) });
  } else if (form.id === "comment" && area.value.trim()) decide({ action: "comment", comment: area.value });
  else if (form.id === "edit" && area.value !== area.defaultValue) decide({ action: "edit", text: area.value });
  else say(form.id === "edit" ? "The text was not changed. Approve it instead." : "The comment is empty.", true);
}

// State

function setButtons(isEnabled) {
  for (const button of document.querySelectorAll("nav button:not([title]), form button[type=submit], main input")) {
    button.disabled = !isEnabled;
  }
}

function update(state) {
  if (!id) {
    if (state.pending.join(" ") !== main.dataset.pending) location.reload();
    return;
  }
  element("pending").textContent = state.pending.length;
  if (state.open) return;
  // Polling repeats the same text, which a screen reader would read again.
  if (element("status").textContent !== state.text) say(state.text);
  main.dataset.open = "no";
  setButtons(false);
  const next = element("next");
  next.hidden = !state.next;
  if (state.next) {
    next.href = state.next.url;
    next.textContent = `Next review: ${state.next.name} (n)`;
  }
}

async function poll() {
  if (window.reviewClient) {
    const state = await window.reviewClient.send(null);
    if (state.error) say(state.error, true);
    else update(state);
    if (isOpen()) setTimeout(poll, window.reviewClient.pollMs);
    return;
  }
  try {
    const response = await fetch(`${base}state${id ? `?id=${id}` : ""}`);
    if (element("status").textContent === UNREACHABLE) say("");
    if (response.ok) update(await response.json());
    else say(await response.text(), true);
  } catch {
    say(UNREACHABLE, true);
  }
  setTimeout(poll, POLL_MS);
}

// Keys and buttons share their actions.

const actions = {
  j: () => move(1),
  k: () => move(-1),
  x: toggle,
  a: () => canDecide() && approve(),
  r: () => canDecide() && decide({ action: "reject" }),
  c: () => canDecide() && showForm("comment"),
  e: () => canDecide() && !document.querySelector("nav [data-key=e]").disabled && showForm("edit"),
  n: () => element("next").hidden || element("next").click(),
  "?": () => element("help").showModal(),
  Escape: () => (element("help").open ? element("help").close() : showForm("")),
};
if (!id) for (const key of Object.keys(actions)) if (!"jk".includes(key)) delete actions[key];

document.addEventListener("keydown", (event) => {
  const form = event.target.closest("form");
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) sendForm(form);
  else if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  else if (event.key !== "Escape" && (form || element("help")?.open)) return;
  else if (!Object.hasOwn(actions, event.key)) return;
  else actions[event.key]();
  event.preventDefault();
});
for (const button of document.querySelectorAll("button[data-key]")) {
  button.addEventListener("click", () => actions[button.dataset.key]());
}
for (const form of document.forms) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sendForm(form);
  });
}
for (const box of document.querySelectorAll("section input, h2 input")) {
  box.addEventListener("change", () => {
    if (box.matches(".file")) for (const own of boxesOf(box.dataset.file)) own.checked = box.checked;
    showChoice();
  });
}
if (boxes.length) showChoice(); // a browser may restore the boxes of an earlier visit
if (id && !isOpen()) setButtons(false);
poll();
