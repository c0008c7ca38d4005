// The two pages of the stage: the wall, which a projector shows and the teacher's keys steer, and the phone. The server
// sends events; a page keeps a model of the round and draws it. All texts are set as textContent, so that no name and
// no Redis command is ever markup.

// ---- Both pages ----

const byId = (id) => document.getElementById(id);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// The letters that a class votes on, in the order of the load test's verdicts.
const letters = ["S", "E", "R", "L"];

const words = await loadWords();

async function loadWords() {
  for (;;) {
    try {
      return await (await fetch("/words.json")).json();
    } catch {
      await sleep(2000);
    }
  }
}

// w returns a visible text, with values in place of its {names}.
function w(key, values = {}) {
  return (words[key] ?? key).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
}

// nameOf returns what the class calls an order or a person: fox, or fox-2 for the second order of the fox.
function nameOf(order) {
  const [person, ...rest] = order.split("-");
  return [words[`animal.${person}`] ?? person, ...rest].join("-");
}

function namesOf(orders) {
  return new Intl.ListFormat(words.lang).format(orders.map(nameOf));
}

// colourOf returns the class of a person's colour. Anna and Bert are of the house, and have no number.
function colourOf(colour) {
  return { "-1": "anna", "-2": "bert" }[colour] ?? `p${colour}`;
}

function make(tag, className = "", text = "", ...children) {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  made.append(...children);
  return made;
}

// put sets a text only if it differs, so that a screen reader is not told twice.
function put(id, text) {
  const at = byId(id);
  if (at.textContent !== text) at.textContent = text;
}

function translatePage() {
  document.documentElement.lang = words.lang;
  document.title = w(`title.${document.body.dataset.page}`);
  for (const at of document.querySelectorAll("[data-word]")) at.textContent = w(at.dataset.word);
  for (const at of document.querySelectorAll("[data-label]")) at.setAttribute("aria-label", w(at.dataset.label));
  for (const at of document.querySelectorAll("[data-alt]")) at.alt = w(at.dataset.alt);
}

function showLink(on) {
  byId("link").className = on ? "on" : "off";
  put("link", w(on ? "link.on" : "link.off"));
}

async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
}

// complain shows an error for some seconds.
function complain(text) {
  const box = byId("error");
  put("error", text);
  box.hidden = false;
  clearTimeout(complain.timer);
  complain.timer = setTimeout(() => { box.hidden = true; }, 6000);
}

// A Feed reads a stream of server-sent events for ever. It uses fetch and not EventSource, because it has to know the
// status of a refusal. A stream that is silent for 12 s is dead: the server sends a heartbeat each 5 s.
class Feed {
  constructor(address, heard, refused) {
    Object.assign(this, { address, heard, refused });
    this.run();
  }

  async run() {
    for (let failures = 0; ; failures++) {
      try {
        await this.once(() => { failures = 0; });
      } catch (err) {
        if (err.name !== "AbortError") console.info(`stream: ${err.message}`);
      }
      showLink(false);
      if (!this.again) await sleep([1000, 2000, 3000][Math.min(failures, 2)]);
      this.again = false;
    }
  }

  // anew closes the stream and opens it at once.
  anew() {
    this.again = true;
    this.stop?.abort();
  }

  async once(opened) {
    const stop = this.stop = new AbortController();
    let watchdog;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => stop.abort(), 12000);
    };
    try {
      alive();
      const answer = await fetch(this.address(), { signal: stop.signal, cache: "no-store" });
      if (!answer.ok) return await this.refused?.(answer.status);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = "", part = await reader.read(); !part.done; part = await reader.read()) {
        alive();
        opened();
        const messages = (rest + part.value).split("\n\n");
        rest = messages.pop();
        messages.forEach((message) => this.message(message));
      }
    } finally {
      clearTimeout(watchdog);
    }
  }

  // An error in one message must not end the stream.
  message(message) {
    const data = message.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
    if (!data) return;
    showLink(true);
    try {
      this.heard(JSON.parse(data));
    } catch (err) {
      console.error(err);
    }
  }
}

// ---- The wall: the model of a round, and what the events do to it ----

// kept is the number of commands and of orders that the wall remembers: a round may have thousands.
const kept = 400;

let model = newModel({ titles: [], buttons: [], do: [], diff: [], stock: 0 });
let people = { persons: 0, here: 0, voted: 0, turns: {} };
let fromElsewhere = false; // somebody came from another machine

function newModel(round) {
  return {
    round, phase: "ready", frozen: undefined, orders: new Map(), commands: new Map(), sales: new Map(), twice: [],
    holds: [], lock: { keys: [] }, faults: { a: [], b: [] }, step: { stepping: false, trace: [] }, verdict: undefined,
    last: 0, gaps: [],
  };
}

// Each function takes an event of its kind, and returns the panels that show something else now.
const events = {
  round(e) {
    model = newModel(e.round);
    model.last = e.at;
    people = { ...people, voted: 0, turns: {}, first: null, second: null };
    return Object.keys(panels);
  },
  phase(e) {
    model.phase = e.phase;
    model.frozen = ["again", "judging", "verdict"].includes(e.phase) ? model.frozen ?? e.at : undefined;
    return Object.keys(panels);
  },
  class(e) {
    people = e;
    fromElsewhere ||= e.lan;
    return ["top", "ask", "steps", "judged", "phones"];
  },
  order(e) {
    stir(e.at);
    const order = model.orders.get(e.order) ?? { row: undefined };
    remember(model.orders, e.order, Object.assign(order, e));
    for (const id of e.commands ?? []) {
      if (model.commands.has(id)) model.commands.get(id).order = order;
    }
    if (e.state === "done" && e.outcome === "sold") e.units.forEach((unit) => sell(unit, e.order));
    return ["stock", "lanes", "lock"];
  },
  cmd(e) {
    stir(e.at);
    remember(model.commands, e.id, Object.assign(model.commands.get(e.id) ?? {}, e));
    return ["stream", "steps", "lanes"];
  },
  lock(e) {
    if (holdsChange(e)) stir(e.at);
    model.lock = e;
    return ["lock", "lanes"];
  },
  fault(e) {
    stir(e.at);
    const faults = model.faults[e.instance];
    const before = faults.at(-1);
    if (before) before.to ??= e.at;
    if (e.state !== "up") faults.push({ from: e.at, state: e.state, text: e.text });
    return ["lanes", "controls"];
  },
  step(e) {
    model.step = { trace: [], ...e };
    return ["steps", "lanes", "controls"];
  },
  twice(e) {
    model.twice = [...model.twice.filter((t) => t.unit !== e.unit), e];
    e.orders.forEach((order) => sell(e.unit, order));
    return ["stock", "banner", "lanes"];
  },
  verdict(e) {
    model.verdict = e;
    return ["judged"];
  },
};

function remember(map, key, value) {
  map.set(key, value);
  if (map.size > kept) map.delete(map.keys().next().value);
}

function sell(unit, order) {
  const buyers = model.sales.get(unit) ?? [];
  if (!buyers.includes(order)) model.sales.set(unit, [...buyers, order]);
}

// A hold is the time in which the lock's key had one token: a lease. holdsChange follows what Redis holds, and reports
// whether a hold began or ended. The nodes of Redlock hold one token, which is one lease.
function holdsChange(e) {
  const count = model.holds.length;
  const current = model.holds.filter((hold) => hold.gone === undefined);
  for (const key of e.keys) {
    let hold = model.holds.findLast((h) => h.token === key.token && h.instance === key.instance);
    if (!hold || hold.gone !== undefined) model.holds.push(hold = { ...key, from: e.at });
    hold.expires = key.ttl < 0 ? Infinity : e.at + key.ttl;
    if (key.order) hold.order = key.order;
    hold.seen = e;
  }
  const ended = current.filter((hold) => hold.seen !== e);
  for (const hold of ended) hold.gone = Math.min(e.at, hold.expires);
  const changed = ended.length > 0 || model.holds.length > count;
  model.holds = model.holds.slice(-kept);
  return changed;
}

function openOrders(instance) {
  return [...model.orders.values()].filter((o) => o.state === "sent" && (!instance || o.instance === instance));
}

// ownerOf returns the order of a hold: the one that the server names, or the only one that is open at the instance.
function ownerOf(hold) {
  const named = model.orders.get(hold.order);
  if (named) return named;
  const inside = (o) => o.instance === hold.instance && o.acquired !== undefined &&
    Math.abs(o.acquired - hold.from) < 300;
  const fits = [...model.orders.values()].filter(inside);
  const open = openOrders(hold.instance);
  if (fits.length === 1) return fits[0];
  return hold.gone === undefined && open.length === 1 ? open[0] : undefined;
}

// ---- The wall's clock: it stands still while nothing runs, so that the last picture stays for the class to read ----

const clock = { offset: undefined };
const rest = 2000; // how long it goes on after the last event

function hearTime(now) {
  const offset = now - performance.now();
  const far = Math.abs(offset - (clock.offset ?? Infinity)) > 300;
  clock.offset = far ? offset : clock.offset + (offset - clock.offset) / 10;
}

// idle reports whether nothing runs. In step mode time is the class's, and only a command moves the picture.
function idle() {
  if (model.step.stepping) return true;
  const leased = model.holds.some((hold) => hold.gone === undefined && hold.expires !== Infinity);
  return !leased && openOrders().length === 0;
}

// stir notes that something happened, and cuts the idle time before it out of the picture.
function stir(at) {
  if (idle() && at - model.last > rest + 500) model.gaps.push({ from: model.last + rest, to: at - 500 });
  model.last = Math.max(model.last, at);
}

function presentTime() {
  const now = model.frozen ?? performance.now() + (clock.offset ?? 0);
  return idle() ? Math.min(now, model.last + rest) : now;
}

// drawnTime is the time without the idle times before it.
function drawnTime(at) {
  return at - model.gaps.reduce((sum, gap) => sum + Math.max(0, Math.min(at, gap.to) - gap.from), 0);
}

// ---- The wall's panels ----

const panels = {
  top() {
    const { round } = model;
    put("number", w("number", { number: round.number, of: round.of }));
    put("title", round.title ?? "");
    put("phase", w(`phase.${model.phase}`));
    put("count", w("here", people));
    document.body.dataset.phase = model.phase;
    document.body.classList.toggle("empty", people.persons === 0);
  },
  ask() {
    put("question", model.phase === "again" ? w("saw") : model.round.question ?? "");
    put("voted", asking() ? w("voted", people) : "");
    const shown = people.first && ["buy", "again", "judging"].includes(model.phase);
    byId("tally").replaceChildren(...shown ? [make("span", "", w("predicted")), ...tally(people.first)] : []);
  },
  banner() {
    const last = model.twice.at(-1), more = model.twice.length - 1;
    byId("banner").hidden = !last;
    if (!last) return put("banner", "");
    const text = w("twice", { unit: last.unit, orders: namesOf(last.orders) });
    put("banner", more > 0 ? w("twice.more", { more }) + text : text);
  },
  lesson() {
    const { round } = model;
    put("situation", round.situation ?? "");
    put("diff-head", round.next ? w("diff", { from: round.rung, to: round.next }) : "");
    const lines = (round.diff ?? []).map(({ op, text }) =>
      make("span", { "+": "added", "-": "gone-line" }[op] ?? "", `${op} ${text}\n`));
    byId("code").replaceChildren(...lines);
    fitCode(round.diff ?? []);
    byId("do").replaceChildren(...(round.do ?? []).map((text) => make("li", "", text)));
    put("look", round.look ? w("look", { look: round.look }) : "");
    byId("menu").replaceChildren(...(round.titles ?? []).map((title, i) => new Option(`${i + 1}. ${title}`, i + 1)));
    byId("menu").value = round.number;
    byId("menu").hidden = Boolean(round.replay);
  },
  phones() {
    put("address", model.round.phones ?? "");
    byId("phones").hidden = !model.round.phones || Boolean(model.round.replay);
    byId("hint").hidden = !(model.round.lan && !fromElsewhere && performance.now() > 60000);
  },
  stock() {
    const units = [];
    for (let unit = model.round.stock; unit > 0; unit--) units.push(unitCell(unit, model.sales.get(unit) ?? []));
    byId("stock").replaceChildren(...units);
  },
  lock() {
    const { keys, queue, fence, left } = model.lock;
    byId("keys").replaceChildren(...keys.length ? keys.map(keyRow) : [make("p", "free", w("lock.free"))]);
    const facts = { queue, fence, left };
    const known = Object.keys(facts).filter((fact) => facts[fact]);
    put("line", known.map((fact) => w(`lock.${fact}`, facts)).join(" · "));
  },
  stream() {
    const last = [...model.commands.values()].filter((c) => c.state !== "waiting").slice(-9).reverse();
    byId("stream").replaceChildren(...last.map(streamLine));
  },
  steps() {
    const { stepping, trace } = model.step;
    byId("steps").hidden = !stepping;
    document.body.classList.toggle("stepping", stepping);
    for (const instance of ["a", "b"]) {
      const waiting = [...model.commands.values()].filter((c) => c.state === "waiting" && c.instance === instance);
      put(`wants-${instance}`, w(`wants.${instance}`));
      put(`next-${instance}`, waiting[0]?.text ?? w("wants.nothing"));
      put(`turns-${instance}`, w("turns", { votes: people.turns?.[instance] ?? 0 }));
    }
    const next = trace.findIndex((step) => !step.done);
    byId("trace").replaceChildren(...trace.map((step, i) => traceStep(step, i === next)));
  },
  judged() {
    byId("judged").replaceChildren(...model.verdict ? verdictParts(model.verdict) : []);
  },
  controls() {
    byId("controls").replaceChildren(...controls());
  },
  lanes() {
    drawLanes(presentTime());
  },
};

function asking() {
  return model.phase === "vote" || model.phase === "again";
}

// fitCode chooses the size of the lines of code by their number and length.
function fitCode(lines) {
  const code = byId("code"), longest = Math.max(30, ...lines.map(({ text }) => text.replaceAll("\t", "  ").length + 2));
  const size = Math.min(code.clientWidth / longest / 0.61, code.clientHeight / lines.length / 1.25, rem() * 1.1);
  code.style.fontSize = `${Math.max(10, size)}px`;
}

function unitCell(unit, buyers) {
  const more = buyers.length > 2 ? ` +${buyers.length - 2}` : "";
  const cell = make("li", "unit", "", make("span", "unit-number", unit + more));
  const colour = model.orders.get(buyers[0])?.colour;
  if (buyers.length === 1) cell.classList.add("sold", colour === undefined ? "none" : colourOf(colour));
  if (buyers.length > 1) cell.classList.add("double");
  for (const buyer of buyers.slice(0, 2)) cell.append(make("span", "buyer", nameOf(buyer)));
  return cell;
}

function tally({ letters: votes, twice }) {
  const most = Math.max(1, ...Object.values(votes), ...Object.values(twice ?? {}));
  const bar = (label, count) => {
    const fill = make("i");
    fill.style.setProperty("--share", count / most);
    return make("span", "votes", "", make("b", "", label), make("span", "rail", "", fill), make("span", "", `${count}`));
  };
  const amounts = Object.entries(twice ?? {}).map(([amount, count]) => bar(w(`amount.${amount}`), count));
  return [...letters.map((letter) => bar(letter, votes[letter] ?? 0)), bar(w("none"), votes.none ?? 0),
    ...amounts.length ? [make("span", "", w("amounts")), ...amounts] : []];
}

// keyRow shows a key of the lock. Its TTL drains by drainKeys, between the server's events.
function keyRow(key) {
  const order = model.orders.get(key.order) ?? ownerOf({ ...key, from: -Infinity });
  const owner = order ? nameOf(order.order) : key.instance || w("lock.somebody");
  const colour = order ? colourOf(order.colour) : { a: "i0", b: "i1" }[key.instance] ?? "none";
  const row = make("div", `key ${colour}`, "", make("b", "owner", owner), make("span", "ttl"),
    make("code", "", `${key.server === "redis" ? "" : `${key.server} `}${key.key} = ${key.token}`),
    make("span", "rail", "", make("i")));
  row.drains = { until: key.ttl < 0 ? Infinity : model.lock.at + key.ttl };
  return row;
}

function drainKeys(now) {
  for (const row of byId("keys").querySelectorAll(".key")) {
    const left = Math.max(0, row.drains.until - now);
    const share = left === Infinity ? 1 : Math.min(1, left / (model.round.lease || 1));
    row.querySelector("i").style.setProperty("--share", share);
    const text = left === Infinity ? w("lock.forever") : w("seconds", { seconds: (left / 1000).toFixed(1) });
    const ttl = row.querySelector(".ttl");
    if (ttl.textContent !== text) ttl.textContent = text;
  }
}

function streamLine(cmd) {
  const lane = cmd.instance === "a" ? "i0" : "i1";
  const state = cmd.refused ? "no" : cmd.state !== "done" ? "open" : cmd.ok ? "yes" : "no";
  const server = cmd.server === "redis" ? "" : `${cmd.server}: `;
  return make("li", lane, "", make("b", "who", cmd.instance), make("code", "", server + cmd.text),
    make("span", state, cmd.refused ? w("refused") : cmd.reply ?? "…"));
}

function traceStep(step, isNext) {
  const item = make("li", step.done ? "done" : "", (step.done ? "✓ " : "") + step.text);
  if (isNext) item.setAttribute("aria-current", "step");
  return item;
}

function verdictParts(verdict) {
  const table = make("table"), head = make("tr");
  for (const key of ["letter", "result", "before", "after", "because"]) head.append(make("th", "", w(`judged.${key}`)));
  table.append(head, ...verdict.findings.map(findingRow));
  const twice = make("p", "", w("judged.sold", verdict));
  for (const [key, votes] of [["before", people.first], ["after", people.second]]) {
    if (votes?.twice) twice.append(make("span", "guess", w(`judged.twice.${key}`, {
      0: votes.twice["0"] ?? 0, 1: votes.twice["1"] ?? 0, more: votes.twice.more ?? 0 })));
  }
  const best = make("ol", "best", "", ...(verdict.best ?? []).map(({ person, colour, points }) =>
    make("li", colourOf(colour), "", make("b", "", nameOf(person)), ` ${w("points", { points })}`)));
  best.prepend(make("li", "best-head", w("best")));
  return [table, make("p", "story", verdict.story ?? ""), twice, best];
}

function findingRow({ letter, verdict, result, because }) {
  const kind = { BROKEN: "broken", ok: "fine", unknown: "open" }[result] ?? "none";
  const votes = (tallied) => {
    const count = tallied?.letters?.[letter], fill = make("i");
    if (count === undefined) return make("td");
    fill.style.setProperty("--share", count / Math.max(1, people.persons));
    return make("td", "", "", make("span", "rail", "", fill), make("span", "", `${count}`));
  };
  return make("tr", kind, "", make("td", "", "", make("b", "letter", letter), ` ${verdict}`),
    make("td", "result", result), votes(people.first), votes(people.second), make("td", "why", because));
}

// ---- The wall's lanes: what each instance did, on a clock that scrolls by ----

const pastShare = 0.74; // of the width; to the right of it is the future, in which leases end
const across = 20000;   // ms from the left edge to the right one

let scene = { tick() {} };

const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

function svg(tag, className, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  made.setAttribute("class", className);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

// A Scene is drawn anew when something happened. Between that only its marks move to the left, and open bars grow.
class Scene {
  constructor(now) {
    const { width, height } = byId("lanes").getBoundingClientRect();
    Object.assign(this, { width, height, now, rem: rem(), base: drawnTime(now), moving: svg("g", "", {}), live: [] });
    this.gutter = this.rem * 1.8;
    this.scale = (width - this.gutter) / across;
    this.nowX = this.gutter + across * pastShare * this.scale;
    this.laneHeight = (height - 4) / 2;
  }

  x(at) {
    return this.nowX + (Math.max(drawnTime(at), this.base - across) - this.base) * this.scale;
  }

  // rect draws from one time to another. If the end is not known yet, it grows until then.
  rect(group, className, from, to, y, height) {
    const made = svg("rect", className, { x: this.x(from), y, height, width: 0 });
    const grow = (now) => made.setAttribute("width", Math.max(2, this.x(Math.min(to ?? now, now)) - this.x(from)));
    grow(this.now);
    if (to === undefined || to > this.now) this.live.push(grow);
    group.append(made);
  }

  path(group, className, d) {
    group.append(svg("path", className, { d }));
  }

  // follow calls move now and in each frame.
  follow(move) {
    move(this.now);
    this.live.push(move);
  }

  // stick keeps a text in sight as long as what it is about is.
  stick(text, from, to) {
    this.follow((now) => {
      const left = this.gutter + 4 - (this.base - drawnTime(now)) * this.scale;
      text.setAttribute("x", Math.max(this.x(from), Math.min(left, this.x(to ?? now))));
    });
  }

  tick(now) {
    this.moving.setAttribute("transform", `translate(${(this.base - drawnTime(now)) * this.scale} 0)`);
    for (const move of this.live) move(now);
  }
}

function drawLanes(now) {
  scene = new Scene(now);
  if (scene.width < 50 || scene.height < 50) return; // this phase does not show the lanes
  const fixed = svg("g", "", {}), names = svg("g", "", {});
  for (const [i, instance] of ["a", "b"].entries()) {
    const y = i * (scene.laneHeight + 4);
    fixed.append(svg("rect", "lane", { x: 0, y, width: scene.width, height: scene.laneHeight }));
    names.append(svg("rect", "lane", { x: 0, y, width: scene.gutter, height: scene.laneHeight }),
      svg("text", `lane-name i${i}`, { x: scene.gutter / 2, y: y + scene.laneHeight / 2 }, instance));
    drawLane(instance, i, y);
  }
  for (const gap of model.gaps) scene.path(scene.moving, "gap", `M${scene.x(gap.from)} 0v${scene.laneHeight * 2 + 4}`);
  names.append(svg("path", "now", { d: `M${scene.nowX} 0v${scene.laneHeight * 2 + 4}` }));
  byId("scene").replaceChildren(fixed, scene.moving, names);
}

function drawLane(instance, i, top) {
  for (const fault of model.faults[instance]) drawFault(fault, top);
  const orders = [...model.orders.values()].filter((o) => o.instance === instance && visible(o.done));
  const rows = placeRows(orders);
  const own = Math.min(scene.rem * 1.7, scene.laneHeight / 4);
  const height = Math.min(scene.rem * 2.6, (scene.laneHeight - own) / Math.max(rows, 3));
  const row = { top: top + 2, height: own - 4 };
  const group = svg("g", `order i${i}`, {});
  scene.moving.append(group);
  const holds = model.holds.filter((h) => h.instance === instance && visible(h.gone));
  for (const hold of holds) if (!ownerOf(hold)) drawHold(group, hold, undefined, row);
  for (const order of orders) {
    order.place = { top: top + own + order.row * height, height };
    drawOrder(order, holds.filter((hold) => ownerOf(hold) === order));
  }
  for (const cmd of model.commands.values()) {
    if (cmd.instance === instance && cmd.state !== "waiting" && visible(cmd.done)) drawCommand(group, cmd, cmd.order?.place ?? row);
  }
}

function visible(end) {
  return end === undefined || drawnTime(end) > scene.base - across;
}

// placeRows gives each order the first row that is free at its time, and returns the number of rows.
function placeRows(orders) {
  const free = [];
  for (const order of orders) {
    if (order.row === undefined) {
      const found = free.findIndex((from) => from < order.sent);
      order.row = found < 0 ? free.length : found;
    }
    free[order.row] = (order.done ?? Infinity) + 2500; // its label needs room
    for (let r = 0; r < order.row; r++) free[r] ??= -Infinity;
  }
  return free.length;
}

function drawOrder(order, holds) {
  const group = svg("g", `order ${colourOf(order.colour)}`, {}), { top, height } = order.place;
  scene.moving.append(group);
  const tall = height > 20, bar = tall ? { top: top + height * 0.46, height: height * 0.48 } : order.place;
  order.place = bar;
  scene.rect(group, "wait", order.sent, order.done, bar.top + bar.height / 2, 1.5);
  if (order.acquired !== undefined && holds.length === 0) {
    holds = [{ from: order.acquired, gone: order.released ?? order.done, expires: Infinity }];
  }
  for (const hold of holds) drawHold(group, hold, order, bar);
  const twice = model.twice.some((t) => t.orders.includes(order.order));
  if (height < scene.rem * 0.55) return; // nobody could read it, and the stock names the buyers
  const label = svg("text", `label ${twice ? "twice" : ""}`, { y: top + height * (tall ? 0.4 : 0.85),
    "font-size": Math.min(scene.rem, height * (tall ? 0.5 : 0.95)) }, labelOf(order));
  if (tall) scene.stick(label, order.sent, order.done);
  else scene.follow((now) => label.setAttribute("x", scene.x(order.done ?? now) + 6));
  group.append(label);
}

function labelOf(order) {
  const outcome = order.state === "done" ? w(`outcome.${order.outcome}`, { units: (order.units ?? []).join(", ") }) : "";
  return `${nameOf(order.order)} ${outcome}`;
}

// drawHold draws a lease until it was given back or its time was over. From there on it is pale: the order only believes
// that it holds the lock.
function drawHold(group, hold, order, { top, height }) {
  const released = order?.lost ? undefined : order?.released;
  const end = Math.min(hold.gone ?? Infinity, hold.expires, released ?? Infinity);
  const ended = end <= scene.now, open = order?.state === "sent";
  const over = ended && (open ? hold.expires <= scene.now : order?.lost);
  scene.rect(group, "bar", hold.from, ended ? end : hold.expires === Infinity ? undefined : end, top, height);
  if (over) {
    scene.rect(group, "believes", end, open ? undefined : order.released ?? order.done, top, height);
    scene.path(group, "over", `M${scene.x(end)} ${top - 3}v${height + 6}`);
  } else if (ended) {
    scene.path(group, "end", `M${scene.x(end)} ${top - 2}v${height + 4}`);
  } else if (end !== Infinity) {
    const ahead = scene.x(end), rest = svg("rect", "maybe", { y: top, height });
    scene.follow((now) => {
      const from = Math.min(scene.x(now), ahead);
      rest.setAttribute("x", from);
      rest.setAttribute("width", ahead - from);
    });
    group.append(rest);
  }
}

// drawCommand draws a command by the form of its role, as the load test's report does.
function drawCommand(group, cmd, { top, height }) {
  const x = scene.x(cmd.done ?? cmd.sent ?? cmd.came), y = top + height / 2, r = Math.min(scene.rem * 0.42, height * 0.6);
  const diamond = `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`;
  const cross = `M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`;
  const failed = cmd.state === "done" && !cmd.ok;
  if (cmd.state !== "done") return scene.path(group, "unsure", diamond);
  switch (cmd.role) {
    case "read": return group.append(svg("circle", "read", { cx: x, cy: y, r: r * 0.8 }));
    case "write": return scene.path(group, cmd.refused ? "refused" : "write", cmd.refused ? diamond + cross : diamond);
    case "renew": return scene.path(group, failed ? "renew failed" : "renew", `M${x} ${y + r}l${-r} ${-2 * r}h${2 * r}z`);
    case "release": return scene.path(group, failed ? "end failed" : "end", `M${x} ${top - 2}v${height + 4}`);
    case "acquire": return scene.path(group, failed ? "try failed" : "try", `M${x} ${y - r}v${2 * r}`);
  }
}

function drawFault({ from, to, state, text }, top) {
  const height = scene.laneHeight, x = scene.x(from), size = scene.rem * 0.8, r = size;
  if (state === "slow") scene.rect(scene.moving, "fault", from, to, top + height - 8, 8);
  else if (state === "cut") scene.rect(scene.moving, "cut", from, to, top + 2, height - 4);
  else scene.rect(scene.moving, "stopped", from, to, top, height);
  if (state === "dead") {
    scene.path(scene.moving, "cross", `M${x - r} ${top + height / 2 - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`);
  }
  const words = svg("text", "faulttext", { y: top + height - 10, "font-size": scene.rem }, text ?? state);
  scene.stick(words, from, to);
  scene.moving.append(words);
}

// ---- The wall's frames: at most 20 a second, and none while nothing changes ----

const changed = new Set();
let framed = false;

function show(names) {
  names.forEach((name) => changed.add(name));
  if (framed) return;
  framed = true;
  setTimeout(() => requestAnimationFrame(frame), 50);
}

function frame() {
  framed = false;
  for (const name of Object.keys(panels)) {
    if (!changed.delete(name)) continue;
    try {
      panels[name]();
    } catch (err) {
      console.error(err);
    }
  }
  const now = presentTime();
  drainKeys(model.frozen ?? now);
  scene.tick(now);
  const runs = model.frozen === undefined && !(idle() && now >= model.last + rest);
  if (runs && calm.matches) setTimeout(show, 1000, []);
  else if (runs) show([]);
}

// ---- The teacher's controls ----

// Each button has its key. Those of the first line take their instance from Shift.
const keys = {
  pause: "P", kill: "K", cut: "X", slow: "S", continue: "C",
  vote: "V", start: "V", anna: "A", bert: "B", all: "E", step: " ", flow: "Escape", again: "W", verdict: "Enter",
  reset: "R", next: "N",
};
const faulty = ["pause", "kill", "cut", "slow"];
const sensible = {
  ready: ["vote", "next"],
  vote: ["start", "reset"],
  buy: ["anna", "bert", "all", ...faulty, "continue", "step", "flow", "again", "reset"],
  again: ["verdict", "reset"],
  judging: ["reset"],
  verdict: ["reset", "next"],
};

function offered(name) {
  const { buttons = [] } = model.round;
  if (name === "continue") return faulty.some((fault) => buttons.includes(fault));
  if (name === "flow") return model.step.stepping;
  return ["vote", "start", "again", "verdict", "reset", "next"].includes(name) || buttons.includes(name);
}

function controls() {
  if (model.round.replay) return [control("next", " ")];
  const names = sensible[model.phase].filter(offered);
  const made = names.map((name) => control(name, keys[name]));
  if (names.some((name) => faulty.includes(name))) made.push(make("span", "shift", w("shift")));
  return made;
}

function control(name, key) {
  const named = name === "step" && model.step.stepping ? "step.next" : name;
  const button = make("button", "", w(`do.${named}`), make("kbd", "", w(`key.${key.trim() || "Space"}`)));
  button.addEventListener("click", (e) => {
    // After a click of the mouse the Enter key is the verdict's again.
    if (e.detail > 0) button.blur();
    command(name, e.shiftKey);
  });
  return button;
}

function command(name, shift) {
  if (faulty.includes(name)) return order({ do: name, at: shift ? "b" : "a" });
  if (name === "continue" && shift) return order({ do: name, at: "b" });
  return order({ do: name });
}

async function order(body) {
  try {
    const answer = await post("/do", body);
    if (!answer.ok) complain((await answer.json()).error);
  } catch {
    complain(w("link.off"));
  }
}

function pressed(e) {
  if (e.ctrlKey || e.altKey || e.metaKey || e.target.closest("select")) return;
  const onButton = e.target.closest("button");
  if (e.key === "Enter" && onButton) return; // it presses the button
  const what = whatKey(e);
  if (!what) return;
  e.preventDefault(); // the Space bar must not press the focused button as well
  if (e.type === "keydown" && !e.repeat) what();
}

function whatKey(e) {
  if (e.key === " ") return () => order({ do: model.round.replay ? "next" : "step" });
  if (model.round.replay) return undefined;
  if (/^[1-9]$/.test(e.key)) return () => order({ do: "round", round: Number(e.key) });
  if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
    return () => order({ do: "step", at: e.key === "ArrowLeft" ? "a" : "b" });
  }
  const key = e.key.length === 1 ? e.key.toUpperCase() : e.key;
  const name = Object.keys(keys).find((name) => keys[name] === key);
  return name && (() => command(name, e.shiftKey));
}

function startWall() {
  const heard = (message) => {
    hearTime(message.now);
    if (message.fresh) model = newModel(model.round);
    for (const event of message.events ?? []) {
      try {
        show(events[event.kind]?.(event) ?? []);
      } catch (err) {
        console.error(err);
      }
    }
  };
  const feed = new Feed(() => "/events", heard);
  byId("menu").addEventListener("change", () => {
    byId("menu").blur();
    order({ do: "round", round: Number(byId("menu").value) });
  });
  document.addEventListener("keydown", pressed);
  document.addEventListener("keyup", pressed);
  addEventListener("resize", () => show(["lanes", "lesson"]));
  addEventListener("pageshow", (e) => e.persisted && feed.anew());
  setInterval(() => show(["phones"]), 5000);
  show(Object.keys(panels));
}

// ---- The phone ----

const phone = { id: "", code: "", letters: new Set(), none: false, twice: "", flashed: new Set(), state: {} };

function startPhone() {
  phone.code = location.pathname.slice(1).toUpperCase();
  const stored = stash();
  phone.id = location.hash.slice(1) || stored || "";
  for (const letter of [...letters, "none"]) byId("letters").append(toggle(letter, () => choose(letter)));
  for (const amount of ["0", "1", "more"]) byId("amounts").append(toggle(`amount.${amount}`, () => guess(amount)));
  for (const at of ["a", "b"]) byId("sides").append(toggle(`side.${at}`, () => say("/turn", { at })));
  byId("join").addEventListener("submit", (e) => {
    e.preventDefault();
    phone.code = byId("code").value.trim().toUpperCase();
    join();
  });
  byId("send").addEventListener("click", sendVote);
  byId("buy").addEventListener("click", buy);
  byId("flash").addEventListener("click", () => { byId("flash").hidden = true; });
  if (phone.id) return follow();
  if (/^[A-Z]{4}$/.test(phone.code)) join();
}

// stash keeps the id for this code, if the browser lets it.
function stash(id) {
  try {
    if (id !== undefined) localStorage.setItem(`stage-${phone.code}`, id);
    return localStorage.getItem(`stage-${phone.code}`);
  } catch {
    return "";
  }
}

async function join() {
  try {
    const answer = await post("/join", { code: phone.code });
    if (answer.status === 403) return complain(w("phone.wrong"));
    if (!answer.ok) return complain(w("phone.full"));
    phone.id = (await answer.json()).id;
    stash(phone.id);
    history.replaceState(null, "", `/${phone.code}#${phone.id}`);
    follow();
  } catch {
    complain(w("link.off"));
  }
}

function follow() {
  if (phone.feed) return phone.feed.anew();
  const refused = (status) => status === 404 && join(); // the class began anew: be somebody else
  phone.feed = new Feed(() => `/me?id=${encodeURIComponent(phone.id)}`, showState, refused);
  // A phone that slept has a dead stream, and may not know.
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && phone.feed.anew());
  addEventListener("pageshow", (e) => e.persisted && phone.feed.anew());
}

function toggle(key, press) {
  const button = make("button", "toggle", w(`phone.${key}`));
  button.type = "button";
  button.dataset.value = key;
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", press);
  return button;
}

function choose(letter) {
  if (letter === "none") phone.none = !phone.none;
  else if (!phone.letters.delete(letter)) phone.letters.add(letter);
  if (letter === "none" && phone.none) phone.letters.clear();
  if (letter !== "none") phone.none = false;
  showChoice();
}

function guess(amount) {
  phone.twice = amount;
  showChoice();
}

function press(box, isPressed) {
  for (const button of byId(box).children) button.setAttribute("aria-pressed", isPressed(button.dataset.value));
}

function showChoice() {
  press("letters", (value) => (value === "none" ? phone.none : phone.letters.has(value)));
  press("amounts", (value) => value === `amount.${phone.twice}`);
  byId("send").disabled = !phone.twice || (!phone.none && phone.letters.size === 0);
}

// say posts something of this person, and tries again if the network fails.
async function say(path, body) {
  for (let tries = 0; tries < 4; tries++) {
    try {
      const answer = await post(path, { id: phone.id, ...body });
      if (!answer.ok) complain(w(answer.status === 429 ? "phone.many" : "phone.notnow"));
      return answer.ok;
    } catch {
      await sleep(700);
    }
  }
  complain(w("link.off"));
  return false;
}

async function sendVote() {
  const chosen = letters.filter((letter) => phone.letters.has(letter)).join("");
  await say("/vote", { letters: chosen, twice: phone.twice });
}

// The server takes a tap once, however often it is told of it. randomUUID is not there without TLS.
function buy() {
  const tap = [...crypto.getRandomValues(new Uint8Array(12))].map((b) => b.toString(16).padStart(2, "0")).join("");
  byId("buy").disabled = true;
  say("/buy", { tap });
}

function showState(state) {
  const before = phone.state;
  phone.state = state;
  if (state.phase !== before.phase || state.round.number !== before.round?.number) newPhase(state);
  document.body.dataset.phase = state.phase;
  put("me", nameOf(state.person));
  byId("me").className = colourOf(state.colour);
  put("points", w("phone.points", state));
  put("round", `${w("number", state.round)} ${state.round.title}`);
  put("question", state.phase === "again" ? w("saw") : state.round.question);
  put("phase", state.voted && ["vote", "again"].includes(state.phase) ? w("voted", { voted: state.votes, here: state.here })
    : w(`phone.phase.${state.phase}`));
  put("send", w(state.voted ? "phone.sent" : "phone.send"));
  byId("turn").hidden = !state.turn;
  press("sides", (value) => value === `side.${state.myturn}`);
  byId("buy").disabled = !state.buying;
  put("buy", w("phone.buy", state));
  byId("receipts").replaceChildren(...(state.orders ?? []).map(receipt));
  put("judged", state.phase !== "verdict" ? "" : state.verdict
    ? w("phone.broke", { letters: [...state.verdict].join(" ") }) : w("phone.held"));
  flash(state);
}

// newPhase begins a vote with what this person said already, if the page was opened anew in the middle of it.
function newPhase(state) {
  phone.letters = new Set(state.voted ? state.vote?.letters : "");
  phone.none = Boolean(state.voted && state.vote?.letters === "");
  phone.twice = state.voted ? state.vote?.twice ?? "" : "";
  showChoice();
}

function receipt(order) {
  const text = order.state === "sent" ? w("phone.waiting")
    : w(`phone.outcome.${order.outcome}`, { units: (order.units ?? []).join(", ") });
  return make("li", order.outcome ?? "open", text);
}

function flash(state) {
  for (const { unit, with: others } of state.twice ?? []) {
    const key = `${state.round.number}/${unit}`;
    if (phone.flashed.has(key)) continue;
    phone.flashed.add(key);
    put("flash-unit", String(unit));
    put("flash-words", w("phone.flash", { unit, others: namesOf(others) }));
    byId("flash").hidden = false;
    navigator.vibrate?.(300);
  }
  if (!state.twice?.length) {
    byId("flash").hidden = true;
    phone.flashed.clear();
  }
}

translatePage();
showLink(false);
if (document.body.dataset.page === "wall") startWall();
else startPhone();
