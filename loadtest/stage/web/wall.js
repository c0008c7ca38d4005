// The wall, which a projector shows and the teacher's keys steer. The server sends events; the wall keeps a model of
// the round, and draws it.

import {
  attempt, byId, colourOf, complain, letters, listen, make, nameOf, namesOf, page, put, send, w, words,
} from "/page.js";

const calm = matchMedia("(prefers-reduced-motion: reduce)");

// ---- The model of a round, and what the events do to it ----

const kept = 400; // commands and orders that the wall remembers: a round may have thousands

let model = newModel({});
let people = { persons: 0, here: 0, voted: 0 };

function newModel(round) {
  return {
    round, phase: "ready", frozen: undefined, orders: new Map(), commands: new Map(), sales: new Map(), twice: [],
    holds: [], broken: [], refused: [], diffing: false,
    lock: { keys: [] }, faults: { a: [], b: [] }, step: { stepping: false }, verdict: undefined,
    last: 0, gaps: [],
  };
}

// These tell that something happens. A step that ends may have waited for an expiry, of which nothing is cut out.
const stirring = ["order", "cmd", "fault", "step", "refused", "broken"];

// Each function takes an event of its kind into the model.
const events = {
  round(e) {
    model = newModel(e.round);
    model.last = e.at;
    people = { ...people, voted: 0, turns: {}, first: null, second: null };
  },
  phase(e) {
    model.phase = e.phase;
    model.frozen = ["again", "judging", "verdict"].includes(e.phase) ? model.frozen ?? e.at : undefined;
    const ends = [...model.orders.values()].map((order) => order.done ?? 0); // some end only for the verdict
    if (e.phase === "verdict") model.frozen = Math.max(model.frozen, ...ends);
  },
  class(e) { people = { ...e, lan: e.lan || people.lan }; },
  order(e) {
    const order = Object.assign(model.orders.get(e.order) ?? {}, e);
    remember(model.orders, e.order, order);
    for (const id of e.commands ?? []) Object.assign(model.commands.get(id) ?? {}, { order });
    if (e.acquired !== undefined) claimHold(e);
    if (e.outcome === "sold") e.units.forEach((unit) => sell(unit, e.order));
  },
  cmd(e) {
    const known = model.commands.get(e.id) ?? {};
    remember(model.commands, e.id, Object.assign(known, e, { order: model.orders.get(e.order) ?? known.order }));
  },
  lock(e) {
    if (followHolds(e)) stir(e.at);
    model.lock = e;
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
  broken(e) { model.broken.push(e); },
  verdict(e) {
    model.verdict = e;
    const told = ({ letter }) => model.broken.some((before) => before.letter === letter);
    model.broken.push(...e.findings.filter((finding) => finding.result === "BROKEN" && !told(finding)));
  },
  trouble(e) { complain(e.error); },
};

function remember(map, key, value) {
  map.set(key, value);
  if (map.size > kept) map.delete(map.keys().next().value);
}

const sell = (unit, order) => model.sales.set(unit, [...new Set(model.sales.get(unit)).add(order)]);
const openOrders = () => [...model.orders.values()].filter((order) => order.state === "sent");

// A hold is the time in which the lock's key had one token: a lease. followHolds follows what Redis holds, and reports
// whether a hold began or ended. The nodes of Redlock hold one token, which is one lease.
function followHolds(e) {
  const before = model.holds.filter((hold) => hold.gone === undefined);
  const now = e.keys.map((key) => {
    const same = (hold) => hold.gone === undefined && hold.token === key.token && hold.instance === key.instance;
    let hold = model.holds.find(same);
    if (!hold) model.holds.push(hold = { ...key, from: key.since ?? e.at, fence: e.fence });
    hold.expires = key.ttl < 0 ? Infinity : e.at + key.ttl;
    hold.named = key.order;
    hold.order = key.order || hold.order || "";
    return hold;
  });
  const ended = before.filter((hold) => !now.includes(hold));
  for (const hold of ended) hold.gone = Math.min(e.at, hold.expires);
  model.holds.splice(0, model.holds.length - kept);
  return ended.length > 0 || now.some((hold) => !before.includes(hold));
}

// claimHold gives an order its hold. An order that is done knows when it got the lock.
function claimHold({ order, instance, acquired }) {
  const away = (hold) => Math.abs(hold.from - acquired);
  const near = model.holds.filter((hold) => hold.instance === instance && !hold.named && away(hold) < 300);
  near.sort((a, b) => away(a) - away(b));
  if (near.length > 0) near[0].order = order;
}

const ownerOf = (hold) => model.orders.get(hold?.order);

// ---- The clock: it stands still while nothing runs, so that the last picture stays for the class to read ----

const rest = 2000; // how long it goes on after the last event
let offset = 0; // of the server's time from ours

// idle reports whether nothing runs. In step mode time is the class's, and only a command moves the picture.
function idle() {
  const leased = model.holds.some((hold) => hold.gone === undefined && hold.expires !== Infinity);
  return model.step.stepping || (!leased && openOrders().length === 0);
}

// stir notes that something happened, and cuts the idle time before it out of the picture.
function stir(at) {
  if (idle() && at - model.last > rest + 500) model.gaps.push({ from: model.last + rest, to: at - 500 });
  model.last = Math.max(model.last, at);
}

const serverTime = () => model.frozen ?? performance.now() + offset;

function presentTime() {
  const now = idle() ? Math.min(serverTime(), model.last + rest) : serverTime();
  return calm.matches ? Math.floor(now / 1000) * 1000 : now;
}

// drawnTime is the time without the idle times before it.
const drawnTime = (at) =>
  model.gaps.reduce((left, gap) => left - Math.max(0, Math.min(at, gap.to) - gap.from), at);

// ---- The panels ----

const laneOf = (instance) => ({ a: "i0", b: "i1" })[instance] ?? "none";
const serverOf = ({ server }) => (server === "redis" ? "" : `${server}: `); // named if there are several

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
    byId("banner").hidden = !last || phase === "again"; // which asks before anybody is told
    byId("stamps").replaceChildren(...model.refused.slice(-2).map(({ order, own, newest }) => make("p", "held",
      w("stamp.refused", { person: nameOf(order), own, newest }))), ...model.broken
      .filter(({ letter }) => letter !== "S" || !last)
      .map((one) => make("p", "", make("b", "letter", one.letter), stampText(one))));
    page.dataset.phase = phase;
    page.classList.toggle("empty", people.persons === 0);
  },
  lesson() {
    const { situation = "", next, rung, own = [], diff = [], look, phones = "", lan, replay } = model.round;
    const told = model.phase === "verdict", lines = told ? diff : own; // the mend gives the answer away before
    put("situation", situation);
    page.classList.toggle("diffing", told && model.diffing);
    put("diff-head", told ? w("diff", { from: rung, to: next }) : w("own", { rung }));
    byId("code").replaceChildren(...lines.map(({ op, text }) =>
      make("span", told && { "+": "added", "-": "removed" }[op] || "", `${told ? op : ""} ${text}\n`)));
    fitCode();
    byId("do").replaceChildren(...(model.round.do ?? []).map((text) => make("li", "", text)));
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
    const { keys, ...facts } = model.lock;
    byId("keys").replaceChildren(...keys.length ? keys.map(keyRow) : [make("p", "free", w("lock.free"))]);
    const known = ["queue", "fence", "left"].filter((fact) => facts[fact]);
    put("line", known.map((fact) => w(`lock.${fact}`, facts)).join(" · "));
  },
  stream() {
    const sent = [...model.commands.values()].filter((cmd) => cmd.sent !== undefined); // by when, not by who came first
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
      put(`turns-${at}`, trace.length ? "" : w("turns", { votes: people.turns?.[at] ?? 0 })); // a trace has decided
    }
    const next = trace.find((step) => !step.done);
    byId("trace").replaceChildren(...trace.map((step) => (step === next
      ? make("li", "next", `▸ ${step.text}`)
      : make("li", "", (step.done ? "✓ " : "") + step.text))));
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

// stampText says how a verdict is broken, by the audit's own evidence.
function stampText({ letter, orders = [], unit }) {
  const [first, second] = orders.map(nameOf);
  return w(`stamp.${letter}`, { 0: first, 1: second, orders: namesOf(orders), unit });
}

// fitCode chooses the largest size at which all lines of code are in sight: 16 px at least, or nobody reads them.
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

// rail is a bar that is filled to a share of 1.
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

// keyRow shows a key of the lock. The server tells of it four times a second, so its TTL drains.
function keyRow(key) {
  const order = ownerOf(model.holds.findLast((h) => h.token === key.token && h.instance === key.instance));
  const ttl = key.ttl < 0 ? w("lock.forever") : w("seconds", { seconds: (key.ttl / 1000).toFixed(1) });
  return make("div", `key ${order ? colourOf(order.colour) : laneOf(key.instance)}`,
    make("b", "owner", order ? nameOf(order.order) : key.instance || w("lock.somebody")), make("span", "ttl", ttl),
    make("code", "", `${serverOf(key)}${key.key} = ${key.token}`),
    rail(key.ttl < 0 ? 1 : Math.min(1, key.ttl / model.round.lease)));
}

// proofOf puts a finding into words where the audit has no sentence of the language.
function proofOf({ letter, result, moments = [], ...evidence }) {
  const begun = Math.min(...[...model.orders.values()].map((order) => order.sent));
  const times = moments.filter(Number).map((at) => w("seconds", { seconds: ((at - begun) / 1000).toFixed(3) }));
  return result === "BROKEN" ? [stampText({ letter, ...evidence }), ...times].join(" · ") : "";
}

function findingRow(finding) {
  const { letter, verdict, result, because } = finding;
  const kind = { BROKEN: "broken", ok: "fine", unknown: "open" }[result] ?? "none";
  const votes = (vote) => {
    const count = people[vote]?.letters[letter];
    return make("td", "", ...count === undefined ? [] : [rail(count / Math.max(1, people.persons)), ` ${count}`]);
  };
  return make("tr", kind, make("td", "", make("b", "letter", letter), ` ${w(`verdict.${verdict}`)}`),
    make("td", "result", w(`result.${result}`)), votes("first"), votes("second"), make("td", "why", words.lang === "en"
      ? because : proofOf(finding)));
}

// ---- The lanes: what each instance did ----

// The lanes show a round from its first order to the end of its leases: so many ms at least and at most. A frozen
// picture shows all.
const least = 5000, most = 40000;

let view; // of the lanes, in the frame that is drawn
const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

function svg(tag, className, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries({ class: className, ...attributes })) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const path = (className, d) => svg("path", className, { d });
const group = (className, children) => svg("g", `order ${className}`, {}, ...children);
const cross = (x, y, r) => `M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`;

function drawLanes(now) {
  const { width, height: whole } = byId("lanes").getBoundingClientRect(), gutter = rem() * 1.8;
  if (width < 50 || whole < 50) return; // this phase does not show the lanes
  const height = (whole - 4) / 2, frozen = model.frozen !== undefined;
  const begins = [...model.orders.values(), ...model.faults.a, ...model.faults.b].map((one) => one.sent ?? one.from);
  const leases = model.holds.filter((hold) => hold.gone === undefined && hold.expires !== Infinity);
  const ends = frozen ? [] : leases.map((hold) => hold.expires);
  const over = Math.max(...[...model.orders.values()].map((order) => order.done ?? now)) + 300;
  const right = Math.max(frozen ? Math.min(now, over) : now, ...ends);
  const first = drawnTime(Math.min(now, ...begins)) - 200;
  const span = Math.max(drawnTime(right) - first, frozen ? 1000 : least), shown = frozen ? span : Math.min(span, most);
  const left = frozen ? first : Math.max(first, drawnTime(right) - shown);
  view = { now, gutter, left, scale: (width - gutter) / shown / 1.02, width, height, rem: rem() };
  view.nowX = xOf(now);
  const names = [], lanes = ["a", "b"].flatMap((instance, i) => {
    const y = i * (height + 4);
    names.push(svg("rect", "lane", { x: 0, y, width: gutter, height: height + 4 }), // nothing looks out between them
      svg("text", `lane-name i${i}`, { x: gutter / 2, y: y + height / 2 }, instance));
    return [svg("rect", "lane", { x: 0, y, width, height }), ...drawLane(instance, y)];
  });
  byId("scene").replaceChildren(...lanes, ...model.gaps.map((gap) => path("gap", `M${xOf(gap.from)} 0v${whole}`)),
    ...names, ...model.twice.map(drawTwice), ...frozen ? [] : [path("now", `M${view.nowX} 0v${whole}`)]);
}

const xOf = (at) => view.gutter + Math.max(-view.gutter - 9, (drawnTime(at) - view.left) * view.scale);

// drawTwice joins the writes that sold one unit.
function drawTwice({ orders }) {
  const writes = [...model.commands.values()].filter(({ role, ok, order, spot, sent }) =>
    role === "write" && ok && orders.includes(order?.order) && spot && sent <= view.now);
  writes.sort((one, other) => one.sent - other.sent);
  return path("joins", writes.map(({ spot: { x, y } }, i) => `${i ? "L" : "M"}${x} ${y}`).join(""));
}

// inSight reports whether something that ended then is still on the lanes.
const inSight = (end) => end === undefined || xOf(end) > 0;

// span draws from one time to another, or until now if the end is still to come.
function span(className, from, to, y, height) {
  const x = xOf(from), width = Math.max(2, xOf(Math.min(to ?? Infinity, view.now)) - x);
  return svg("rect", className, { x, y, width, height });
}

// stuckX keeps a text in sight as long as what it is about is.
const stuckX = (from, to = view.now) => Math.max(xOf(from), Math.min(view.gutter + 4, xOf(to)));

// drawLane draws an instance: a row of its own for what is not known to be an order's, and below it its orders.
function drawLane(instance, top) {
  const orders = [...model.orders.values()].filter((o) => o.instance === instance && inSight(o.done));
  const rows = placeRows(orders);
  const own = Math.min(view.rem * 1.4, view.height / 5), row = { top: top + 2, height: own - 4 };
  const height = Math.min(view.rem * 4, (view.height - own) / Math.max(rows, 2));
  const holds = model.holds.filter((hold) => hold.instance === instance && inSight(hold.gone));
  const nobodys = holds.filter((hold) => !ownerOf(hold)).flatMap((hold) => drawHold(hold, undefined, row));
  const drawn = orders.map((order) =>
    drawOrder(order, holds.filter((hold) => ownerOf(hold) === order), top + own + order.row * height, height));
  const commands = [...model.commands.values()].filter((cmd) =>
    cmd.instance === instance && cmd.sent <= view.now && inSight(cmd.done));
  const marks = commands.map((cmd) => drawCommand(cmd, cmd.order?.bar ?? row));
  return [...model.faults[instance].flatMap((fault) => drawFault(fault, top)),
    group(laneOf(instance), nobodys), ...drawn, group(laneOf(instance), marks),
    ...model.faults[instance].filter(({ state }) => state === "dead").map(({ from }) =>
      path("cross", cross(xOf(from), top + view.height / 2, view.rem)))];
}

// placeRows gives each order the first row that is free at its time, and returns the number of rows.
function placeRows(orders) {
  const free = [];
  for (const order of orders) {
    if (order.row === undefined) {
      const found = free.findIndex((from) => !(from > order.sent));
      order.row = found < 0 ? free.length : found;
    }
    free[order.row] = (order.done ?? Infinity) + 2500; // its label needs room
  }
  return free.length;
}

function drawOrder(order, holds, top, height) {
  const tall = height > 20, { sent, done, acquired, released } = order;
  const bar = order.bar = tall ? { top: top + height * 0.46, height: height * 0.48 } : { top, height };
  if (acquired !== undefined && holds.length === 0) {
    holds = [{ from: acquired, gone: released ?? done, expires: Infinity }];
  }
  const twice = model.twice.some((t) => t.orders.includes(order.order)) ? "twice" : "";
  const outcome = order.outcome ? w(`outcome.${order.outcome}`, { units: (order.units ?? []).join(", ") }) : "";
  // A label stands above a high bar. A low one has none: the stock names the buyers.
  const size = Math.max(18, view.rem), x = stuckX(sent, done), late = x > view.width * 0.8;
  const label = svg("text", `label ${twice}`, { y: top + height * 0.4, x: late ? view.width - 4 : x,
    "text-anchor": late ? "end" : "start", "font-size": size }, `${nameOf(order.order)} ${outcome}`);
  return group(colourOf(order.colour), [span("wait", sent, done, bar.top + bar.height / 2, 1.5),
    ...holds.flatMap((hold) => drawHold(hold, order, bar)),
    ...theftsOf(order).map((at) => path("stolen", cross(xOf(at), bar.top + bar.height / 2, bar.height * 0.7))),
    ...height < size * 1.6 ? [] : [label]]);
}

// theftsOf returns when others removed the lock of an order. It may have been too short for a hold to be seen.
const theftsOf = (order) => model.broken.filter(({ letter, orders }) => letter === "R" && orders[1] === order?.order)
  .map(({ moments }) => moments[0]);

// drawHold draws a lease until it was given back or its time was over. From there on it is pale: the order only
// believes that it holds the lock.
function drawHold(hold, order, { top, height }) {
  const ended = Math.min(hold.gone ?? Infinity, hold.expires);
  // The order knows better than a look now and then when it gave the lock back, unless that had to wait at a wire.
  const released = order?.lost || ended - order?.released > 300 ? Infinity : order?.released ?? Infinity;
  const end = Math.min(ended, released), x = xOf(end), own = end === released || ended < hold.expires;
  const open = order?.state === "sent", bar = svg("g", "", {}, span("bar", hold.from, end, top, height));
  if (hold.fence && height > 14) { // the number of the lease, which the stock compares, between its read and its write
    const x = (xOf(hold.from) + xOf(Math.min(end, view.now))) / 2, y = top + height * 0.9;
    bar.append(svg("text", "fence", { x, y, "font-size": Math.max(18, height) }, hold.fence.slice(1)));
  }
  if (end === Infinity) return [bar];
  if (end > view.now) return [bar, svg("rect", "maybe", { x: view.nowX, y: top, width: x - view.nowX, height })];
  const stolen = theftsOf(order).some((at) => Math.abs(at - hold.gone) < 1000);
  if (!stolen && (open ? hold.expires > view.now : own && !order?.lost)) {
    return [bar, path("end", `M${x} ${top - 2}v${height + 4}`)];
  }
  return [bar, span("believes", end, open ? undefined : order.released ?? order.done, top, height),
    path("over", `M${x} ${top - 3}v${height + 6}`)];
}

// drawCommand draws a command by the form of its role, as the load test's report does.
function drawCommand(cmd, { top, height }) {
  const x = xOf(cmd.done ?? cmd.sent), y = top + height / 2, r = Math.min(view.rem * 0.42, height * 0.6);
  cmd.spot = { x, y };
  const diamond = `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`, failed = cmd.ok ? "" : " failed";
  if (cmd.state !== "done") return path("unsure", diamond);
  switch (cmd.role) {
    case "read": return svg("circle", "read", { cx: x, cy: y, r: r * 0.8 });
    case "write": return cmd.refused ? path("refused", diamond + cross(x, y, r)) : path("write", diamond);
    case "renew": return path(`renew${failed}`, `M${x} ${y + r}l${-r} ${-2 * r}h${2 * r}z`);
    case "release": return path(`end${failed}`, `M${x} ${top - 2}v${height + 4}`);
    case "acquire": return path(`try${failed}`, `M${x} ${y - r}v${2 * r}`);
    default: return "";
  }
}

function drawFault({ from, to, state }, top) {
  if (!inSight(to)) return [];
  const { height, rem: size } = view, thin = state === "slow";
  const className = { slow: "fault", cut: "cut" }[state] ?? "stopped";
  return [span(className, from, to, thin ? top + height - 8 : top + 2, thin ? 8 : height - 4),
    svg("text", "faulttext", { x: stuckX(from, to), y: top + height - 10, "font-size": size }, w(`fault.${state}`))];
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
  diff: "D", help: "?", round: "1–9", turn: "← →",
};
const faults = ["pause", "kill", "cut", "slow"]; // Shift brings them to b
const sensible = {
  ready: ["vote", "next", "empty"],
  vote: ["start", "reset", "empty"],
  buy: ["anna", "bert", "all", ...faults, "continue", "step", "flow", "again", "reset"],
  again: ["verdict", "reset"],
  judging: ["reset"],
  verdict: ["diff", "reset", "next"],
};

// offered reports whether the round has a use for a button.
function offered(name) {
  const { buttons = [] } = model.round;
  if (name === "continue") return faults.some((fault) => buttons.includes(fault));
  if (name === "flow") return model.step.stepping;
  if (name === "diff") return Boolean(model.round.next);
  return buttons.includes(name) || !["anna", "bert", "all", "step", ...faults].includes(name);
}

// showControls is only called when they change, because it takes the focus away.
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

// What the page does by itself.
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

// JSON leaves out an instance that is undefined.
const command = (name, shift) => order({ do: name, at: shift ? "b" : faults.includes(name) ? "a" : undefined });
const order = (body) => send("/do", body);

// actionOf returns what a key does, if anything.
function actionOf({ key, shiftKey }) {
  if (model.round.replay) return key === " " ? () => command("next") : undefined;
  if (/^[1-9]$/.test(key)) return () => order({ do: "round", round: Number(key) });
  const at = { ArrowLeft: "a", ArrowRight: "b" }[key];
  if (at) return () => order({ do: "step", at });
  const name = Object.keys(keys).find((name) => keys[name] === (key.length === 1 ? key.toUpperCase() : key));
  return name && (() => (own[name] ?? command)(name, shiftKey));
}

function pressed(e) {
  const onButton = e.key === "Enter" && e.target.closest("button"); // which Enter presses
  if (e.ctrlKey || e.altKey || e.metaKey || onButton || e.target.closest("select")) return;
  const action = actionOf(e);
  if (!action) return;
  e.preventDefault(); // the Space bar must not press the focused button as well
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
    if (message.events.some(({ kind }) => ["round", "phase", "step"].includes(kind))) showControls();
    if (message.events.length > 0) show();
  });
  // After a click Enter is the verdict's key again.
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
  setInterval(show, 5000); // the hint comes after a minute
}

startWall();
