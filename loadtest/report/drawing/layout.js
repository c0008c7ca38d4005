// Lays out a timeline of package drawing: its rows, where each mark and each text is, and which text gives way to
// which. layOutTimeline returns the parts of one frame in the order in which timeline.js draws them. It needs the
// browser only to measure texts.
const { layOutTimeline, timelineIndex, commandTime, timeText, timelineTexts } = (() => {
  "use strict";

  const maxTall = 24, maxLow = 20; // orders drawn with labels: those that matter, and others
  const maxThin = 150, maxThinRows = 12; // orders drawn thin in a lane, each as an element
  const maxTenures = 150, maxBeside = 4, maxJoins = 60, maxPairs = 8, maxMarks = 24; // the last is per order

  const known = Number.isFinite; // false for null, which is never
  const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

  // ---- Texts ----

  // view.words overrides these.
  const english = {
    holds: "holds the lock", believes: "believes it holds the lock", believesShort: "believes it holds",
    ending: "loses the lock within this time", late: "late release", waits: "waits", arrival: "arrival",
    heldSince: "held by {order}, since {at}", held: "held by {order}", another: "another order holds it",
    ended: "{order}: {why} at {at}", endedBy: "{order}: {why} by {at}", endedShort: "{order}: {why}",
    perhaps: "possibly held by {order}", twice: "unit {unit} sold twice", more: "and {n} more", on: "{order} on {lane}",
    released: "released", removed: "removed", expired: "TTL over", session: "session over", gone: "lock gone",
    instance: "instance {name}", who: "who", command: "command", reply: "reply", effect: "effect", node: "node",
    lock: "lock", sent: "sent", fence: "",
    answered: "answered", came: "reached the wire", sentOn: "forwarded", repliedAt: "replied", heard: "reply forwarded",
    outcome: "outcome", lease: "lease", lost: "lost its lock", fault: "fault", from: "from", until: "until",
    how: "ended", violation: "violation", evidence: "evidence", never: "never", noReply: "no reply", order: "order",
    key: "○ reads the stock,   ◆ writes the stock;   pale: only believes it holds the lock;   hatched: stopped or dead",
  };
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

  // clean replaces the characters that XML does not allow.
  const foreign = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;
  const clean = (text) => String(text ?? "").toWellFormed().replace(foreign, "\ufffd");

  const family = 'ui-sans-serif, system-ui, "DejaVu Sans", sans-serif';
  const pen = document.createElement("canvas").getContext("2d");
  const widths = new Map();

  // widthOf returns the width of a text in px, with a margin for the fonts of other machines.
  function widthOf(text, size, bold) {
    const key = `${size}${bold ? "b" : ""} ${text}`;
    if (!widths.has(key)) {
      if (widths.size > 5000) widths.clear();
      pen.font = `${bold ? 700 : 400} ${size}px ${family}`;
      widths.set(key, pen.measureText(text).width * 1.04 + 2);
    }
    return widths.get(key);
  }

  // clip shortens a text to a width.
  function clip(text, width, size, bold) {
    text = clean(text).slice(0, 300);
    if (widthOf(text, size, bold) <= width) return text;
    let least = 0, most = text.length;
    while (least < most) {
      const half = (least + most + 1) >> 1;
      if (widthOf(`${text.slice(0, half)}…`, size, bold) <= width) least = half;
      else most = half - 1;
    }
    return `${clean(text.slice(0, least))}…`;
  }

  // wrap returns the lines of a text.
  function wrap(text, width, size) {
    const lines = [];
    for (const word of clean(text).slice(0, 2000).split(/\s+/)) {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (lines.length && widthOf(longer, size) <= width) lines[lines.length - 1] = longer;
      else lines.push(clip(word, width, size));
    }
    return lines;
  }

  // timeText returns a time in ms, rounded to a step.
  function timeText(ms, step = 0.001) {
    if (!known(ms)) return english.never;
    const text = ms.toFixed(clamp(Math.ceil(-Math.log10(step) - 1e-9), 0, 6));
    const short = text.length > 14 ? ms.toPrecision(6) : text;
    return `${short.replace(/^-(?=[0.]*$)/, "").replace("-", "−")} ms`;
  }

  function roundStep(least) {
    const power = 10 ** Math.floor(Math.log10(least));
    return power * ([1, 2, 5].find((m) => m * power >= least) ?? 10);
  }

  // nameOf returns the display name of an order.
  const nameOf = ({ name, id }) => name || `order ${id}`;
  const does = ({ does: text, units }) => clean(text).replace("#", () => units?.[0] ?? "");
  const colourOf = (lane) => `i${(lane?.colour ?? 0) % 4}`;

  // On a wall, whose lanes are tall, an instance has only its name.
  function laneName({ kind, name }, { height, words }) {
    if (kind !== "instance" || height !== undefined) return name;
    return fill({ ...english, ...words }.instance, { name });
  }

  // ---- The index of a drawing, made once ----

  const indices = new WeakMap();

  // commandTime returns the time at which a command is drawn.
  const commandTime = ({ came, at, end, heard }) => [end, at, heard, came].find(known) ?? NaN;

  function spanOf({ sent, from, to, released, done }) {
    const starts = [sent, from].filter(known);
    const ends = [to, released, done].filter(known);
    const lo = Math.min(...(starts.length ? starts : ends));
    const open = starts.length > 0 && ends.length === 0;
    return { lo, hi: open ? Infinity : Math.max(...ends) };
  }

  // soldTwice returns the units that were sold more than once, each with its orders.
  function soldTwice(orders) {
    const sales = new Map();
    orders.forEach(({ units }, i) => {
      for (const unit of (units ?? []).slice(0, 20)) sales.set(unit, [...sales.get(unit) ?? [], i]);
    });
    return [...sales].filter(([, sold]) => sold.length > 1);
  }

  function timelineIndex(drawing) {
    if (indices.has(drawing)) return indices.get(drawing);
    const { orders = [], commands = [], tenures = [], faults = [], violations = [] } = drawing;
    const lists = () => orders.map(() => []);
    const index = { spans: [], commandsOf: lists(), tenuresOf: lists(), faultsOf: lists(), loose: [], twice: [] };
    const byTime = (i, k) => commandTime(commands[i]) - commandTime(commands[k]);
    index.spans = orders.map(spanOf);
    commands.forEach((command, i) => (index.commandsOf[command.order] ?? index.loose).push(i));
    for (const list of index.commandsOf) list.sort(byTime);
    tenures.forEach(({ order }, i) => index.tenuresOf[order]?.push(i));
    faults.forEach(({ order }, i) => index.faultsOf[order]?.push(i));
    index.twice = soldTwice(orders);
    index.sequence = commands.map((_, i) => i).filter((i) => known(commandTime(commands[i])));
    index.sequence.sort(byTime);
    const times = [
      ...index.spans.flatMap(({ lo, hi }) => [lo, hi]), ...commands.map(commandTime),
      ...tenures.map(({ from }) => from), ...faults.flatMap(({ from, to }) => [from, to]),
      ...violations.flatMap(({ at }) => at ?? []),
    ].filter(known);
    index.from = times.reduce((least, t) => Math.min(least, t), Infinity);
    index.to = times.reduce((most, t) => Math.max(most, t), -Infinity);
    if (!known(index.from)) Object.assign(index, { from: 0, to: 1 });
    indices.set(drawing, index);
    return index;
  }

  // ---- A frame: its scale, and the parts that are laid out so far ----

  // add appends a part, in px: a point is x and y; a box reaches from lo to hi, and from y by its height; a line, from
  // top to bottom. mark is the data-mark.
  const add = (f, kind, part) => f.parts.push({ kind, ...part });

  // periodOf returns the period that a view shows, which is not empty.
  function periodOf(view) {
    const from = known(view.from) ? view.from : 0;
    const to = known(view.to) ? view.to : from;
    return { from, to: to > from ? to : from + Math.max(1, Math.abs(from) * 1e-9) };
  }

  function newFrame(drawing, view) {
    const { size = 11, width, gaps = [] } = view;
    const { from, to } = periodOf(view);
    const index = timelineIndex(drawing);
    const lanes = (drawing.lanes ?? []).map((lane, i) => ({ ...lane, i, text: laneName(lane, view) }))
      .filter((lane) => !view.lanes || view.lanes(lane));
    const queue = drawing.queue ? queued(drawing, view, index, from, to) : undefined;
    const names = [...lanes.map(({ text }) => text), ...(queue ?? []).map((i) => rowName(drawing, i))];
    const widest = Math.max(0, ...names.map((name) => widthOf(clip(name, size * 12, size, true), size, true)));
    const room = widest + size * 1.6;
    const narrow = !queue && !view.gutter && room > width * 0.16; // a lane's name has a line of its own
    const gutter = view.gutter ?? (narrow ? size * 0.8 : Math.min(room, width * 0.3));
    const right = width - size;
    const cut = (t) => gaps.reduce((left, gap) => left - Math.max(0, Math.min(t, gap.to) - gap.from), t);
    const start = cut(from);
    const scale = (right - gutter) / Math.max(cut(to) - start, 1e-9);
    const now = known(view.now) ? view.now : Infinity;
    const end = Math.min(to, now);
    const twice = (drawing.violations ?? []).findIndex(({ unit, orders }) => unit && (orders ?? []).length > 1);
    return {
      drawing, view, index, size, width, lanes, queue, narrow, gutter, right, from, to, now, end, gaps,
      words: { ...english, ...view.words },
      bare: view.height !== undefined,
      barHeight: Math.round(size * (view.height === undefined ? 1.25 : 1.6)),
      big: new Set((view.orders ?? drawing.first?.orders ?? []).slice(0, maxTall)), // the orders that matter
      focus: new Set(drawing.violations?.[0]?.orders),
      accused: new Set(drawing.violations?.flatMap(({ orders }) => orders ?? [])),
      twice: twice < 0 ? undefined : { mark: `violation:${twice}`, orders: new Set(drawing.violations[twice].orders) },
      x: (t) => clamp(gutter + (cut(t) - start) * scale, gutter, right),
      shows: (t) => known(t) && t >= from && t <= end,
      moment: (t) => timeText(t, roundStep((to - from) / 500)),
      colour: view.colour ?? ((order) => colourOf(drawing.lanes?.[order.lane])),
      name: view.name ?? nameOf,
      says: view.says ?? does,
      parts: [],
      sales: new Map(), // where an order sold
    };
  }

  // write adds a text: any but those of the headline.
  const write = (f, className, text, x, y, mark) => add(f, "text", { className, text, x, y, mark });

  // A line holds texts side by side. place writes the first of some texts that has room, at the first free spot: at x,
  // with the fraction anchor of it to the left of x, between least and most. It returns whether one had. So a text
  // gives way to those placed before; the description of its mark contains it.
  const line = (y) => ({ y, taken: [] });

  function place(f, on, className, texts, spots, mark, bold = false) {
    return [texts].flat().some((one) => {
      const text = clip(one, f.right - f.gutter, f.size, bold);
      const width = widthOf(text, f.size, bold);
      const spot = text && spots.map(([x, anchor, least = f.gutter, most = f.right]) => {
        const from = x - anchor * width;
        return { from, to: from + width, least, most };
      }).find(({ from, to, least, most }) => from >= least - 1 && to <= most + 1 && isFree(on, from, to));
      if (!spot) return false;
      on.taken.push([spot.from, spot.to]);
      write(f, className, text, spot.from, on.y, mark);
      return true;
    });
  }
  const isFree = ({ taken }, from, to) => !taken.some(([a, b]) => a < to + 3 && b > from - 3);
  const within = (a, b) => [[(a + b) / 2, 0.5, a + 3, b - 3], [a + 5, 0, a, b - 3], [b - 5, 1, a + 3, b]];

  // ---- The lanes of instances: the rows of their orders ----

  // chooseOrders divides the orders in view into those drawn with labels and those drawn as thin bars.
  function chooseOrders(f) {
    const inView = f.index.spans.flatMap(({ lo, hi }, i) => (lo <= f.end && hi >= f.from ? [i] : []));
    const others = inView.filter((i) => !f.big.has(i));
    const crowd = others.length > maxLow;
    return { drawn: inView.filter((i) => f.big.has(i) || !crowd), thin: crowd ? others : [] };
  }

  // shapeOf returns the space that an order takes: its work from x0 to x1, the whole order from first to last, and with
  // its label from lo to hi.
  function shapeOf(f, i) {
    const order = f.drawing.orders[i], { lo, hi } = f.index.spans[i];
    const worked = known(order.from) && order.from <= f.end; // before, it waits
    const end = worked ? (known(order.to) ? order.to : Infinity) : hi;
    const x0 = f.x(worked ? order.from : lo);
    const x1 = Math.max(f.x(Math.min(end, f.end)), x0 + 2.5);
    const first = Math.min(f.x(lo), x0);
    const last = Math.max(f.x(Math.min(hi, f.end)), x1);
    const label = labelOf(f, i, { x0, first, last });
    return {
      i, order, worked, x0, x1, first, last, label, mark: `order:${i}`,
      lo: Math.min(first, label.x), hi: Math.max(last, label.x + label.width + 4),
    };
  }

  // labelOf returns the label of an order, which is above the bar, or beside it.
  function labelOf(f, i, { x0, first, last }) {
    const order = f.drawing.orders[i], bold = f.focus.has(i);
    const text = `${f.name(order)} ${f.says(order)}`;
    const width = widthOf(clip(text, f.right - f.gutter, f.size, bold), f.size, bold);
    const label = { text, bold, width };
    const right = last + width + 10 <= f.right, left = first - width - 8 >= f.gutter; // there is room beside it
    const failed = f.index.commandsOf[i].some((k) => ["refused", "unsure"].includes(f.drawing.commands[k].kind));
    label.above = f.bare || bold || order.lost || f.index.faultsOf[i].length > 0 || failed || !(right || left);
    if (!label.above) label.x = right ? last + 8 : first - 8 - width;
    else if (isCrossed(f, i) && x0 - width - 8 >= f.gutter) label.x = x0 - width - 8;
    else label.x = clamp(x0, f.gutter, f.right - width);
    return label;
  }

  // isCrossed returns whether the line to the other sale of an order's unit crosses the space above the order.
  function isCrossed(f, i) {
    if (!f.focus.has(i) || !f.twice?.orders.has(i)) return false;
    const other = f.drawing.orders[[...f.twice.orders].find((k) => k !== i)];
    return other?.lane < f.drawing.orders[i].lane && other.done > f.drawing.orders[i].done;
  }

  // pack gives each shape the first row in which it touches no other, and returns the rows.
  function pack(shapes, gap, most = Infinity) {
    const rows = [];
    for (const shape of shapes.sort((a, b) => a.lo - b.lo)) {
      let row = rows.find(({ end }) => end + gap <= shape.lo);
      if (!row && rows.length < most) rows.push(row = { shapes: [] });
      if (!row) continue;
      row.shapes.push(shape);
      row.end = shape.hi;
    }
    return rows;
  }

  // rowsOfLanes returns the rows of each instance's lane. Below the first one with an order of a unit that was sold
  // twice there is room for the tag of that unit.
  function rowsOfLanes(f, drawn) {
    const rows = new Map();
    for (const { i: lane } of f.lanes.filter(({ kind }) => kind === "instance")) {
      const shapes = drawn.filter((i) => f.drawing.orders[i].lane === lane).map((i) => shapeOf(f, i));
      rows.set(lane, pack(shapes, 6));
    }
    const all = [...rows.values()].flat(), half = f.barHeight / 2;
    const tagged = f.bare ? undefined : all.find(({ shapes }) => shapes.some(({ i }) => f.twice?.orders.has(i)));
    for (const row of all) {
      row.above = half + 4 + (row.shapes.some(({ label }) => label.above) ? f.size * 1.3 : 0);
      row.height = row.above + half + 6 + (row === tagged ? f.size * 1.7 : 0);
    }
    return { rows, tagged };
  }

  // thinBars returns the bars of orders without labels, and how many have no room.
  function thinBars(f, lane, orders) {
    const own = orders.filter((i) => f.drawing.orders[i].lane === lane.i);
    const shapes = own.flatMap((i) => {
      const { from, to } = f.drawing.orders[i], { lo, hi } = f.index.spans[i];
      if (from > f.end || known(to) && to < f.from) return []; // it only waits in this period
      const x0 = f.x(known(from) ? from : lo);
      return [{ i, lo: x0, hi: Math.max(f.x(Math.min(known(to) ? to : hi, f.end)), x0 + 2) }];
    });
    const rows = pack(shapes, 1, maxThinRows);
    const bars = rows.flatMap((row, r) => row.shapes.map((shape) => ({ ...shape, y: r * 4 })));
    return { bars, height: rows.length * 4, left: own.length - bars.length };
  }

  // layOutInstance lays out the lane of an instance and returns its height, which is the share of it on a wall.
  function layOutInstance(f, lane, top, rows, thinOrders, share) {
    const { size, barHeight } = f, { commands } = f.drawing;
    const thin = thinBars(f, lane, thinOrders);
    const loose = f.index.loose.filter((k) => commands[k].lane === lane.i && f.shows(commandTime(commands[k])));
    const head = (f.narrow ? size * 1.5 : 0) + (loose.length ? barHeight + 4 : 0) + 3;
    const natural = rows.reduce((sum, { height }) => sum + height, 0);
    const tail = thin.height + (thin.left ? size * 1.5 : 0) + 4;
    const height = share ?? Math.max(head + natural + tail, barHeight + 10);
    const squeeze = Math.min(1, Math.max(height - head - tail, 1) / Math.max(natural, 1)); // on a wall
    layOutLane(f, lane, top, height);
    if (loose.length) layOutCommands(f, loose, top + head - barHeight / 2 - 4, barHeight, line(0));
    let y = top + head;
    for (const row of rows) {
      layOutRow(f, row, y, squeeze);
      y += row.height * squeeze;
    }
    layOutThin(f, lane, y, thin);
    layOutLaneFaults(f, lane, top, height);
    return height;
  }

  function layOutLane(f, lane, top, height) {
    const { size } = f, room = f.narrow ? f.width - 10 : f.gutter - size * 0.8;
    const colour = lane.kind === "instance" ? colourOf(lane) : "";
    add(f, "lane", { top, height });
    write(f, `name ${colour}`, clip(lane.text, room, size, true), size * 0.6, top + size * 1.35);
  }

  // layOutRow lays out a row of orders. One that is too low for labels has only names.
  function layOutRow(f, row, y, squeeze) {
    const high = squeeze > 0.8, height = row.height * squeeze;
    row.bar = high ? f.barHeight : Math.max(Math.min(f.barHeight, height * 0.8), 1);
    row.middle = high ? y + row.above * squeeze : y + height / 2;
    row.bottom = y + height;
    row.on = { above: line(row.middle - f.barHeight / 2 - f.size * 0.45), inside: line(row.middle + f.size * 0.36) };
    for (const shape of row.shapes) layOutOrder(f, shape, row);
    if (high) writeRow(f, row);
    else writeNames(f, row, height);
  }

  function layOutThin(f, lane, y, { bars, height, left }) {
    const className = colourOf(lane), all = bars.map((bar) => ({ ...bar, y: y + bar.y, mark: `order:${bar.i}` }));
    if (all.length > maxThin) add(f, "crowd", { className, bars: all, height: 3 });
    else for (const bar of all) add(f, "thin", { className, ...bar, height: 3 });
    for (const bar of all) noteSale(f, bar.i, bar.y + 1.5);
    if (left) place(f, line(y + height + f.size), "more", fill(f.words.more, { n: left }), [[f.gutter, 0]]);
  }

  // layOutOrder lays out a bar: solid while the order holds its lock, dashed while the lock may have ended, then a
  // stroke, and pale after it.
  function layOutOrder(f, shape, { middle, bar }) {
    const { i, order, worked, x0, x1, mark } = shape, { lo, hi } = f.index.spans[i];
    const last = f.x(Math.min(hi, f.end));
    const waits = worked ? [[f.x(lo), x0], [x1, last]] : [[f.x(lo), last]];
    const classes = [f.colour(order), order.lease ? "" : "nolease", order.outcome === "sold" ? "" : "nosale",
      f.focus.has(i) ? "focus" : ""];
    add(f, "order", {
      className: classes.join(" "), mark, middle, height: bar,
      waits: waits.filter(([from, to]) => to > from + 0.5),
      bars: worked ? barsOf(f, shape) : [],
      lost: worked && f.shows(order.lost?.at) ? { x: f.x(order.lost.at), how: order.lost.how } : undefined,
      released: worked && f.shows(order.released) ? f.x(order.released) : undefined,
    });
    for (const k of f.index.faultsOf[i]) layOutOrderFault(f, k, middle, middle + bar / 2);
  }

  // barsOf returns the segments of an order's bar.
  function barsOf(f, { i, order, x0, x1 }) {
    const { lost } = order, bars = [];
    let held = x1, gone = x1;
    if (lost && known(lost.at) && lost.at < f.end) {
      gone = clamp(f.x(lost.at), x0, x1);
      held = clamp(f.x(known(lost.since) ? lost.since : lost.at), x0, gone);
      if (gone - held <= 1) held = gone;
    }
    const segment = (className, from, to) => bars.push({ className, lo: from, hi: to });
    if (!lost || held > x0) segment("bar", x0, Math.max(held, x0 + 2));
    if (held < gone) segment("maybe", held, gone);
    if (gone < x1) segment("believes", gone, x1);
    const kept = f.index.tenuresOf[i].map((k) => f.drawing.tenures[k]).filter(({ how }) => how !== "released");
    const expiry = Math.max(order.to ?? 0, ...kept.map(({ at }) => at ?? (known(order.to) ? Infinity : 0)));
    if (f.end === f.now && expiry > f.now) segment("maybe", f.x(f.now), f.x(expiry));
    // On a wall the lock that it left behind has no lane.
    if (f.bare && expiry > order.to) segment("maybe", x1, f.x(Math.min(expiry, f.end)));
    return bars;
  }

  function layOutOrderFault(f, k, middle, below) {
    const fault = f.drawing.faults[k], mark = `fault:${k}`;
    const from = known(fault.from) ? fault.from : f.from;
    const to = known(fault.to) ? fault.to : Infinity;
    if (from > f.end || to < f.from) return;
    const lo = f.x(from), hi = Math.max(f.x(Math.min(to, f.end)), lo + 3);
    if (isDeath(fault)) add(f, "death", { x: lo, y: middle, r: 5, mark });
    else add(f, "pause", { lo, hi, y: below + 1, height: 4, mark });
  }
  const isDeath = ({ kind }) => kind === "kill" || kind === "died";

  // ---- What is written in a row of orders ----

  const writeLabel = (f, on, { label: { text, bold }, mark }, spots) =>
    place(f, on, `label ${bold ? "focus" : ""}`, text, spots, mark, bold);

  // writeRow writes the labels of the orders in a row, the most important ones first.
  function writeRow(f, row) {
    const { above, inside } = row.on;
    for (const shape of row.shapes) {
      writeLabel(f, shape.label.above ? above : inside, shape, [[shape.label.x, 0]]);
      shape.commands = layOutMarks(f, shape.i, row.middle, f.barHeight, inside);
    }
    const tall = row.shapes.filter(({ label }) => label.above);
    for (const writeOne of [writeLoss, writeRefusals, writeFaults, writeWork]) {
      for (const shape of tall) writeOne(f, shape, row.on);
    }
  }

  // writeNames writes the names of a row that is too low for labels: beside the bars, or in them. An order of a
  // violation has its name even if the row is lower than a text.
  function writeNames(f, row, height) {
    const next = besideMark(f);
    for (const shape of row.shapes) {
      const { i, x0, x1, first, last } = shape;
      layOutMarks(f, i, row.middle, row.bar, line(0));
      if (height < f.size * 0.9 && !f.accused.has(i)) continue;
      // Beyond the last the sales of a unit are joined.
      const spots = [[first - next, 1, f.gutter + f.size], [last + next, 0], ...within(x0, x1)];
      writeLabel(f, row.on.inside, shape, spots);
    }
  }
  const besideMark = ({ size }) => size * 0.42 + 5;

  function writeLoss(f, { order: { lost }, mark }, { above, inside }) {
    if (!lost || !f.shows(lost.at)) return;
    const x = f.x(lost.at);
    inside.taken.push([x - 2, x + 2]);
    place(f, above, "overlabel", lost.why, [[x + 3, 0], [x - 3, 1]], mark, true);
  }

  function writeRefusals(f, { commands, x0, x1, order: { lost } }, { above, inside }) {
    for (const k of commands) {
      const { kind, says } = f.drawing.commands[k], x = f.x(commandTime(f.drawing.commands[k]));
      if (kind !== "refused" || !says) continue;
      const mark = `command:${k}`;
      if (place(f, above, "refusal", says, [[x, 0.5], [x + 8, 0], [x - 8, 1]], mark, true)) continue;
      const before = within(x0, lost ? f.x(lost.at) : x).reverse(); // the end first
      place(f, inside, "refusal", says, [[x1 + 10, 0], [x - 10, 1], ...before], mark, true);
    }
  }

  function writeFaults(f, { i, x1 }, { above }) {
    for (const k of f.index.faultsOf[i]) {
      const { from, to, text, short } = f.drawing.faults[k];
      const x = f.x(known(from) ? from : f.from);
      if (x >= f.right || known(to) && to < f.from) continue;
      const ends = above.taken.map(([, b]) => b);
      const end = Math.max(...ends.filter((b) => b < f.right - 40), x) + 8;
      const spots = [[x, 0], [ends.length ? ends[0] + 8 : x, 0], [(x + x1) / 2, 0.5], [end, 0]];
      place(f, above, "faulttext", [text, short], spots, `fault:${k}`);
    }
  }

  // writeWork writes what an order did, and in its bar what it held meanwhile.
  function writeWork(f, shape, on) {
    const { i, order, worked, x0, x1, mark } = shape;
    for (const k of shape.commands) writeCommand(f, k, shape, on);
    const waited = worked ? within(f.x(f.index.spans[i].lo), x0) : within(x0, x1);
    place(f, on.inside, "label", f.words.waits, waited, mark);
    if (worked && order.lease && f.index.tenuresOf[i].length > 0) writeHeld(f, shape, on.inside);
  }

  function writeCommand(f, k, { x0, x1 }, { above, inside }) {
    const { kind, says } = f.drawing.commands[k];
    if (kind === "refused" || !says) return;
    const x = f.x(commandTime(f.drawing.commands[k])), next = besideMark(f), mark = `command:${k}`;
    if (place(f, inside, "inside", says, [[x + next, 0, x0, x1], [x - next, 1, x0, x1]], mark)) return;
    place(f, above, "inside", says, [[x, 0.5], [x, 0], [x, 1]], mark);
  }

  function writeHeld(f, { i, order, x0, x1, mark }, inside) {
    const { words } = f, at = (t) => (known(t) ? clamp(f.x(t), x0, x1) : x1);
    const gone = at(order.lost?.at);
    const held = Math.min(at(order.lost?.since), gone);
    const until = Math.max(at(order.released), gone);
    if (order.fence) {
      const after = Math.max(f.x(f.index.spans[i].hi), x1) + 12;
      const spots = [[held - 7, 1, x0 + 3, held], ...within(x0, held), [after, 0]];
      place(f, inside, "fence", fill(words.fence, order), spots, mark, true);
    }
    place(f, inside, "inside", words.holds, within(x0, held), mark);
    place(f, inside, "inside", words.ending, within(held, gone), mark);
    place(f, inside, "inside warn", [words.believes, words.believesShort], within(gone, until), mark, true);
    if (order.lost) place(f, inside, "inside warn", words.late, within(until, x1), mark, true);
  }

  // ---- Commands, sales and faults ----

  // layOutMarks lays out an order's commands in view, records where it sold, and returns the commands.
  function layOutMarks(f, i, y, height, inside) {
    const laid = layOutCommands(f, f.index.commandsOf[i], y, height, inside, i);
    noteSale(f, i, y, inside);
    return laid;
  }

  // layOutCommands lays out the commands in view, and returns them: of two at one spot only the first.
  function layOutCommands(f, list, y, height, inside, order) {
    const laid = [], last = {}, r = f.size * 0.42;
    for (const k of list) {
      const command = f.drawing.commands[k], { kind, failed } = command;
      const t = commandTime(command), x = f.x(t);
      const stock = ["read", "write", "refused", "unsure"].includes(kind);
      if (!f.shows(t) || x - last[kind] < (stock ? 1 : 4) || laid.length >= maxMarks) continue;
      last[kind] = x;
      laid.push(k);
      const colour = f.colour(f.drawing.orders[order] ?? { lane: command.lane });
      add(f, stock ? "access" : "command", { of: kind, failed, colour, x, y, r, height, mark: `command:${k}` });
      inside.taken.push([x - (stock ? r : 1), x + (stock ? r : 1)]);
    }
    return laid;
  }

  // noteSale records where an order sold: at its last write or, without one, at its answer.
  function noteSale(f, i, y, inside) {
    const { units, done } = f.drawing.orders[i], { commands = [] } = f.drawing;
    if (!units?.length) return;
    const last = f.index.commandsOf[i].findLast((k) => commands[k].kind === "write");
    const t = last === undefined ? done : commandTime(commands[last]);
    if (!f.shows(t)) return;
    const x = f.x(t);
    if (last === undefined && inside) {
      add(f, "sale", { x, y, r: f.size * 0.42, mark: `order:${i}` });
      inside.taken.push([x - 5, x + 5]);
    }
    f.sales.set(i, { x, y });
  }

  // layOutLaneFaults lays out the faults of a lane.
  function layOutLaneFaults(f, lane, top, height) {
    (f.drawing.faults ?? []).forEach((fault, k) => {
      const from = known(fault.from) ? fault.from : f.from;
      const to = known(fault.to) && !isDeath(fault) ? fault.to : Infinity;
      if (fault.lane !== lane.i || from > f.end || to < f.from) return;
      const lo = f.x(from), hi = Math.max(f.x(Math.min(to, f.end)), lo + 3);
      const one = { fault, from, lo, hi, top, height, mark: `fault:${k}` };
      if (lane.kind === "instance") layOutStop(f, one);
      else layOutOutage(f, one);
    });
  }

  // layOutStop lays out the hatch of an instance's lane while its process is stopped or dead.
  function layOutStop(f, { fault, from, lo, hi, top, height, mark }) {
    const low = fault.kind === "slow" ? 8 : height;
    if (fault.kind) add(f, "stop", { of: fault.kind, lo, hi, y: top + height - low, height: low, mark });
    if (f.bare) place(f, line(top + height - 10), "faulttext", fault.text, [[lo + 4, 0], [hi, 1]], mark);
    const drawn = f.drawing.orders[fault.order] && f.index.spans[fault.order].lo <= f.end; // with its order
    if (isDeath(fault) && !drawn && f.shows(from)) {
      add(f, "death", { x: lo, y: top + height / 2, r: f.bare ? f.size : 5, mark });
    }
  }

  // layOutOutage lays out the hatch of a network's or a server's lane during a fault.
  function layOutOutage(f, { fault, lo, hi, top, height, mark }) {
    const on = line(top + height / 2 + f.size * 0.36), spots = [...within(lo, hi), [lo - 6, 1], [hi + 6, 0]];
    add(f, "outage", { lo, hi, y: top + 3, height: height - 6, mark });
    place(f, on, "faulttext", [fault.text, fault.short], spots, mark);
  }

  // layOutAround lays out the lane of a network or server, and returns its height.
  function layOutAround(f, lane, top) {
    const head = f.narrow ? f.size * 1.5 : 0, low = f.barHeight + 10;
    layOutLane(f, lane, top, low + head);
    layOutLaneFaults(f, lane, top + head, low);
    return low + head;
  }

  // ---- A queue: a row for each order, in order of arrival ----

  function queued(drawing, view, index, from, to) {
    const focus = view.orders ?? drawing.first?.orders ?? [];
    const all = focus.length ? focus : index.spans.map((_, i) => i);
    return all.filter((i) => index.spans[i]?.lo <= to && index.spans[i].hi >= from).slice(0, maxTall);
  }

  const rowName = ({ orders, lanes = [] }, i) => fill(english.on, {
    order: clean(nameOf(orders[i])).slice(0, 60), lane: clean(lanes[orders[i].lane]?.name ?? "?").slice(0, 20),
  });

  function layOutQueue(f, top) {
    const pitch = f.size * 1.7, height = f.queue.length * pitch + 8;
    add(f, "lane", { top, height });
    f.queue.forEach((i, r) => layOutTurn(f, i, top + 4 + (r + 0.5) * pitch, Math.min(f.barHeight, pitch - 4)));
    return height;
  }

  function layOutTurn(f, i, middle, bar) {
    const { size } = f, order = f.drawing.orders[i], shape = shapeOf(f, i), { mark } = shape;
    const inside = line(middle + size * 0.36);
    const lo = f.x(f.index.spans[i].lo);
    const hi = f.x(Math.min(known(order.from) ? order.from : Infinity, f.end));
    layOutOrder(f, shape, { middle, bar });
    add(f, "queued", { className: f.colour(order), lo, hi, y: middle - 2, height: 4, mark });
    const name = clip(rowName(f.drawing, i), f.gutter - size, size, true);
    write(f, `name ${f.colour(order)}`, name, size * 0.6, inside.y, mark);
    const className = `turn ${order.overtaken ? "overtaken" : ""}`;
    place(f, inside, className, order.turn, [[shape.x1 + 8, 0], [hi - 8, 1]], mark, true);
    layOutCommands(f, f.index.commandsOf[i], middle, bar, inside, i);
    noteSale(f, i, middle);
  }

  // ---- Locks ----

  // tenuresIn returns the tenures of a lock in view, each with its row: those that may overlap are above each other.
  function tenuresIn(f, lane) {
    const rows = [], all = [];
    let last = -9;
    (f.drawing.tenures ?? []).forEach((tenure, k) => {
      const from = known(tenure.from) ? tenure.from : f.from;
      const at = known(tenure.at) ? tenure.at : Infinity;
      if (tenure.lane !== lane.i || from > f.end || at < f.from) return;
      const lo = f.x(from), hi = Math.max(f.x(at), lo + 1.5);
      const focus = f.focus.has(tenure.order);
      if (hi - lo < 4 && lo - last < 3 && !focus) return; // it would cover the previous one
      last = lo;
      let row = tenure.beside ? rows.findIndex((end) => end <= lo) : 0;
      if (row < 0) row = Math.min(rows.length, maxBeside);
      rows[row] = Math.max(rows[row] ?? 0, hi);
      all.push({ tenure, order: f.drawing.orders?.[tenure.order], mark: `tenure:${k}`, lo, hi, row, focus, at });
    });
    return { rows: rows.length, all: all.sort((a, b) => b.focus - a.focus || b.hi - b.lo - (a.hi - a.lo)) };
  }

  // layOutLock lays out the lane of a lock, and returns its height. The ends of tenures are written if the lock is
  // alone.
  function layOutLock(f, lane, top, alone) {
    const { size, barHeight } = f, { rows, all } = tenuresIn(f, lane);
    const pitch = barHeight + 6, ends = alone && rows < 2;
    const height = (f.narrow ? size * 1.5 : 0) + (ends ? size * 1.3 : 0) + Math.max(rows, 1) * pitch + 4;
    const bottom = top + height - 2 - pitch / 2;
    layOutLane(f, lane, top, height);
    for (const one of all) one.y = bottom - one.row * pitch - barHeight / 2;
    layOutShortest(f, all.slice(maxTenures));
    const drawn = all.slice(0, maxTenures);
    for (const one of drawn) layOutTenure(f, one);
    const { commands = [] } = f.drawing;
    const renews = f.index.sequence.filter((k) => commands[k].kind === "renew" && commands[k].lock === lane.i);
    layOutCommands(f, renews, bottom, barHeight, line(0));
    const above = ends ? line(bottom - barHeight / 2 - size * 0.45) : undefined;
    const insides = Array.from({ length: rows }, (_, r) => line(bottom - r * pitch + size * 0.36));
    for (const one of drawn.sort((a, b) => b.focus - a.focus)) writeTenure(f, one, insides[one.row], above);
    return height;
  }

  // layOutShortest lays out the shortest tenures of a crowd. They share one element for each colour, without marks.
  function layOutShortest(f, tenures) {
    const crowds = new Map();
    for (const one of tenures) {
      const className = one.order ? f.colour(one.order) : "";
      if (!crowds.has(className)) crowds.set(className, []);
      crowds.get(className).push(one);
    }
    for (const [className, bars] of crowds) add(f, "crowd", { className, bars, height: f.barHeight });
  }

  // layOutTenure lays out a tenure: solid while an order certainly holds the lock, dashed while it may still hold it.
  function layOutTenure(f, { tenure, order, mark, lo, hi, y, focus }) {
    const since = known(tenure.since) ? Math.min(tenure.since, f.end) : f.from;
    const solid = tenure.maybe ? lo : clamp(f.x(since), lo, hi);
    const bars = [];
    if (!order) bars.push({ className: "busy", lo, hi });
    else if (!tenure.maybe) bars.push({ className: "bar", lo, hi: Math.max(solid, lo + 1.5) });
    if (order && hi > solid + 1) bars.push({ className: "maybe", lo: solid, hi });
    const className = `${order ? f.colour(order) : ""} ${focus ? "focus" : ""}`;
    const end = f.shows(tenure.at) ? tenure.how : undefined;
    add(f, "tenure", { className, mark, bars, hi, y, height: f.barHeight, end });
  }

  // writeTenure writes in a tenure which order held the lock, and above its end how it ended.
  function writeTenure(f, { tenure, order, mark, lo, hi, focus, at }, inside, above) {
    const { words } = f, name = order ? f.name(order) : "";
    place(f, inside, "inside", holderTexts(f, tenure, order, name), within(lo, hi), mark);
    const released = tenure.how === "released";
    if (!above || !tenure.how || !f.shows(at) || released && hi - lo < 30 && !focus) return;
    const why = tenure.why || words[tenure.how], values = { order: name, at: f.moment(at), why };
    const ended = at - tenure.since > 1.1 ? words.endedBy : words.ended;
    const texts = [fill(ended, values), fill(words.endedShort, values), why];
    place(f, above, released ? "gone" : "overlabel", texts, [[hi, 1], [hi - 3, 0], [hi, 0.5]], mark, !released);
  }

  function holderTexts({ words, moment }, { maybe, from }, order, name) {
    const held = { order: name, at: moment(from) };
    if (!order) return [words.another];
    if (maybe) return [fill(words.perhaps, held)];
    return [fill(words.heldSince, held), fill(words.held, held), name, name.replace(/^order /, "")];
  }

  // ---- Violations ----

  function layOutHeadline(f, y) {
    let x = f.size * 0.6;
    (f.drawing.violations ?? []).forEach((violation, i) => {
      const text = clip(violation.what, f.width - 40, f.size, true);
      const width = widthOf(text, f.size, true);
      if (i > 0 && x + width + 40 > f.width) return;
      add(f, "verdict", { sign: violation.sign, text, x, y, mark: `violation:${i}` });
      x += width + 36;
    });
  }

  // layOutOverlaps lays out the shade of the time in which two orders held a lock, or believed that they did.
  function layOutOverlaps(f, top, bottom) {
    (f.drawing.violations ?? []).forEach((violation, i) => {
      const [from, to = from] = (violation.at ?? []).filter(known).sort((a, b) => a - b);
      if (violation.sign !== "lock-broken" || !(from <= f.end && to >= f.from)) return;
      const lo = f.x(from), hi = Math.max(f.x(to), lo + 2);
      add(f, "overlap", { lo, hi, y: top, height: bottom - top, mark: `violation:${i}` });
    });
  }

  // layOutJoins joins the sales of a unit that was sold more than once: those of the violation last, on top.
  // The tag of the unit is where their line crosses the space below the tagged row.
  function layOutJoins(f, tagged) {
    let left = maxJoins;
    const matters = (i) => Boolean(f.twice?.orders.has(i));
    const pairs = f.index.twice.flatMap(([unit, orders]) => {
      const sold = orders.filter((i) => f.sales.has(i)).sort((a, b) => f.sales.get(a).x - f.sales.get(b).x);
      const at = sold.map((i) => f.sales.get(i));
      if (sold.length > maxPairs) {
        layOutBracket(f, at);
        return [];
      }
      return sold.slice(1).map((i, k) => ({ unit, a: at[k], b: at[k + 1], first: matters(i) && matters(sold[k]) }));
    });
    const joins = pairs.sort((a, b) => a.first - b.first).filter(({ first }) => left-- > 0 || first);
    for (const join of joins) {
      join.bend = Math.max(join.a.x, join.b.x) > f.right - 60 ? -18 : 18;
      join.flat = join.b.x - join.a.x > 200; // browsers thin the stroke of such a flat curve
      add(f, "join", { ...join, r: f.size * 0.68, mark: f.twice?.mark });
    }
    const main = joins.find(({ first }) => first);
    if (tagged && main) layOutTag(f, main, tagged.bottom - f.size * 0.95);
  }

  function layOutTag(f, { unit, a, b, bend, flat }, y) {
    const text = fill(f.words.twice, { unit }), width = widthOf(text, f.size, true) + 10;
    const t = clamp((y - a.y) / (b.y - a.y || 1), 0, 1);
    const middle = a.x + (b.x - a.x) * t + (flat ? 0 : 3 * bend * t * (1 - t));
    const x = clamp(middle - width / 2, f.gutter, f.right - width);
    add(f, "tag", { lo: x, hi: x + width, y: y - f.size * 0.75, height: f.size * 1.5 });
    write(f, "twice", text, x + 5, y + f.size * 0.36, f.twice.mark);
  }

  // layOutBracket joins the sales of a unit with many buyers, where lines from sale to sale would tangle.
  function layOutBracket(f, sales) {
    const xs = sales.map(({ x }) => x), ys = sales.map(({ y }) => y);
    const hi = Math.min(Math.max(...xs) + f.size, f.right - 2);
    add(f, "bracket", { lo: hi - f.size * 0.6, hi, top: Math.min(...ys), bottom: Math.max(...ys) });
  }

  // ---- The whole frame ----

  function layOutAxis(f, top, bottom) {
    const most = Math.floor((f.right - f.gutter) / (widthOf(f.moment(f.to), f.size) + f.size * 2));
    const step = roundStep((f.to - f.from) / Math.max(1, most));
    const on = line(top - f.size * 0.6), first = Math.ceil(f.from / step);
    for (let i = 0; i < 40 && (first + i) * step <= f.to; i++) {
      const t = (first + i) * step, x = f.x(t);
      if (f.gaps.some((gap) => t > gap.from && t < gap.to)) continue;
      add(f, "tick", { x, top: top - 4, bottom });
      place(f, on, "axis", timeText(t, step), [[x, 0.5, 0, f.width], [x, 1, 0, f.width], [x, 0]]);
    }
  }

  // layOutLanes lays out the lanes below each other, and returns where the last one ends and which row has the tag.
  function layOutLanes(f, top) {
    const { lanes } = f;
    const alone = lanes.filter(({ kind }) => kind === "lock").length === 1;
    const share = f.bare ? (f.view.height - 4 * (lanes.length - 1)) / Math.max(lanes.length, 1) : undefined;
    const { drawn, thin } = chooseOrders(f);
    const { rows, tagged } = f.queue ? {} : rowsOfLanes(f, drawn);
    let y = top;
    if (f.queue) y += layOutQueue(f, y) + 4;
    for (const lane of lanes) {
      if (f.queue && lane.kind === "instance") continue;
      if (lane.kind === "instance") y += layOutInstance(f, lane, y, rows.get(lane.i), thin, share) + 4;
      else if (lane.kind === "lock") y += layOutLock(f, lane, y, alone) + 4;
      else y += layOutAround(f, lane, y) + 4;
    }
    return { bottom: y, tagged };
  }

  // layOutTimeline returns the parts of a frame and its size in px. The view is that of drawTimeline.
  function layOutTimeline(drawing, view) {
    const f = newFrame(drawing, view), { size, width, from, to, gutter, right } = f;
    const headed = !f.bare && view.headline !== false && (drawing.violations ?? []).length > 0;
    const top = f.bare ? 0 : size * (headed ? 4.2 : 2.2);
    if (headed) layOutHeadline(f, size * 1.3);
    const { bottom, tagged } = layOutLanes(f, top);
    if (!f.bare) layOutAxis(f, top, bottom);
    layOutOverlaps(f, top, bottom);
    layOutJoins(f, tagged);
    for (const gap of f.gaps) if (f.shows(gap.from)) add(f, "gap", { x: f.x(gap.from), top, bottom });
    if (f.now >= from && f.now <= to) add(f, "now", { x: f.x(f.now), top, bottom });
    const timeAt = (x) => from + (x - gutter) / (right - gutter) * (to - from); // without gaps
    return { parts: f.parts, size, width, height: Math.max(view.height ?? bottom, 1), from, to, timeAt };
  }

  const timelineTexts = { english, clean, clip, wrap, nameOf, does };
  return { layOutTimeline, timelineIndex, commandTime, timeText, timelineTexts };
})();
