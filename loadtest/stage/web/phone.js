// The phone shows its person's state from the server, and sends votes, turns and orders.

import { attempt, byId, colourOf, letters, listen, make, nameOf, namesOf, page, put, send, w, words } from "/page.js";

let code = location.pathname.slice(1).toUpperCase();
let id; // of this person: kept in storage, not in the URL, so that a copied URL joins as another person
let state = {}, chosen = new Set(), amount = "", reopen;

function startPhone() {
  byId("letters").addEventListener("click", ({ target }) => target.value && choose(target.value));
  byId("amounts").addEventListener("click", ({ target }) => target.value && showChoice(amount = target.value));
  byId("sides").addEventListener("click", ({ target }) => target.value && say("/turn", { at: target.value }));
  byId("join").addEventListener("submit", (e) => {
    e.preventDefault();
    code = byId("code").value.trim().toUpperCase();
    join();
  });
  byId("send").addEventListener("click", () => {
    say("/vote", { letters: letters.filter((letter) => chosen.has(letter)).join(""), twice: amount });
  });
  byId("buy").addEventListener("click", () => {
    byId("buy").disabled = true;
    // The server takes a tap once, however often it is sent. Without TLS there is no randomUUID.
    say("/buy", { tap: crypto.getRandomValues(new Uint32Array(3)).join("-") });
  });
  byId("seen").addEventListener("click", () => { byId("flash").hidden = true; });
  id = attempt(() => localStorage.getItem("stage")) || window.name; // which survives a reload without storage
  if (id) follow();
  else if (/^[A-Z]{4}$/.test(code)) join();
}

const say = (path, body) => send(path, { id, ...body }, 4);

async function join() {
  const answer = await send("/join", { code, id }, 4);
  if (!answer?.ok) {
    if (answer) code = ""; // or follow would retry it for ever, and lock out those who share the address
    page.dataset.phase = "join";
    return;
  }
  ({ id } = await answer.json());
  attempt(() => localStorage.setItem("stage", id));
  window.name = id;
  history.replaceState(null, "", `/${code}`);
  follow();
}

function follow() {
  if (reopen) return reopen();
  const address = () => `/me?id=${encodeURIComponent(id)}`;
  reopen = listen(address, showState, async () => {
    const stop = new AbortController(), { status } = await fetch(address(), { signal: stop.signal });
    stop.abort();
    if (status === 404 && code) join(); // the place was given away, or the class was emptied
  });
  // After sleep the stream may be dead without an error.
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && reopen());
  addEventListener("pageshow", (e) => e.persisted && reopen());
}

function choose(letter) {
  if (letter === "none" || chosen.has("none")) chosen = new Set(chosen.has(letter) ? [] : [letter]);
  else if (!chosen.delete(letter)) chosen.add(letter);
  showChoice();
}

function showChoice() {
  press("letters", (letter) => chosen.has(letter));
  press("amounts", (many) => many === amount);
  const said = letters.filter((letter) => chosen.has(letter)).join(""), { voted, vote } = state;
  const sent = Boolean(voted) && said === vote.letters && amount === vote.twice;
  byId("send").disabled = sent || !amount || chosen.size === 0;
  byId("send").classList.toggle("sent", sent);
  put("send", w(sent ? "phone.sent" : voted ? "phone.change" : "phone.send"));
}

function press(box, isPressed) {
  for (const button of byId(box).children) button.setAttribute("aria-pressed", isPressed(button.value));
}

function showState(now) {
  const { phase, round, voted, votes, here } = now, asked = phase === "vote" || phase === "again";
  if (phase !== state.phase || round.number !== state.round.number) {
    // A page that is opened during a vote starts with the vote already sent.
    chosen = new Set(voted ? now.vote.letters || ["none"] : []);
    amount = voted ? now.vote.twice : "";
  }
  flash(now.twice ?? [], state.twice ?? []);
  state = now;
  page.dataset.phase = phase;
  put("me", nameOf(now.person));
  byId("me").className = colourOf(now.colour);
  put("points", w("phone.points", now));
  put("round", `${w("number", round)} ${round.title}`);
  put("question", phase === "again" ? w("saw") : round.question);
  put("twice-head", w(phase === "again" ? "phone.twice.seen" : "phone.twice"));
  put("phase", voted && asked ? w("voted", { voted: votes, here }) : w(`phone.phase.${phase}`));
  showChoice();
  byId("turn").hidden = !now.turn;
  press("sides", (at) => at === now.myturn);
  byId("shop").hidden = !now.buyers;
  byId("buy").disabled = !now.buying;
  put("buy", w("phone.buy", now));
  byId("receipts").replaceChildren(...(now.orders ?? []).map(({ outcome = "none", units = [] }) => {
    const double = phase !== "again" && now.twice?.find(({ unit }) => units.includes(unit)); // red, even if seen
    return double ? make("li", "double", w("phone.double", double))
      : make("li", outcome, w(`phone.outcome.${outcome}`, { units: units.join(", ") }));
  }));
  page.classList.toggle("told", phase !== "again" && Boolean(now.twice?.length));
  const [broke, unknown = ""] = now.verdict.split("?").map((some) => [...some].join(" "));
  const said = [broke && w("phone.broke", { letters: broke }), unknown && w("phone.unknown", { letters: unknown })];
  put("judged", phase === "verdict" ? said.filter(Boolean).join(" · ") || w("phone.held") : "");
  const { right, said: mine } = now, expected = mine ? [...mine.letters].join(" ") || w("phone.none") : "";
  const how = right?.points === right?.of ? "right" : right?.points ? "partly" : "wrong";
  put("right", phase === "verdict" && right ? w(`phone.${how}`, { ...right, expected }) : "");
}

// flash shows a unit that was also sold to others, once.
function flash(twice, told) {
  const news = twice.find((t) => !told.some((u) => u.unit === t.unit && u.times === t.times));
  if (twice.length === 0) byId("flash").hidden = true;
  if (!news) return;
  put("flash-unit", `${news.unit}`);
  put("flash-words", w("phone.flash", { ...news, others: namesOf(news.with) }));
  byId("flash").hidden = false;
}

startPhone();
