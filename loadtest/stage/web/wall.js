// The wall is shown by a projector and controlled by the teacher's keys. The server sends events; the wall keeps a
// model of the round, and draws it. The lanes are drawn by timeline.js.

import {
  attempt, byId, colourOf, complain, letters, listen, make, nameOf, namesOf, page, put, send, w, words,
} from "/page.js";

const calm = matchMedia("(prefers-reduced-motion: reduce)");

// ---- The model of a round, and the events that change it ----

const kept = 400; // the maximum number of commands, and of orders, in the model: a round may have thousands

const noDrawing = {
  lanes: ["a", "b"].map((name, colour) => ({ kind: "instance", name, colour })), first: {}, orders: [], tenures: [],
  commands: [], faults: [], violations: [],
};

let model = newModel({});
let people = { persons: 0, here: 0, voted: 0 };

function newModel(round) {
  return {
    round, phase: "ready", frozen: undefined, orders: new Map(), commands: new Map(), sales: new Map(), twice: [],
    drawing: noDrawing, begins: 0, broken: [], refused: [], diffing: false,
    lock: { keys: [] }, faults: { a: [], b: [] }, step: { stepping: false }, verdict: undefined,
    last: 0, gaps: [], astray: undefined, mend: undefined,
  };
}

// These events end an idle time. A step may have waited for an expiry, which must not be cut out.
const stirring = ["order", "cmd", "fault", "step", "refused", "broken"];

// Each function applies an event of its kind to the model.
const events = {
  round(e) {
    model = newModel(e.round);
    model.last = e.at;
    people = { ...people, voted: 0, turns: {}, first: null, second: null };
  },
  phase(e) {
    model.phase = e.phase;
    model.frozen = ["again", "judging", "verdict"].includes(e.phase) ? model.frozen ?? e.at : undefined;
    const ends = [...model.orders.values()].map((order) => order.done ?? 0); // some end only after the freeze
    if (e.phase === "verdict") model.frozen = Math.max(model.frozen, ...ends);
  },
  class(e) { people = { ...e, lan: e.lan || people.lan }; },
  order(e) {
    const order = Object.assign(model.orders.get(e.order) ?? {}, e);
    remember(model.orders, e.order, order);
    if (e.outcome === "sold") e.units.forEach((unit) => sell(unit, e.order));
  },
  cmd(e) { remember(model.commands, e.id, Object.assign(model.commands.get(e.id) ?? {}, e)); },
  lock(e) {
    const held = ({ keys }) => keys.map(({ server, key, token }) => `${server} ${key} ${token}`).join();
    if (held(e) !== held(model.lock)) stir(e.at);
    model.lock = e;
  },
  drawing(e) {
    model.drawing = unpackDrawing(e.drawing);
    model.begins = e.begins;
    for (const command of model.drawing.commands) {
      if (command.kind === "read" && /^\d+$/.test(command.reply)) command.says = w("reads", { left: command.reply });
    }
  },
  fault(e) {
    const faults = model.faults[e.instance];
    for (const fault of faults) fault.to ??= e.at;
    if (e.state !== "up") faults.push({ from: e.at, state: e.state });
  },
  step(e) { model.step = e; },
  twice(e) {
    model.twice = [...model.twice.filter((t) => t.unit !== e.unit), e];
    e.orders.forEach((order) => sell(e.unit, order));
  },
  refused(e) { model.refused.push(e); },
  broken(e) { stamp(e); },
  verdict(e) {
    model.verdict = e;
    e.findings.filter(({ result }) => result === "BROKEN").forEach(stamp);
  },
  astray(e) { model.astray = e; },
  room({ phones }) { model.round = { ...model.round, phones }; },
  mend(e) { model.mend = { ...e, drawing: e.drawing && unpackDrawing(e.drawing) }; },
  trouble(e) { complain(e.error); },
};

function remember(map, key, value) {
  map.set(key, value);
  if (map.size > kept) map.delete(map.keys().next().value);
}

// stamp adds a broken verdict, unless the wall shows its letter already.
function stamp(finding) {
  if (!model.broken.some(({ letter }) => letter === finding.letter)) model.broken.push(finding);
}

const sell = (unit, order) => model.sales.set(unit, [...new Set(model.sales.get(unit)).add(order)]);
const openOrders = () => [...model.orders.values()].filter((order) => order.state === "sent");

// ---- The clock: it stops while nothing runs, so that the class can read the last picture ----

const rest = 2000; // how long it keeps running after the last event
let offset = 0; // from our clock to the server's

// idle returns whether nothing runs. In step mode only commands move the picture.
function idle() {
  const leased = model.lock.keys.some(({ ttl }) => ttl >= 0);
  return model.step.stepping || (!leased && openOrders().length === 0);
}

// stir records activity, and cuts the preceding idle time out of the picture.
function stir(at) {
  if (idle() && at - model.last > rest + 500) model.gaps.push({ from: model.last + rest, to: at - 500 });
  model.last = Math.max(model.last, at);
}

const serverTime = () => model.frozen ?? performance.now() + offset;

function presentTime() {
  const now = idle() ? Math.min(serverTime(), model.last + rest) : serverTime();
  return calm.matches ? Math.floor(now / 1000) * 1000 : now;
}

// drawnTime returns a time minus the idle times before it.
const drawnTime = (at) =>
  model.gaps.reduce((left, gap) => left - Math.max(0, Math.min(at, gap.to) - gap.from), at);

// ---- The panels ----

const laneOf = (instance) => ({ a: "i0", b: "i1" })[instance] ?? "none";
const serverOf = ({ server }) => (server === "redis" ? "" : `${server}: `); // shown if there are several

const panels = {
  head() {
    const { round, phase, twice } = model, asks = phase === "vote" || phase === "again", last = twice.at(-1);
    put("number", w("number", round));
    put("title", round.title ?? "");
    put("phase", w(`phase.${phase}`));
    put("count", w("here", people));
    put("question", phase === "again" ? w("saw") : round.question ?? "");
    put("voted", asks ? w("voted", people) : "");
    byId("tally").replaceChildren(...people.first ? tally(people.first) : []);
    const { orders = [], unit } = last ?? {}, names = orders.length <= 3 ? namesOf(orders) : "";
    const values = { unit, names, times: orders.length, count: twice.length, left: model.lock.left ?? "?" };
    put("banner", last ? w(`twice${twice.length > 1 ? ".more" : names ? "" : ".many"}`, values) : "");
    byId("banner").hidden = !last || phase === "again"; // nothing may influence the second vote
    byId("stamps").replaceChildren(...model.refused.slice(-2).map(({ order, own, newest }) => make("p", "held",
      w("stamp.refused", { person: nameOf(order), own, newest }))), ...model.broken
      .filter(({ letter }) => letter !== "S" || !last)
      .map((one) => make("p", "", make("b", "letter", one.letter), stampText(one))));
    const { sign, what, after } = model.astray ?? {};
    put("astray", sign ? `${w(`astray.${sign}`, { what: what || w("none"), after })} ${w("astray.anew")}` : "");
    byId("astray").hidden = !sign || phase === "again";
    page.dataset.phase = phase;
    page.classList.toggle("empty", people.persons === 0);
  },
  lesson() {
    const { situation = "", next, rung, own = [], diff = [], look, phones = "", lan, replay } = model.round;
    const told = model.phase === "verdict", lines = told ? diff : own; // earlier the fix would give the answer away
    put("situation", situation);
    page.classList.toggle("diffing", told && model.diffing);
    page.classList.toggle("mended", told && Boolean(model.mend));
    put("diff-head", told ? w(next ? "diff" : "code", { from: rung, to: next }) : w("own", { rung }));
    byId("code").replaceChildren(...lines.map(({ op, text }) =>
      make("span", told && { "+": "added", "-": "removed" }[op] || "", `${told ? op : ""} ${text}\n`)));
    fitCode();
    byId("do").replaceChildren(...(model.round.do ?? []).map((text) =>
      make("li", "", text.replace(/^Space:/, `${words["key. "]}:`))));
    put("look", look ? w("look", { look }) : "");
    if (byId("address").textContent !== phones) byId("qr").src = `/qr.svg?${phones}`; // a new code
    put("address", phones);
    byId("phones").hidden = !phones || Boolean(replay);
    byId("hint").hidden = !lan || people.lan || performance.now() < 60000;
  },
  stock() {
    const { stock = 0 } = model.round, lowest = Math.min(stock + 1, ...model.sales.keys());
    const shown = Math.min(stock, Math.ceil((stock - lowest + 3) / 10) * 10); // the rest is a bar
    const units = Array.from({ length: shown }, (_, i) => stock - i), rest = stock - shown;
    byId("stock").replaceChildren(...units.map((unit) => unitCell(unit, model.sales.get(unit) ?? [])),
      ...rest ? [make("li", "rest", w("stock.rest", { rest }))] : []);
  },
  lock() {
    const { keys, ...facts } = model.lock, free = model.round.locked ? [make("p", "free", w("lock.free"))] : [];
    byId("keys").replaceChildren(...keys.length ? keys.map(keyRow) : free);
    const known = ["queue", "fence", "left"].filter((fact) => facts[fact]);
    put("line", known.map((fact) => w(`lock.${fact}`, facts)).join(" · "));
  },
  stream() {
    const sent = [...model.commands.values()].filter((cmd) => cmd.sent !== undefined); // sorted by when they were sent
    const last = sent.sort((one, other) => other.sent - one.sent || other.id - one.id).slice(0, 9);
    byId("stream").replaceChildren(...last.map((cmd) => make("li", laneOf(cmd.instance), make("b", "who", cmd.instance),
      make("code", "", serverOf(cmd) + cmd.text), cmd.refused ? make("strong", "", w("refused")) : cmd.reply ?? "…")));
  },
  steps() {
    const { stepping, trace = [] } = model.step;
    byId("steps").hidden = !stepping;
    page.classList.toggle("stepping", stepping);
    for (const at of ["a", "b"]) {
      const waits = [...model.commands.values()].find((cmd) => cmd.state === "waiting" && cmd.instance === at);
      put(`next-${at}`, waits?.text ?? w("wants.nothing"));
      put(`turns-${at}`, trace.length ? "" : w("turns", { votes: people.turns?.[at] ?? 0 })); // a trace decides
    }
    const next = trace.find((step) => !step.done);
    byId("trace").replaceChildren(...trace.map((step) => {
      const text = words[`step.${step.text}`] ?? step.text; // an instance, unless time passes
      return step === next ? make("li", "next", `▸ ${text}`) : make("li", "", (step.done ? "✓ " : "") + text);
    }));
  },
  judged() {
    const { findings = [], best = [] } = model.verdict ?? {}, scored = best.filter(({ points }) => points > 0);
    const head = ["letter", "result", "before", "after", "because"].map((key) => make("th", "", w(`judged.${key}`)));
    const guesses = ["first", "second"].filter((vote) => people[vote]?.twice).map((vote) =>
      make("span", "guess", w(`judged.${vote}`, people[vote].twice)));
    byId("judged").hidden = !model.verdict;
    byId("judged").replaceChildren(make("table", "", make("tr", "", ...head), ...findings.map(findingRow)),
      make("p", "", w("judged.sold", { ...model.verdict, left: model.verdict?.left ?? "?" }), ...guesses),
      make("ol", "best", make("li", "best-head", w("best")), ...scored.map(({ person, colour, points }) =>
        make("li", colourOf(colour), make("b", "", nameOf(person)), ` ${w("points", { points })}`))));
  },
};

// stampText returns the text for a broken verdict, from the audit's evidence.
function stampText({ letter, orders = [], unit }) {
  const [first, second] = orders.map(nameOf);
  return w(`stamp.${letter}`, { 0: first, 1: second, orders: namesOf(orders), unit });
}

// fitCode chooses the largest font size at which all lines of code are in view, at least 16 px.
function fitCode() {
  const code = byId("code");
  for (let size = Math.round(rem() * 1.15); size >= 16; size--) {
    code.style.fontSize = `${size}px`;
    if (code.scrollHeight <= code.clientHeight) return;
  }
}

function unitCell(unit, buyers) {
  const sold = ["", `sold ${colourOf(model.orders.get(buyers[0])?.colour)}`][buyers.length] ?? "double";
  const names = buyers.length > 2 ? [`× ${buyers.length}`] : buyers.map(nameOf);
  return make("li", `unit ${sold}`, make("span", "unit-number", unit),
    ...names.map((name) => make("span", "buyer", name)));
}

// rail returns a bar that is filled to a share, from 0 to 1.
function rail(share) {
  const fill = make("i", "");
  fill.style.setProperty("--share", share);
  return make("span", "rail", fill);
}

function tally({ letters: votes, twice }) {
  const bar = (label, count = 0) =>
    make("span", "votes", make("b", "", label), rail(count / Math.max(1, people.persons)), count);
  return [w("predicted"), ...letters.map((letter) => bar(letter, votes[letter])), bar(w("none"), votes.none),
    w("amounts"), ...["0", "1", "more"].map((amount) => bar(w(`amount.${amount}`), twice?.[amount]))];
}

// keyRow returns the row of a lock's key. The server sends it four times a second, so its TTL visibly runs down.
function keyRow(key) {
  const order = model.orders.get(key.order);
  const ttl = key.ttl < 0 ? w("lock.forever") : w("seconds", { seconds: (key.ttl / 1000).toFixed(1) });
  return make("div", `key ${order ? colourOf(order.colour) : laneOf(key.instance)}`,
    make("b", "owner", order ? nameOf(order.order) : key.instance || w("lock.somebody")), make("span", "ttl", ttl),
    make("code", "", `${serverOf(key)}${key.key} = ${key.token}`),
    rail(key.ttl < 0 ? 1 : Math.min(1, key.ttl / model.round.lease)));
}

// proofOf returns the text of a finding: its orders and times, with fewer digits than the audit's.
function proofOf({ letter, result, moments = [], ...evidence }) {
  const begun = Math.min(...[...model.orders.values()].map((order) => order.sent));
  const times = moments.filter(Number).map((at) => w("seconds", { seconds: ((at - begun) / 1000).toFixed(3) }));
  return result === "BROKEN" ? [stampText({ letter, ...evidence }), ...times].join(" · ") : "";
}

function findingRow(finding) {
  const { letter, verdict, result } = finding;
  const kind = { BROKEN: "broken", ok: "fine", unknown: "open" }[result] ?? "none";
  const votes = (vote) => {
    const count = people[vote]?.letters[letter];
    return make("td", "", ...count === undefined ? [] : [rail(count / Math.max(1, people.persons)), ` ${count}`]);
  };
  return make("tr", kind, make("td", "", make("b", "letter", letter), ` ${w(`verdict.${verdict}`)}`),
    make("td", "result", w(`result.${result}`)), votes("first"), votes("second"), make("td", "why", proofOf(finding)));
}

// ---- The lanes ----

// The lanes show a round from its first order to the expiry of its leases. These bound the time that is shown and the
// time ahead, in ms: a lease of a minute would move the commands out of view. A frozen picture shows all.
const least = 5000, most = 40000, ahead = 10000;

const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

function drawLanes(now) {
  const { width, height } = byId("lanes").getBoundingClientRect(), frozen = model.frozen !== undefined;
  if (width < 50 || height < 50) return; // hidden in this phase
  const begins = [...model.orders.values(), ...model.faults.a, ...model.faults.b].map((one) => one.sent ?? one.from);
  const leased = frozen ? [] : model.lock.keys.filter(({ ttl }) => ttl >= 0);
  const ends = leased.map(({ ttl }) => Math.min(model.lock.at + ttl, now + ahead));
  const over = Math.max(...[...model.orders.values()].map((order) => order.done ?? now)) + 300;
  const right = Math.max(frozen ? Math.min(now, over) : now, ...ends);
  const first = drawnTime(Math.min(now, ...begins)) - 200;
  const span = Math.max(drawnTime(right) - first, frozen ? 1000 : least), shown = frozen ? span : Math.min(span, most);
  const left = frozen ? first : Math.max(first, drawnTime(right) - shown);
  const inCell = (at) => at - model.begins; // the times of a drawing count from there
  // The overlaps must not influence the second vote.
  const shows = (v) => model.phase !== "again" || v.letter === "S";
  const faults = ["a", "b"].flatMap((instance, lane) => model.faults[instance].map(({ from, to, state }) => ({
    lane, order: -1, from: inCell(from), to: to === undefined ? null : inCell(to), text: w(`fault.${state}`),
    kind: { stopped: "stop", dead: "kill" }[state] ?? state,
  })));
  const violations = model.drawing.violations.filter(shows), { mend } = model, mended = mend?.drawing;
  const heads = mend ? [laneHead(model.round.rung, model.verdict?.findings), laneHead(mend.rung, mend.findings)] : [];
  const half = mend ? height / 2 - heads.length * rem() : height;
  const accused = violations.flatMap((v) => v.orders ?? []); // in a crowd others have thin bars
  const drawn = drawTimeline({ ...model.drawing, faults, violations }, {
    orders: [...new Set([...accused, ...model.drawing.first?.orders ?? []])], width, height: half, from: inCell(realTime(left)), to: inCell(realTime(left + shown * 1.02)), now: inCell(now),
    gaps: model.gaps.map(({ from, to }) => ({ from: inCell(from), to: inCell(to) })),
    ...lanesLook(), says: ({ id }) => saysOf(model.orders.get(id), now),
    colour: (order) => colourOf(model.orders.get(order.id)?.colour),
  });
  drawn.setAttribute("aria-label", w("lanes"));
  drawn.classList.toggle("sold-twice", violations[0]?.letter === "S");
  const below = mended ? [drawMend(mended, width, half)] : [];
  byId("lanes").replaceChildren(...mend ? [heads[0], drawn, heads[1], ...below] : [drawn]);
}

// lanesLook returns the options that the lanes of a round and of its fix share.
const lanesLook = () => ({
  size: Math.max(18, rem()), gutter: rem() * 1.8, lanes: ({ kind }) => kind === "instance", name: ({ id }) => nameOf(id),
  words: { holds: w("bar.holds"), believes: w("bar.believes"), believesShort: w("bar.shorter"), late: w("bar.late"),
    waits: w("bar.waits"), more: w("bar.more"), ending: "", fence: "{fence}" },
});

// laneHead returns the heading of lanes: the rung, and what broke on it; it still plays if there are no findings.
function laneHead(rung, findings) {
  const of = (result) => (findings ?? []).filter((one) => one.result === result).map(({ letter }) => letter).join(" ");
  const broken = of("BROKEN"), unknown = of("unknown");
  const right = findings?.some(({ letter, result }) => letter === "S" && result === "ok"); // not: not known to be wrong
  const how = !findings ? "plays" : broken ? (right ? "safe" : "broke") : unknown ? "open" : "held";
  const more = broken && unknown ? ` · ${w("phone.unknown", { letters: unknown })}` : "";
  return make("p", `lane-head ${how}`, w(`mend.${how}`, { rung, broken, unknown }) + more);
}

// drawMend draws the lanes of the fix.
function drawMend(drawing, width, height) {
  const said = { stop: "stopped", kill: "dead" }; // the texts of faults are in English
  const faults = drawing.faults.map(({ text, ...fault }) => ({ ...fault, order: -1, kind: fault.kind || "slow",
    text: w(`fault.${said[fault.kind] ?? (text.startsWith("at work") ? "slow" : "held")}`) }));
  const { from, to } = drawing.first;
  return drawTimeline({ ...drawing, faults }, {
    width, height, from, to, ...lanesLook(), colour: ({ id }) => id,
    says: ({ outcome, units }) => w(`outcome.${outcome}`, { units: (units ?? []).join(", ") }),
  });
}

// realTime is the inverse of drawnTime.
const realTime = (drawn) => model.gaps.reduce((at, gap) => (at > gap.from ? at + gap.to - gap.from : at), drawn);

// saysOf returns the state or outcome of an order.
function saysOf({ outcome, units, done } = {}, now) {
  return outcome && done <= now ? w(`outcome.${outcome}`, { units: (units ?? []).join(", ") }) : "";
}

// ---- The frames: at most 20 a second, and none while nothing moves ----

let changed = false, framed = false;

function show() {
  changed = true;
  schedule(50);
}

function schedule(ms) {
  if (!framed) setTimeout(() => requestAnimationFrame(frame), ms);
  framed = true;
}

function frame() {
  framed = false;
  if (changed) Object.values(panels).forEach(attempt);
  changed = false;
  attempt(() => drawLanes(presentTime()));
  const still = model.frozen !== undefined || (idle() && serverTime() > model.last + rest);
  if (!still) schedule(calm.matches ? 250 : 50);
}

// ---- The teacher's controls ----

const keys = {
  pause: "P", kill: "K", cut: "X", slow: "S", continue: "C", vote: "V", start: "V", anna: "A", bert: "B", all: "E",
  step: " ", flow: "Escape", again: "W", verdict: "Enter", reset: "R", next: "N", empty: "Delete",
  mend: "M", diff: "D", address: "Q", help: "?", round: "1–9", turn: "← →",
};
const faults = ["pause", "kill", "cut", "slow"]; // with Shift at b
const sensible = {
  ready: ["vote", "next", "address", "empty"],
  vote: ["start", "reset", "empty"],
  buy: ["anna", "bert", "all", ...faults, "continue", "step", "flow", "again", "reset"],
  again: ["verdict", "reset"],
  judging: ["reset"],
  verdict: ["mend", "diff", "reset", "next"],
};

// offered returns whether the round has a use for a button.
function offered(name) {
  const { buttons = [] } = model.round;
  if (name === "continue") return faults.some((fault) => buttons.includes(fault));
  if (name === "flow") return model.step.stepping;
  if (name === "diff") return model.round.diff?.length > 0;
  if (name === "mend") return Boolean(model.round.mend) && !model.mend;
  if (name === "address") return model.round.addresses > 1;
  return buttons.includes(name) || !["anna", "bert", "all", "step", ...faults].includes(name);
}

// showControls is called only when they change, because it moves the focus.
function showControls() {
  const { titles = [], number, replay = false } = model.round;
  const names = replay ? ["next"] : sensible[model.phase].filter(offered);
  const hint = names.some((name) => faults.includes(name)) ? [make("span", "", w("shift"))] : [];
  byId("controls").replaceChildren(...names.map((name) => control(name, replay ? " " : keys[name])), ...hint);
  byId("menu").replaceChildren(...titles.map((title, i) => new Option(`${i + 1}. ${title}`, i + 1)));
  byId("menu").value = number;
  byId("menu").hidden = replay;
}

function control(name, key) {
  const text = w(name === "step" && model.step.stepping ? "do.step.next" : `do.${name}`);
  const button = make("button", "", text, make("kbd", "", words[`key.${key}`] ?? key));
  button.addEventListener("click", (e) => (own[name] ?? command)(name, e.shiftKey));
  return button;
}

// Keys that change only the page.
const own = {
  diff() {
    model.diffing = !model.diffing && offered("diff");
    show();
  },
  help() {
    const all = Object.entries(keys).map(([name, key]) => `${words[`key.${key}`] ?? key}: ${w(`do.${name}`)}`);
    byId("help").replaceChildren(...[...all, w("shift")].map((text) => make("li", "", text)));
    byId("help").hidden = !byId("help").hidden;
  },
};

// JSON omits an undefined instance.
const command = (name, shift) => order({ do: name, at: shift ? "b" : faults.includes(name) ? "a" : undefined });
const order = (body) => send("/do", body);

// actionOf returns the action of a key, if it has one.
function actionOf({ key, shiftKey }) {
  if (model.round.replay) return key === " " ? () => command("next") : undefined;
  if (/^[1-9]$/.test(key)) return () => order({ do: "round", round: Number(key) });
  const at = { ArrowLeft: "a", ArrowRight: "b" }[key];
  if (at) return () => order({ do: "step", at });
  const name = Object.keys(keys).find((name) => keys[name] === (key.length === 1 ? key.toUpperCase() : key));
  return name && (() => (own[name] ?? command)(name, shiftKey));
}

function pressed(e) {
  const onButton = e.key === "Enter" && e.target.closest("button"); // Enter presses it
  if (e.ctrlKey || e.altKey || e.metaKey || onButton || e.target.closest("select")) return;
  const action = actionOf(e);
  if (!action) return;
  e.preventDefault(); // Space must not also press the focused button
  if (e.type === "keydown" && !e.repeat) action();
}

function startWall() {
  const reopen = listen(() => "/events", (message) => {
    offset = message.now - performance.now();
    if (message.fresh) model = newModel(model.round);
    for (const event of message.events) {
      if (stirring.includes(event.kind)) stir(event.at);
      attempt(() => events[event.kind]?.(event));
    }
    if (message.events.some(({ kind }) => ["round", "phase", "step", "mend"].includes(kind))) showControls();
    if (message.events.length > 0) show();
  });
  // After a click Enter is the key of the verdict again.
  document.addEventListener("click", (e) => e.detail > 0 && e.target.closest("button")?.blur());
  document.addEventListener("keydown", pressed);
  document.addEventListener("keyup", pressed);
  for (const at of ["a", "b"]) byId(`step-${at}`).addEventListener("click", () => order({ do: "step", at }));
  byId("menu").addEventListener("change", () => {
    byId("menu").blur();
    order({ do: "round", round: Number(byId("menu").value) });
  });
  addEventListener("resize", show);
  addEventListener("pageshow", (e) => e.persisted && reopen());
  setInterval(show, 5000); // the hint appears after a minute
}

startWall();
